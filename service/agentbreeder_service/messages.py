"""`MessageStore`: the one seam between the service and where messages are."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from .namespaces import Part


class Stored(NamedTuple):
    """One message. `payload` is its JSON object as it was written, which has an `id` at least; `seq` its place in the session,
    without gaps. A tuple, because a page makes hundreds."""

    id: str
    seq: int
    payload: str
    created_at: datetime


class Page(NamedTuple):
    """`body` is a JSON array of messages, each with its `seq` and `created_at`; `first` the least `seq`, 0 for none."""

    first: int
    messages: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session. `last_at` is when its newest message came."""

    namespace: str
    messages: int
    created_at: datetime
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that a search found. `highlight` is HTML with <mark> around the words."""

    namespace: str
    message: Stored
    score: float
    highlight: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counted from the sessions alone, however many messages there are."""

    sessions: int
    messages: int


MARK, UNMARK = "\ue100", "\ue101"
"""What a database puts around a word that was searched for."""


def marked(text: str) -> str:
    """HTML that shows the text as it is, with <mark> around the words."""
    return html.escape(text, quote=False).replace(MARK, "<mark>").replace(UNMARK, "</mark>")


def message_json(message: Stored) -> bytes:
    """The message as it was written, with its number and time before. Nothing is decoded, so nothing can change."""
    payload = message.payload.lstrip()
    return f'{{"seq":{message.seq},"created_at":"{message.created_at.isoformat()}",{payload[1:]}'.encode()


def messages_json(messages: Iterable[Stored]) -> bytes:
    """Several of them."""
    return b"[" + b",".join(message_json(m) for m in messages) + b"]"


class MessageStore(Protocol):
    """`window` 0 means all, `ttl_s` 0 for ever. Everything may raise `substrate`'s `StoreUnavailable`."""

    async def connect(self) -> None:
        """See that it answers."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...

    async def append(
        self, namespace: str, ids: Sequence[str], payloads: Sequence[str], ttl_s: int, window: int
    ) -> list[Stored]:
        """All or none, in this order; one whose id is known stays as it was. Returns those that are kept, in order."""
        ...

    async def page(self, namespace: str, before: int | None, limit: int, window: int) -> Page:
        """The newest before a number, oldest first."""
        ...

    async def sessions(self, part: Part, after: str, limit: int, window: int) -> list[SessionRow]:
        """By namespace, after the given one."""
        ...

    async def search(self, part: Part, query: str, limit: int, window: int) -> list[Hit]:
        """The best first. No text is a syntax error; one without a word finds nothing."""
        ...

    async def ending(self, prefix: str, suffix: str, limit: int) -> list[str]:
        """Namespaces that begin and end so, of sessions that are alive."""
        ...

    async def trim(self, part: Part, window: int) -> None:
        """Evict what has left a window, before it grows."""
        ...

    async def stats(self, part: Part, window: int, *, primary: bool = False) -> Stats:
        """Of the sessions that are alive; `primary` where something is decided by it."""
        ...

    async def delete_session(self, namespace: str) -> bool:
        """False when there was none."""
        ...

    async def delete_part(self, part: Part) -> int:
        """Everything in it, some sessions at a time; how many messages there were."""
        ...

    async def forget(self, part: Part, user_id: str, window: int) -> int:
        """Take a user's messages out of their sessions, also of those that have expired; how many."""
        ...
