"""An event loop on a thread of its own, for code that has none."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines from any thread but its own. The thread ends with `stop`, or with the process."""

    def __init__(self, name: str) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin it, and return at once. Raises `RuntimeError` in a process that was forked since, where there is no such
        thread, and after `stop`."""
        if self.ended:
            work.close()
            here = "after a fork" if os.getpid() != self._process else "after it was closed"
            raise RuntimeError(f"this object cannot be used {here}: make a new one")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Block until it is done."""
        return self.start(work).result()

    @property
    def ended(self) -> bool:
        """Whether nothing can be run here: it was stopped, or this process was forked from the one it belongs to."""
        return os.getpid() != self._process or self._loop.is_closed()

    def stop(self) -> None:
        """End the thread. Nothing can be run any more; a second time does nothing."""
        if self.ended:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
