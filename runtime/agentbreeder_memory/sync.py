"""`SyncMemoryManager`: the same for code without an event loop, on a thread of its own."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from substrate.kernel.loop_thread import LoopThread

from .manager import Health, MemoryManager, Message
from .settings import MemorySettings

T = TypeVar("T")


class SyncMemoryManager:
    """Every method of `MemoryManager`, blocking. Safe to use from several threads; not from a running event loop."""

    def __init__(self, settings: MemorySettings | None = None) -> None:
        self._manager = MemoryManager(settings)
        self._thread = LoopThread("agentbreeder-memory")

    def connect(self) -> None:
        """See `MemoryManager.connect`."""
        self._run(self._manager.connect())

    def close(self) -> None:
        """See `MemoryManager.close`. The object cannot be used any more; a second time does nothing."""
        if self._thread.ended:
            return
        try:
            self._run(self._manager.close())
        finally:
            self._thread.stop()

    def __enter__(self) -> SyncMemoryManager:
        try:
            self.connect()
        except BaseException:
            self._thread.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def load(self, session_id: str, limit: int | None = None, *, user_id: str = "") -> list[Message]:
        """See `MemoryManager.load`."""
        return self._run(self._manager.load(session_id, limit, user_id=user_id))

    def append(
        self, session_id: str, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, user_id: str = ""
    ) -> list[str]:
        """See `MemoryManager.append`."""
        return self._run(self._manager.append(session_id, messages, user_id=user_id))

    def turn(
        self,
        session_id: str,
        messages: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        limit: int | None = None,
        *,
        user_id: str = "",
    ) -> list[Message]:
        """See `MemoryManager.turn`."""
        return self._run(self._manager.turn(session_id, messages, limit, user_id=user_id))

    def save(self, session_id: str, messages: Sequence[Any], *, user_id: str = "") -> list[str]:
        """See `MemoryManager.save`."""
        return self._run(self._manager.save(session_id, messages, user_id=user_id))

    def replace(
        self, session_id: str, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, user_id: str = ""
    ) -> list[str]:
        """See `MemoryManager.replace`."""
        return self._run(self._manager.replace(session_id, messages, user_id=user_id))

    def pop(self, session_id: str, *, user_id: str = "") -> Message | None:
        """See `MemoryManager.pop`."""
        return self._run(self._manager.pop(session_id, user_id=user_id))

    def clear(self, session_id: str, *, user_id: str = "") -> None:
        """See `MemoryManager.clear`."""
        self._run(self._manager.clear(session_id, user_id=user_id))

    def health(self) -> Health:
        """See `MemoryManager.health`."""
        return self._run(self._manager.health())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work)
