"""Time as a dependency: every wait of the product goes through a `Clock`, so tests and the sandbox can own it."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the product needs of time. Implementations must be safe to call from several threads."""

    def now(self) -> datetime:
        """The current time, timezone-aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; never goes backwards."""
        ...

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        """Block for `seconds`, or until `cancel` is set. Return True when it was cancelled."""
        ...

    def begin_work(self) -> None:
        """One more worker is busy. A simulated clock moves only while every busy worker is inside `wait`."""
        ...

    def end_work(self) -> None:
        """One busy worker is done. Called once for each `begin_work`, from any thread."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        return cancel.wait(max(0.0, seconds))

    def begin_work(self) -> None:
        """Real time needs no book-keeping."""

    def end_work(self) -> None:
        """Real time needs no book-keeping."""
