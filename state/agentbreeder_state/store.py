"""The seam between the engine and wherever state is kept. A bucket with conditional writes can implement it too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from agentbreeder_core.clock import Clock

from .record import InfraState


class StateStore(Protocol):
    """Every implementation passes tests/state/test_store_conformance.py. All methods may block, and raise `StateError`."""

    @property
    def location(self) -> str:
        """Where the state is, for messages: an absolute path or a URL."""
        ...

    def read(self) -> InfraState | None:
        """The state as it is now; None only when there surely is none. Anything unreadable raises."""
        ...

    def write_if(self, state: InfraState, *, serial: int) -> InfraState:
        """Save `state` as serial + 1 if the stored one still has `serial` (0: none) and the same lineage.

        Returns what was saved. Raises `StateConflict`, leaving the stored state as it is.
        """
        ...

    def update(self, change: Callable[[InfraState], InfraState]) -> InfraState:
        """Read, change and save under one exclusive lock; returns what was saved.

        `change` gets a new state (serial 0, fresh lineage) when there is none. It must be quick and pure.
        """
        ...

    def check_writable(self) -> None:
        """Prove, before anything is created in a cloud, that a save will work."""
        ...

    def lock(
        self,
        agent: str,
        *,
        what: str,
        clock: Clock,
        wait_s: float = 0.0,
        cancel: threading.Event | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> AbstractContextManager[None]:
        """Exclude other runs on the same agent. Raises `LockHeld` after `wait_s` seconds, naming the holder.

        `on_note` is told, in one sentence for the user, when the lock was taken over from a run that died.
        """
        ...

    def unlock(self, agent: str, *, force: bool) -> str:
        """Clear what a dead run left of its lock, and say what. Never takes it from a live holder."""
        ...
