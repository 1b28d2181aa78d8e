"""`MemoryManager`: what the container runs. Reads the variables that deploy injected, and keeps conversations."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from agentbreeder_core.namespaces import escape
from substrate.connect.errors import StoreError, StoreUnavailable
from substrate.kernel.codec import as_messages, loads_array, named

from .in_memory_log import InMemoryLog, NoLog
from .log import SessionLog
from .outage import Backlog
from .saving import identified, newer
from .settings import MemorySettings, namespace_of

Message = dict[str, Any]
_NAMESPACES_KEPT = 10_000
_MOST = 2**31 - 1  # what the stores count with


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """`ok` says that the store answered just now; `detail` why not. `buffered` messages wait for the store to return,
    and `dropped` did not fit any more (only with `MEMORY_ON_OUTAGE=continue`)."""

    ok: bool
    backend: str
    detail: str = ""
    buffered: int = 0
    dropped: int = 0


class MemoryManager:
    """Conversations of one agent, each a list of JSON messages in the order in which they were appended.

    One per process, used from one event loop. An acknowledged `append` is in the store. A message has an `id`: its own,
    or one it is given; the same id is stored once, however often it is appended. Methods block on the network, some three
    seconds at most while the store is away, and then raise `StoreUnavailable`, unless told to `continue`.
    """

    def __init__(self, settings: MemorySettings | None = None) -> None:
        """From the given settings, else from the environment. Raises `StoreMisconfigured` in one line."""
        self.settings = settings or MemorySettings.from_environ(os.environ)
        self._log: SessionLog = _log_of(self.settings)
        self._backlog = Backlog(self._log) if self.settings.on_outage == "continue" else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._namespaces: dict[tuple[str, str], str] = {}

    @property
    def owner(self) -> str:
        """The namespace pattern with what is the same in every session filled in: no other agent's is equal."""
        s = self.settings
        return s.namespace_pattern.replace("{agent_id}", escape(s.agent)).replace("{team}", escape(s.team))

    def unbounded(self) -> MemoryManager:
        """The same memory over the same connections without a window, for what an adapter keeps beside conversations. An
        outage is always an error in it. It is connected and closed with this one."""
        made = copy.copy(self)
        made.settings = replace(self.settings, memory_type="buffer", max_messages=0, on_outage="raise")
        made._log, made._backlog, made._namespaces = self._log.unbounded(), None, {}
        return made

    async def connect(self) -> None:
        """See that the store answers, and make its tables when they are missing.

        Raises `StoreUnavailable`, `StoreMisconfigured`, `DriverMissing`: a container should stop on any of them.
        """
        self._on_this_loop()
        await self._log.connect()

    async def close(self) -> None:
        """Flush what waits, and let go of every connection."""
        try:
            if self._backlog is not None:
                await self._backlog.close()
        finally:
            await self._log.close()
            self._loop = None

    async def __aenter__(self) -> MemoryManager:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def load(self, session_id: str, limit: int | None = None, *, user_id: str = "") -> list[Message]:
        """The newest `limit` messages, all that are kept with None, oldest first.

        An empty list means an empty conversation: what cannot be read raises.
        """
        self._on_this_loop()
        namespace, count = self._namespace(session_id, user_id), _count(limit)
        if self._backlog is not None:
            await self._backlog.settled(namespace)
        return _messages(await self._log.load(namespace, count))

    async def append(
        self, session_id: str, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, user_id: str = ""
    ) -> list[str]:
        """Add one or many at the end, all or none, and return their ids.

        Raises `ValueError` for what JSON cannot give back, before anything is written.
        """
        self._on_this_loop()
        ids, encoded = _prepared(messages)
        namespace = self._namespace(session_id, user_id)
        if self._backlog is not None:
            await self._backlog.append(namespace, ids, encoded)
        else:
            await self._log.append(namespace, ids, encoded)
        return ids

    async def turn(
        self,
        session_id: str,
        messages: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        limit: int | None = None,
        *,
        user_id: str = "",
    ) -> list[Message]:
        """`append` and then `load`, in one round trip.

        With `on_outage` "continue" it still raises while the store is away, because there is nothing to answer; its
        messages wait like those of an append, so do not send them again.
        """
        self._on_this_loop()
        ids, encoded = _prepared(messages)
        namespace, count = self._namespace(session_id, user_id), _count(limit)
        if self._backlog is not None:
            await self._backlog.append(namespace, ids, encoded)
            await self._backlog.settled(namespace)
            return _messages(await self._log.load(namespace, count))
        return _messages(await self._log.append_and_load(namespace, ids, encoded, count))

    async def save(self, session_id: str, messages: Sequence[Any], *, user_id: str = "") -> list[str]:
        """For containers built for the older manager, which gave the whole conversation back: adds what is new by id,
        and never rewrites or removes anything. Returns the ids of all.

        A message without an id is new. A dict is given its id, so that the same list can be saved again as it grows;
        messages of LangChain are taken too. What came before the oldest message that is kept has left the window, and does
        not come back. Raises as `load` and `append` do; what cannot be read is not added to, unless outages are waited for.
        """
        given, fresh = identified(messages)
        try:
            kept = [m["id"] for m in await self.load(session_id, user_id=user_id)]
            new = newer(given, kept, self.settings.window)
        except StoreUnavailable:
            if self._backlog is None:
                raise
            new = fresh or given  # they wait; what is kept already is left out by its id
        await self.append(session_id, new, user_id=user_id)
        return [str(m["id"]) for m in given]

    async def replace(
        self, session_id: str, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, user_id: str = ""
    ) -> list[str]:
        """Forget what is there and keep these, in one step. The store must be reachable, whatever is set for outages.

        Raises `StoreUnavailable` also when only the answer was lost: a second try could take what came meanwhile.
        """
        self._on_this_loop()
        ids, encoded = _prepared(messages)
        namespace = self._namespace(session_id, user_id)
        await self._instead(namespace, lambda: self._log.replace(namespace, ids, encoded))
        return ids

    async def pop(self, session_id: str, *, user_id: str = "") -> Message | None:
        """Take the newest message away and return it, None when there is none.

        Raises `StoreUnavailable` also when only the answer was lost: a second try would take another message.
        """
        self._on_this_loop()
        namespace = self._namespace(session_id, user_id)
        if self._backlog is not None:
            await self._backlog.settled(namespace)
        found = await self._log.pop(namespace)
        return None if found is None else _messages(b"[" + found + b"]")[0]

    async def clear(self, session_id: str, *, user_id: str = "") -> None:
        """Forget the conversation. Raises as `replace` does."""
        self._on_this_loop()
        namespace = self._namespace(session_id, user_id)
        await self._instead(namespace, lambda: self._log.clear(namespace))

    async def health(self) -> Health:
        """Ask the store now; never raises for a store that does not answer."""
        detail = ""
        try:
            await self._log.load(f"{escape(self.settings.agent)}:%health", 1)
        except StoreError as e:
            detail = str(e)
        waiting = self._backlog
        return Health(
            ok=not detail,
            backend=self.settings.backend,
            detail=detail,
            buffered=waiting.buffered if waiting else 0,
            dropped=waiting.dropped if waiting else 0,
        )

    async def _instead(self, namespace: str, work: Callable[[], Awaitable[None]]) -> None:
        if self._backlog is not None:
            await self._backlog.instead(namespace, work)
        else:
            await work()

    def _namespace(self, session_id: str, user_id: str) -> str:
        known = self._namespaces.get((session_id, user_id))
        if known is not None:
            return known
        if not session_id or not isinstance(session_id, str) or not isinstance(user_id, str):
            raise ValueError("session_id is a text and not empty, and user_id is a text")
        s = self.settings
        values = {"agent_id": s.agent, "session_id": session_id, "user_id": user_id, "team": s.team}
        made = namespace_of(s.namespace_pattern, values)
        if len(self._namespaces) >= _NAMESPACES_KEPT:
            self._namespaces.clear()
        self._namespaces[session_id, user_id] = made
        return made

    def _on_this_loop(self) -> None:
        running = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = running
        elif self._loop is not running:
            raise RuntimeError(
                "this MemoryManager belongs to another event loop: make one per loop, or use SyncMemoryManager"
            )


def _count(limit: int | None) -> int:
    if limit is None:
        return 0
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError("limit is a whole number, at least 1, or None")
    return min(limit, _MOST)


def _messages(found: bytes) -> list[Message]:
    messages: list[Message] = loads_array(found)
    return messages


def _prepared(messages: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[list[str], list[bytes]]:
    return named(as_messages(messages))


def _log_of(settings: MemorySettings) -> SessionLog:
    log = _plain_log(settings)
    if not settings.telemetry:
        return log
    from .telemetry import TracedLog

    return TracedLog(log, backend=settings.backend, agent=settings.agent)


def _plain_log(settings: MemorySettings) -> SessionLog:
    window, ttl_s = settings.window, settings.ttl_s
    if settings.backend == "redis":
        from .redis_log import RedisLog

        return RedisLog(settings.url, ca_pem=settings.redis_ca_pem, window=window, ttl_s=ttl_s)
    if settings.backend == "postgresql":
        from .postgres_log import PostgresLog

        instance, vectors = settings.cloud_sql, settings.vectors
        return PostgresLog(settings.url, window=window, ttl_s=ttl_s, instance=instance, vectors=vectors)
    return InMemoryLog(window=window, ttl_s=ttl_s) if settings.backend == "in_memory" else NoLog()
