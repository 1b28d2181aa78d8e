"""Operations that this process started: a hint about how a create goes, never the truth about the resource.

An operation may end with an error while its resource comes up all the same, and may be unreadable while the create goes
on (facts, section 4.1). So the resource itself decides; what an operation said is the reason to give when it is not
there. Kept in memory only: a resumed run asks the resource alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from agentbreeder_core.errors import CloudError

BELIEVE_ERROR_AFTER_S = 600.0
"""How long a resource may go on coming up after its operation ended with an error (TF#27922: some minutes)."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an operation ended: with an error, seen at clock time `at` (seconds), or well (`error` None)."""

    error: CloudError | None
    at: float


class Operations:
    """Names of running operations and the errors of ended ones, by physical id. Safe to share between threads."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._failed: dict[str, Ended] = {}
        self._lock = threading.Lock()

    def started(self, physical_id: str, operation: str) -> None:
        """Remember an operation to ask about."""
        with self._lock:
            self._running[physical_id] = operation

    def running(self, physical_id: str) -> str:
        """Its name, or "" when there is none to ask about."""
        with self._lock:
            return self._running.get(physical_id, "")

    def forget(self, physical_id: str) -> None:
        """It cannot be read, or it is over."""
        with self._lock:
            self._running.pop(physical_id, None)

    def failed(self, physical_id: str, error: CloudError, at: float) -> None:
        """It ended with an error."""
        with self._lock:
            self._running.pop(physical_id, None)
            self._failed[physical_id] = Ended(error, at)

    def error_of(self, physical_id: str) -> Ended | None:
        """What it ended with, when that was an error."""
        with self._lock:
            return self._failed.get(physical_id)
