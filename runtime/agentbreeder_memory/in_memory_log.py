"""The log in this process (`in_memory`), and the one that keeps nothing (`none`)."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence


class InMemoryLog:
    """See `SessionLog`. Gone when the process ends."""

    def __init__(self, *, window: int, ttl_s: int) -> None:
        self._window, self._ttl_s = window, ttl_s
        self._sessions: dict[str, tuple[float, dict[str, bytes]]] = {}

    def unbounded(self) -> InMemoryLog:
        """Shares everything but the window."""
        made = copy.copy(self)
        made._window = 0
        return made

    async def connect(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """What is kept stays until the process ends."""

    async def load(self, session: str, limit: int) -> bytes:
        """A copy."""
        kept = list(self._used(session).values())
        return b"[" + b",".join(kept[-limit:] if limit else kept) + b"]"

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """Once per id."""
        kept = self._used(session)
        self._sessions[session] = (time.monotonic(), kept)
        for one, message in zip(ids, messages, strict=True):
            kept.setdefault(one, message)
        while self._window and len(kept) > self._window:
            del kept[next(iter(kept))]

    async def append_and_load(self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int) -> bytes:
        """One after the other: nobody comes in between."""
        await self.append(session, ids, messages)
        return await self.load(session, limit)

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """Whole."""
        self._sessions.pop(session, None)
        await self.append(session, ids, messages)

    async def pop(self, session: str) -> bytes | None:
        """The last of the dict."""
        kept = self._used(session)
        return kept.popitem()[1] if kept else None

    async def clear(self, session: str) -> None:
        """Whole."""
        self._sessions.pop(session, None)

    def _used(self, session: str) -> dict[str, bytes]:
        now = time.monotonic()
        used, kept = self._sessions.get(session, (now, {}))
        if self._ttl_s and now - used > self._ttl_s:
            kept = {}
        if kept or session in self._sessions:
            self._sessions[session] = (now, kept)
        return kept


class NoLog(InMemoryLog):
    """Remembers nothing, on purpose: `MEMORY_BACKEND=none`."""

    def __init__(self) -> None:
        super().__init__(window=0, ttl_s=0)

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """Nowhere."""
