"""Operations that this process started: a hint about how a create goes, never the truth about the resource.

An operation may end with an error while its resource comes up all the same, and may be unreadable while the create goes
on (facts, section 4.1). So the resource itself decides; what an operation said is the reason to give when it is not
there. Kept in memory only: a resumed run asks the resource alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from agentbreeder_core.errors import CloudError

from ...engine.kinds import Target, Transient
from ...engine.run import Run

BELIEVE_ERROR_AFTER_S = 600.0
"""How long a resource may go on coming up after its operation ended with an error (TF#27922: some minutes)."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An operation that ended with an error, and the clock's time (monotonic seconds) when that was seen."""

    error: CloudError
    at: float


class Operations:
    """Names of running operations and the errors of ended ones, by physical id. Safe to share between threads.

    `ask` says of a target's operation whether it is over, and what it ended with.
    """

    def __init__(self, ask: Callable[[Target, str], tuple[bool, CloudError | None]]) -> None:
        self._ask = ask
        self._running: dict[str, str] = {}
        self._failed: dict[str, Ended] = {}
        self._lock = threading.Lock()

    def started(self, physical_id: str, operation: str) -> None:
        """Remember an operation to ask about."""
        with self._lock:
            self._running[physical_id] = operation
            self._failed.pop(physical_id, None)

    def still_running(self, target: Target, run: Run) -> bool:
        """Ask the operation, while there is one that can be read. Raises `Transient` only."""
        with self._lock:
            name = self._running.get(target.physical_id, "")
        if not name:
            return False
        try:
            over, error = self._ask(target, name)
        except Transient:
            raise
        except CloudError:
            over, error = True, None  # unreadable while the work goes on: from now on the resource alone is asked
        if not over:
            return True
        with self._lock:
            self._running.pop(target.physical_id, None)
            if error is not None:
                self._failed[target.physical_id] = Ended(error, run.clock.monotonic())
        return False

    def error_of(self, physical_id: str) -> Ended | None:
        """What the last one ended with, when that was an error."""
        with self._lock:
            return self._failed.get(physical_id)

    def raise_error_of(self, physical_id: str) -> None:
        """Raise what the last one ended with, when that was an error."""
        ended = self.error_of(physical_id)
        if ended is not None:
            raise ended.error
