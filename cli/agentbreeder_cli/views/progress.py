"""A run as it happens: live rows on a terminal, plain lines elsewhere, JSON lines with `--json`. All on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Protocol

from agentbreeder_core.clock import Clock
from agentbreeder_core.events import (
    Event,
    Note,
    RunEnded,
    RunStarted,
    StepDone,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepWaiting,
)

from ..mode import Mode
from . import out
from .text import clean, count, duration, is_terminal, paint

_QUIET = timedelta(seconds=30)
_VERBS = {"create": "creating", "resume": "going on", "check": "checking", "delete": "deleting"}


class Progress(Protocol):
    """An event sink that can step aside for a question."""

    def __call__(self, event: Event) -> None:
        """Show one event. Called from any thread, one at a time."""
        ...

    def pause(self) -> None:
        """Leave the terminal to somebody else until the next event."""
        ...


@contextmanager
def progress(mode: Mode, clock: Clock) -> Iterator[Progress]:
    """The sink that fits where stderr goes. Leaving the block puts the terminal back as it was."""
    shown: Progress
    if mode.json:
        shown = JsonLines()
    elif is_terminal(sys.stderr):
        from .live import LiveRows  # rich is imported only here

        shown = LiveRows(clock)
    else:
        shown = PlainLines()
    try:
        yield shown
    finally:
        shown.pause()


class JsonLines:
    """One JSON object per event."""

    def __call__(self, event: Event) -> None:
        """See `Progress`."""
        out.json_line(event.to_json())

    def pause(self) -> None:
        """Lines stand by themselves."""


def waiting_words(note: str) -> str:
    """`waiting: creating`, whatever the note begins with."""
    return note if note.startswith("waiting") else f"waiting: {note}"


class PlainLines:
    """One line per change of a step; a step that only waits speaks at most every 30 seconds of the run's own time."""

    def __init__(self) -> None:
        self._started: datetime | None = None
        self._width = 0
        self._spoke: dict[str, datetime] = {}

    def __call__(self, event: Event) -> None:
        """Write the event's line, if it has one."""
        self._started = self._started or event.at
        if isinstance(event, RunStarted):
            self._width = max((len(step) for step in event.steps), default=0)
            out.talk(f"{event.what} {clean(event.agent)}: {count(len(event.steps), 'step')}")
        elif isinstance(event, StepWaiting):
            if event.at - self._spoke.get(event.step, datetime.min.replace(tzinfo=event.at.tzinfo)) >= _QUIET:
                self._line(event, event.step, waiting_words(event.note))
        elif isinstance(event, StepStarted):
            self._line(event, event.step, f"{_VERBS.get(event.action, event.action)} {event.name}")
        elif isinstance(event, StepDone):
            self._line(event, event.step, f"{event.outcome} ({duration(event.elapsed_s)})")
        elif isinstance(event, StepFailed):
            self._line(event, event.step, f"failed: {event.code}: {event.message}")
        elif isinstance(event, StepSkipped):
            self._line(event, event.step, f"not started: {event.why}")
        else:
            self._about_the_run(event)

    def pause(self) -> None:
        """Lines stand by themselves."""

    def _about_the_run(self, event: Event) -> None:
        if isinstance(event, Note):
            out.talk(note_line(event))
        elif isinstance(event, RunEnded):
            out.talk(f"{event.what} {'done' if event.ok else 'stopped'} after {duration(event.elapsed_s)}\n")

    def _line(self, event: Event, step: str, words: str) -> None:
        self._spoke[step] = event.at
        since = (event.at - self._started).total_seconds() if self._started else 0.0
        out.talk(f"{duration(since):>7}  {step:<{self._width}}  {clean(words)}")


def note_line(event: Note) -> str:
    """`warning: ...` or `note: ...`."""
    head = paint("warning:", "yellow", sys.stderr) if event.level == "warning" else "note:"
    return f"{head} {clean(event.message)}"
