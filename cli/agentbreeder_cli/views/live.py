"""Live rows on a terminal: one per step, with the time it took so far and what it waits for."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

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

from .progress import note_line, waiting_words
from .text import clean, duration

_REFRESH_PER_S = 8


@dataclass(slots=True)
class _Row:
    """`since` is clock seconds while the step runs; None before and after."""

    words: str = "queued"
    style: str = "dim"
    since: float | None = None
    took: float = 0.0


class LiveRows:
    """An event sink. Drawing happens in rich's own thread, so rows tick between events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._console = Console(stderr=True, highlight=False)
        unicode = (self._console.encoding or "").lower().startswith("utf")
        self._spinner = Spinner("dots" if unicode else "line")
        self._rows: dict[str, _Row] = {}
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        """See `Progress`."""
        if isinstance(event, RunStarted):
            self._console.print(Text(f"{event.what} {clean(event.agent)}", style="bold"))
            with self._lock:
                self._rows = {step: _Row() for step in event.steps}
            self._draw()
        elif isinstance(event, Note):
            self._console.print(Text.from_ansi(note_line(event)))
        elif isinstance(event, RunEnded):
            self.pause()
            what = f"{event.what} {'done' if event.ok else 'stopped'} after {duration(event.elapsed_s)}\n"
            self._console.print(Text(what, style="green" if event.ok else "red"))
        else:
            with self._lock:
                self._step(event)
            self._draw()

    def pause(self) -> None:
        """Draw the last state once more and give the terminal back."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _draw(self) -> None:
        if self._live is None:
            self._live = Live(self, console=self._console, refresh_per_second=_REFRESH_PER_S)
            self._live.start()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Fixed widths for all but the last column: a long note must never squeeze the names and times.
        longest = max(map(len, self._rows), default=0)
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=1)
        table.add_column(no_wrap=True, min_width=longest)
        table.add_column(justify="right", no_wrap=True, min_width=7)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        now = self._clock.monotonic()
        with self._lock:
            for step, row in self._rows.items():
                running = row.since is not None
                took = now - row.since if row.since is not None else row.took
                clock = duration(took) if running or took else ""
                mark = self._spinner.render(console.get_time()) if running else Text("")
                table.add_row(mark, Text(step), Text(clock), Text(clean(row.words), style=row.style))
        yield table

    def _step(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self._rows[event.step] = _Row(f"{event.action} {event.name}", "cyan", self._clock.monotonic())
        elif isinstance(event, StepWaiting):
            row = self._rows.setdefault(event.step, _Row())
            row.words, row.style = waiting_words(event.note), "cyan"
            row.since = self._clock.monotonic() - event.elapsed_s
        elif isinstance(event, StepDone):
            self._rows[event.step] = _Row(event.outcome, "green", None, event.elapsed_s)
        elif isinstance(event, StepFailed):
            since = self._rows.get(event.step, _Row()).since
            elapsed = self._clock.monotonic() - since if since is not None else 0.0
            self._rows[event.step] = _Row(f"failed: {event.message}", "red", None, elapsed)
        elif isinstance(event, StepSkipped):
            self._rows[event.step] = _Row(f"not started: {event.why}", "yellow")
