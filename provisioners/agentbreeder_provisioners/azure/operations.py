"""Long-running operations of ARM: where to ask about one, and what an answer means. Pure; held in memory only.

The URLs carry some four kilobytes of signed parameters (facts, section 4): they are followed as they are, and never
reach the state file, a log or a message.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from .errors import Refusal, refusal_of

_HEADERS = ("azure-asyncoperation", "location")  # the first says how it ended, the second only that it did
_FAILED = frozenset({"failed", "canceled", "cancelled"})
_ACCEPTED = 202


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How an operation stands; `refusal` says why it failed."""

    state: Literal["running", "done", "failed"]
    refusal: Refusal = Refusal()


class Operations:
    """The operations this process started, by the id of their resource. Safe to share between threads."""

    def __init__(self, host: str) -> None:
        self._host = host
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
