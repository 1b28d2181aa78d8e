"""`MEMORY_ON_OUTAGE=continue`: the agent goes on while its store is away, and what it said is written in order later."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from substrate.connect.errors import StoreError, StoreRefused, StoreUnavailable

from .log import SessionLog

T = TypeVar("T")
BOUND = 1_000
"""Messages that wait at most, over all sessions; what comes then is dropped, counted and logged."""
RETRY_EVERY_S, LOG_EVERY_S = 5.0, 60.0
_log = logging.getLogger("agentbreeder.memory")

_Entry = tuple[str, Sequence[str], Sequence[bytes]]


class Backlog:
    """Appends that wait for the store, oldest first. While any waits, newer ones wait behind it."""

    def __init__(self, log: SessionLog, *, bound: int = BOUND, retry_every_s: float = RETRY_EVERY_S) -> None:
        self._log, self._bound, self._retry_every_s = log, bound, retry_every_s
        self._waiting: deque[_Entry] = deque()
        self._flusher: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._logged_at = float("-inf")
        self.buffered = 0
        self.dropped = 0

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """Write it, or keep it until the store is back."""
        if not self._waiting:
            try:
                await self._log.append(session, ids, messages)
            except StoreUnavailable as e:
                self._say(f"the memory's store is away; messages wait for it: {e}")
            else:
                return
        self._keep((session, ids, messages))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush_later(), name="agentbreeder-memory-backlog")

    async def settled(self, session: str) -> None:
        """Write what waits, before a session is read. Raises `StoreUnavailable` while some of this session still waits,
        because what is there without it is not the conversation."""
        if self._waits(session):
            await self._flush()
            if self._waits(session):
                raise StoreUnavailable(f"the memory's store is away; {self.buffered} messages wait for it")

    async def instead(self, session: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do what makes an end of a session's past, and forget what waits of it; nothing is written meanwhile."""
        async with self._flushing:
            done = await work()
            for entry in [e for e in self._waiting if e[0] == session]:
                self._waiting.remove(entry)
                self.buffered -= len(entry[1])
            return done

    async def close(self) -> None:
        """One last try to write what waits."""
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.gather(self._flusher, return_exceptions=True)
        await self._flush()
        if self.buffered:
            self._say(f"the memory's store did not come back: {self.buffered} messages are lost", always=True)

    def _waits(self, session: str) -> bool:
        return any(entry[0] == session for entry in self._waiting)

    def _keep(self, entry: _Entry) -> None:
        count = len(entry[1])
        if self.buffered + count > self._bound:
            self.dropped += count
            self._say(f"{self.dropped} messages did not fit into the {self._bound} that may wait and are lost")
            return
        self._waiting.append(entry)
        self.buffered += count

    async def _flush_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._retry_every_s)
            await self._flush()

    async def _flush(self) -> None:
        async with self._flushing:
            while self._waiting:
                session, ids, messages = self._waiting[0]
                try:
                    await self._log.append(session, ids, messages)
                except StoreUnavailable:
                    return
                except (StoreError, ValueError) as e:
                    if isinstance(e, StoreRefused) and not e.lasting:
                        self._say(f"messages still wait for the memory's store: {e}")
                        return
                    # It is about these messages, and the others are not to wait behind them for ever.
                    self._lose(len(ids), e)
                self._waiting.popleft()
                self.buffered -= len(ids)

    def _lose(self, count: int, error: Exception) -> None:
        self.dropped += count
        self._say(f"{count} messages that waited are refused and lost ({type(error).__name__})", always=True)

    def _say(self, text: str, *, always: bool = False) -> None:
        now = time.monotonic()
        if always or now - self._logged_at >= LOG_EVERY_S:
            self._logged_at = now
            _log.warning(text)
