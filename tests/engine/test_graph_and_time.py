"""The graph runs what can run at once, and virtual time tells how long that would take."""

from __future__ import annotations

import threading

import pytest

from agentbreeder_core.clock import SystemClock
from agentbreeder_provisioners.engine.graph import run_graph
from agentbreeder_provisioners.engine.steps import Ref, Step, changed_inputs, in_order, resolve_refs
from agentbreeder_sandbox.clocks import VirtualClock

SECONDS = {"net": 5.0, "pg": 360.0, "redis": 420.0, "url": 1.0}
NEEDS = {"net": (), "pg": ("net",), "redis": ("net",), "url": ("pg",)}


def test_independent_steps_overlap_so_the_makespan_is_the_longest_chain() -> None:
    clock, cancel = VirtualClock(), threading.Event()
    outcome = run_graph(
        NEEDS, lambda n: clock.wait(cancel, SECONDS[n]) and None, clock=clock, cancel=cancel, stop_on_failure=True
    )
    assert sorted(outcome.done) == sorted(NEEDS)
    assert clock.monotonic() == pytest.approx(5 + 420)


def fail(node: str) -> None:
    if node == "pg":
        raise ValueError(node)


def test_a_failure_starts_nothing_new_when_it_should_stop() -> None:
    outcome = run_graph(
        {"pg": (), "url": ("pg",), "late": ("url",)},
        fail,
        clock=SystemClock(),
        cancel=threading.Event(),
        stop_on_failure=True,
    )
    assert (list(outcome.failed), outcome.skipped) == (["pg"], ["url", "late"])


def test_only_what_needs_the_failed_one_is_skipped_when_it_should_go_on() -> None:
    outcome = run_graph(
        {"pg": (), "redis": (), "url": ("pg",)},
        fail,
        clock=SystemClock(),
        cancel=threading.Event(),
        stop_on_failure=False,
    )
    assert (outcome.done, outcome.skipped) == (["redis"], ["url"])


def test_a_cancelled_run_starts_nothing_new() -> None:
    cancel = threading.Event()
    outcome = run_graph(
        {"a": (), "b": ("a",)}, lambda n: cancel.set(), clock=SystemClock(), cancel=cancel, stop_on_failure=True
    )
    assert outcome.done[0] == "a"


def test_virtual_time_stands_still_while_somebody_works_and_wakes_on_cancel() -> None:
    clock, cancel, seen = VirtualClock(), threading.Event(), []
    clock.begin_work()
    clock.begin_work()
    thread = threading.Thread(target=lambda: seen.append(clock.wait(cancel, 100)))
    thread.start()
    assert clock.monotonic() == 0
    cancel.set()
    thread.join(5)
    assert seen == [True]
    assert clock.monotonic() == 0


def test_steps_are_ordered_resolved_and_compared() -> None:
    a, b = Step(id="a", kind="k", name="n", why=""), Step(id="b", kind="k", name="n", why="", needs=("a",))
    assert [s.id for s in in_order([b, a])] == ["a", "b"]
    assert resolve_refs({"x": Ref("a", "o"), "y": 1}, {"a": {"o": 2}}) == {"x": 2, "y": 1}
    sized = Step(id="c", kind="k", name="n", why="", inputs={"size": 2, "ref": Ref("a", "o")})
    assert changed_inputs(sized, {"size": 1, "ref": 9}) == {"size": (1, 2)}
    with pytest.raises(ValueError, match="circle"):
        in_order([Step(id="a", kind="k", name="n", why="", needs=("b",)), b])
