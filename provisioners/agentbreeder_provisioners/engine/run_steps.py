"""All steps of a deploy or teardown, between the events that begin and end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agentbreeder_core.events import RunEnded, RunStarted

from .graph import Outcome, run_graph
from .run import Shared


def run_steps(
    what: str,
    agent: str,
    needs: Mapping[str, Iterable[str]],
    work: Callable[[str], None],
    shared: Shared,
    *,
    stop_on_failure: bool,
) -> Outcome:
    """`run_graph` with `RunStarted` before and `RunEnded` after. Blocks until everything that started has ended."""
    shared.emit(RunStarted, what=what, agent=agent, steps=tuple(needs))
    started = shared.clock.monotonic()
    outcome = run_graph(needs, work, clock=shared.clock, cancel=shared.cancel, stop_on_failure=stop_on_failure)
    ok, elapsed_s = len(outcome.done) == len(needs), shared.clock.monotonic() - started
    shared.emit(RunEnded, what=what, agent=agent, ok=ok, elapsed_s=elapsed_s)
    return outcome
