"""What happens during a deploy or a teardown, as plain data. The engine emits; terminal, JSON lines and tests listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`number` counts from 1 within a run, `at` is UTC."""

    number: int
    at: datetime

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict with the event's class name under `event`."""
        return {"event": type(self).__name__, **asdict(self), "at": self.at.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """`what` is `deploy` or `teardown`; `steps` are the ids that will be worked on, in order."""

    what: str
    agent: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(Event):
    """`action` is `create`, `resume`, `check` or `delete`."""

    step: str
    name: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWaiting(Event):
    """Emitted at each poll. `note` says what it waits for, in the cloud's own words where it has some."""

    step: str
    name: str
    elapsed_s: float
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone(Event):
    """`outcome` is `created`, `found`, `unchanged`, `deleted` or `already gone`."""

    step: str
    name: str
    outcome: str
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed(Event):
    """`code` is the error's class name; `message` its detail (never a secret)."""

    step: str
    name: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSkipped(Event):
    """Not started because of an earlier failure or an interrupt."""

    step: str
    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Event):
    """One sentence for the user; `level` is `info` or `warning`."""

    level: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """`ok` is False when anything failed, was skipped or remains."""

    what: str
    agent: str
    ok: bool
    elapsed_s: float


EventSink = Callable[[Event], None]
