"""What every step of one run shares: the clock, the cancel flag, the deadline, events, and the one waiting loop."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import Interrupted, StepTimeout
from agentbreeder_core.events import Event, EventSink, StepWaiting
from agentbreeder_core.secret import Secret

from .kinds import NotFound, Transient

FIRST_POLL_S, LAST_POLL_S, POLL_GROWTH = 5.0, 30.0, 1.5
GRACE_S = 90.0
"""How long a resource made by us may stay invisible before "not found" is believed (clouds are eventually consistent)."""

T = TypeVar("T")


class Emitter:
    """Numbers events and hands them to the sink, one at a time. A sink that raises stops the run like any error."""

    def __init__(self, sink: EventSink | None, clock: Clock) -> None:
        self._sink, self._clock = sink, clock
        self._lock = threading.Lock()
        self._number = 0

    def __call__(self, event: type[Event], **fields: Any) -> None:
        """Build the event with the next number and the clock's time, and deliver it."""
        if self._sink is None:
            return
        with self._lock:
            self._number += 1
            self._sink(event(number=self._number, at=self._clock.now(), **fields))


@dataclass(frozen=True, slots=True)
class NotYet:
    """A poll's answer: still waiting, and for what, in a few words."""

    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The same for all steps of a run. `deadline` is in clock seconds, None without an overall limit."""

    clock: Clock
    cancel: threading.Event
    emit: Emitter
    deadline: float | None = None
    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    final_snapshot: bool = False
    purge: bool = False

    @classmethod
    def begin(
        cls,
        clock: Clock,
        *,
        on_event: EventSink | None = None,
        cancel: threading.Event | None = None,
        timeout_s: float | None = None,
        secrets: Mapping[str, Secret] | None = None,
        final_snapshot: bool = False,
        purge: bool = False,
    ) -> Shared:
        """For a use-case that starts now; `timeout_s` bounds all of it, in seconds."""
        return cls(
            clock=clock,
            cancel=cancel if cancel is not None else threading.Event(),
            emit=Emitter(on_event, clock),
            deadline=None if timeout_s is None else clock.monotonic() + timeout_s,
            secrets=secrets or {},
            final_snapshot=final_snapshot,
            purge=purge,
        )


class Run:
    """One step's view of the run: its own deadline and name on top of what is shared."""

    def __init__(
        self, shared: Shared, *, step: str, name: str, timeout_s: float, since: datetime | None = None
    ) -> None:
        self.shared, self.step, self.name = shared, step, name
        self.started = shared.clock.monotonic()
        self._step_deadline = self.started + timeout_s
        self._since = since
        # Seeded by the name: many agents do not poll in step, and one run repeated waits the same.
        self._jitter = random.Random(f"{name}/{step}")

    @property
    def clock(self) -> Clock:
        return self.shared.clock

    def elapsed_s(self) -> float:
        """Seconds since this step was started."""
        return self.clock.monotonic() - self.started

    def pause(self, seconds: float, note: str) -> None:
        """Sleep through the clock. Raises `Interrupted` on cancel and `StepTimeout` when a deadline has passed."""
        left = self._deadline() - self.clock.monotonic()
        if left <= 0:
            raise StepTimeout(
                f"{self.step} ({self.name}): still {note} after {self.elapsed_s():.0f} s; it is recorded and may still "
                "finish in the cloud",
                hint="run the same command again to go on waiting",
            )
        self.shared.emit(StepWaiting, step=self.step, name=self.name, elapsed_s=self.elapsed_s(), note=note)
        if self.clock.wait(self.shared.cancel, min(seconds, left)):
            raise Interrupted(f"{self.step} ({self.name}): stopped while {note}; it is recorded")

    def until(self, check: Callable[[], T | NotYet], *, first_s: float = FIRST_POLL_S) -> T:
        """Call `check` until it answers with something other than `NotYet`, and return that.

        The interval grows from `first_s` to 30 s, with jitter so that many agents do not poll in step. Throttling and
        lost connections count as "still waiting". `NotFound` is believed only when the grace time is over.
        """
        interval = first_s
        while True:
            answer = self._ask(check)
            if not isinstance(answer, NotYet):
                return answer
            self.pause(interval * self._jitter.uniform(0.85, 1.15), answer.note)
            interval = min(LAST_POLL_S, interval * POLL_GROWTH)

    def _ask(self, check: Callable[[], T | NotYet]) -> T | NotYet:
        try:
            return check()
        except Transient as e:
            return NotYet(f"waiting: {e.detail}")
        except NotFound:
            if self.in_grace():
                return NotYet("waiting for it to become visible")
            raise

    def in_grace(self) -> bool:
        """Whether "not found" may still be a delay in the cloud: within the grace time of the create or its intent."""
        age = None if self._since is None else (self.clock.now() - self._since).total_seconds()
        # A time in the future was written by a machine whose clock differs: count from the start of this step then.
        return (self.elapsed_s() if age is None or age < 0 else age) < GRACE_S

    def _deadline(self) -> float:
        overall = self.shared.deadline
        return self._step_deadline if overall is None else min(self._step_deadline, overall)
