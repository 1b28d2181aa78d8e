"""Long-running operations of ARM: where to ask about one, and what an answer means. Pure; held in memory only.

The URLs carry some four kilobytes of signed parameters (facts, section 4): they are followed as they are, and never
reach the state file, a log or a message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from agentbreeder_core.errors import CloudError, QuotaError, ResourceFailed

from ..engine.kinds import Busy, NotFound
from .errors import NotPermitted, Refusal, classify, refusal_of

_HEADERS = ("azure-asyncoperation", "location")  # the first says how it ended, the second only that it did
_FAILED = frozenset({"failed", "canceled", "cancelled"})
_ACCEPTED = 202


class Reply(NamedTuple):
    """One accepted answer of ARM. `body` is its JSON document, `{}` when there is none."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How an operation stands; `refusal` says why it failed."""

    state: Literal["running", "done", "failed"]
    refusal: Refusal = field(default_factory=Refusal)


class Operations:
    """The operations this process started, by the id of their resource. Safe to share between threads.

    `host` is ARM's; `cut` takes the secrets out of what a failed operation says.
    """

    def __init__(self, host: str, cut: Callable[[str], str]) -> None:
        self._host, self._cut = host, cut
        self._urls: dict[str, str] = {}
        self._lock = threading.Lock()

    def remember(self, resource_id: str, headers: Mapping[str, str]) -> None:
        """Keep the poll URL that an accepted request was answered with; without one the resource itself will tell."""
        given = {k.lower(): v for k, v in headers.items()}
        url = next((given[h] for h in _HEADERS if self._trusted(given.get(h, ""))), "")
        with self._lock:
            self._urls.pop(resource_id.casefold(), None)
            if url:
                self._urls[resource_id.casefold()] = url

    def url_of(self, resource_id: str) -> str:
        """Where to ask, verbatim; "" when nothing is known to be under way."""
        with self._lock:
            return self._urls.get(resource_id.casefold(), "")

    def follow(self, resource_id: str, ask: Callable[[str], Reply]) -> str:
        """Ask once how the operation on a resource stands: a note while it runs, "" when the resource itself decides.

        Raises `ResourceFailed` when it failed, `Busy` when it failed only because something else was under way.
        """
        url = self.url_of(resource_id)
        if not url:
            return ""
        try:
            reply = ask(url)
        except (NotFound, NotPermitted):
            # Forgotten by ARM, or asked at the subscription, where a role on the resource group does not reach.
            self.forget(resource_id)
            return ""
        progress = progress_of(reply.status, reply.body)
        if progress.state == "running":
            return "Azure is working on it"
        self.forget(resource_id)
        if progress.state == "failed":
            refusal = progress.refusal
            raise _failure(resource_id, replace(refusal, message=self._cut(refusal.message)))
        return ""

    def forget(self, resource_id: str) -> None:
        """The operation is over, or cannot be asked about."""
        with self._lock:
            self._urls.pop(resource_id.casefold(), None)

    def _trusted(self, url: str) -> bool:
        # The caller's token travels with the question: it goes to ARM (also a regional one) and nowhere else.
        parts = urlsplit(url)
        host = parts.hostname or ""
        return parts.scheme == "https" and (host == self._host or host.endswith(f".{self._host}"))


def progress_of(http_status: int, body: Any) -> Progress:
    """What a poll's answer means. A failure arrives with status 200; a running one may come with 202 and a status, or
    with 202 and nothing (facts, section 4)."""
    document = body if isinstance(body, Mapping) else {}
    status = str(document.get("status") or "").lower()
    if status in _FAILED:
        return Progress(state="failed", refusal=refusal_of(document))
    if status == "succeeded":
        return Progress(state="done")
    if http_status == _ACCEPTED or (status and "type" not in document):  # a resource has a type, an operation none
        return Progress(state="running")
    return Progress(state="done")


def _failure(resource_id: str, refusal: Refusal) -> CloudError:
    error = classify(f"operation on {resource_id.rstrip('/').rpartition('/')[2]}", refusal, 400)
    if isinstance(error, Busy | QuotaError):
        return error
    return ResourceFailed(error.detail, hint=error.hint or "agentbreeder teardown removes what is left of it")


def text_of(response: Any) -> str:
    """The text of an SDK's response, "" when it is none."""
    try:
        return str(response.text())
    except UnicodeDecodeError:
        return ""


def document_of(response: Any) -> dict[str, Any]:
    """The JSON document of an SDK's response, `{}` when it holds none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
