"""Clocks for a cloud that is not real: one that jumps from wait to wait, one that runs fast."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

START = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
_RECHECK_S = 0.05  # real seconds between looks at a cancel event that somebody may set from outside


class VirtualClock:
    """Time that moves only when every busy worker waits, and then straight to the earliest wake-up.

    Nothing really sleeps, and parallel waits overlap as they would in real time. A thread that waits without having
    announced itself with `begin_work` counts as one busy worker while it waits.
    Safe to use from any number of threads. Starts at `start`, the same in every run.
    """

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._busy = 0
        self._wakes: list[float] = []
        self._changed = threading.Condition()

    def now(self) -> datetime:
        """See `Clock.now`."""
        with self._changed:
            return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Virtual seconds since the start."""
        with self._changed:
            return self._elapsed

    def begin_work(self) -> None:
        """See `Clock.begin_work`."""
        with self._changed:
            self._busy += 1

    def end_work(self) -> None:
        """See `Clock.end_work`."""
        with self._changed:
            self._busy -= 1
            self._move()

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, as a test asks for it. Raises `ValueError` for time that would go backwards."""
        if seconds < 0:
            raise ValueError(f"time does not go backwards: {seconds}")
        with self._changed:
            self._elapsed += seconds
            self._changed.notify_all()

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        """See `Clock.wait`. Costs no real time. A `cancel` that is set already moves nothing."""
        with self._changed:
            if cancel.is_set():
                return True
            wake = self._elapsed + max(0.0, seconds)
            self._wakes.append(wake)
            self._move()
            try:
                while self._elapsed < wake and not cancel.is_set():
                    self._changed.wait(_RECHECK_S)
            finally:
                self._wakes.remove(wake)
            return cancel.is_set()

    def _move(self) -> None:
        # A sleeper whose time has come but whose thread has not run yet is awake: it holds time still.
        asleep = [w for w in self._wakes if w > self._elapsed]
        if asleep and len(asleep) == len(self._wakes) >= self._busy:
            self._elapsed = min(asleep)
            self._changed.notify_all()


class ScaledClock:
    """Real time, `speed` times as fast: a wait of 60 s takes one second at speed 60."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._real_start = time.monotonic()
        self._start = datetime.now(UTC)

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Scaled seconds since this clock was made."""
        return (time.monotonic() - self._real_start) * self._speed

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        """Really blocks for `seconds / speed`."""
        return cancel.wait(max(0.0, seconds) / self._speed)

    def begin_work(self) -> None:
        """Nothing to count."""

    def end_work(self) -> None:
        """Nothing to count."""
