"""`SessionLog`: the one seam between the manager and a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

ANSWER_LOST = "the answer was lost: it may have been carried out or not"


class SessionLog(Protocol):
    """An ordered log of encoded messages per session, each with an id that is unique in it.

    `session` is a namespace; `limit` 0 means all. An answer is one JSON array. Everything may raise `StoreUnavailable`.
    """

    def unbounded(self) -> SessionLog:
        """The same store over the same connections, without a window: for sessions of its own."""
        ...

    async def connect(self) -> None:
        """See that the store answers, and make what it needs."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...

    async def load(self, session: str, limit: int) -> bytes:
        """The newest `limit`, oldest first. Counts as use: the TTL begins anew."""
        ...

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """All or none, at the end, in this order; those whose id is there already are left out."""
        ...

    async def append_and_load(self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int) -> bytes:
        """Both in one round trip."""
        ...

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """In one step. Not repeated after a lost answer, like `pop` and `clear`: a second one could take what was added
        meanwhile."""
        ...

    async def pop(self, session: str) -> bytes | None:
        """Take the newest away and return it; None when there is none. Not repeated after a lost answer, because a
        second one would take another."""
        ...

    async def clear(self, session: str) -> None:
        """Forget the session."""
        ...
