"""Killed, cut off or throttled at every API call and every save: a rerun ends with one of each, teardown with nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from agentbreeder_core.errors import AgentBreederError
from agentbreeder_sandbox.calls import ApiCall, Fault
from agentbreeder_sandbox.standin import Sandbox
from support.child import GONE, in_a_child
from support.cloud import do_deploy, do_teardown, made, standing, state_of
from support.deaths import Points, SimulatedDeath, api_calls, die, saves
from support.scenes import (
    AGENTS,
    EXPECTED,
    INSTANT,
    STAND_INS_OF_TESTS,
    THROTTLED,
    UNHELD,
    open_to_both_products,
    write_scene,
)

SayPoints = Callable[[str, int], None]
Patcher = Callable[..., AbstractContextManager[None]]
Row = TypeVar("Row", bound=tuple[object, ...])


def _on(clouds: Collection[str], full: list[Row], thin: list[Row]) -> list[Row]:
    return [row for row in (full if FULL else thin) if row[0] in clouds]


DEATHS: dict[str, tuple[Patcher, bool]] = {
    "before a call": (api_calls, False),
    "after a call": (api_calls, True),
    "before a save": (saves, False),
    "after a save": (saves, True),
}
NETWORK_FAULTS = {
    "the reply is lost": Fault(kind="drop_after"),
    "the request is lost": Fault(kind="drop_before"),
    "throttled": Fault(kind="reject"),
}
NEVER = 10**9
FULL = bool(os.environ.get("FULL_MATRIX"))
"""`make matrix` runs every scenario on every cloud against every fault. `make test` keeps every kind of fault and every
step of both stores on AWS, and every step of the others, so that the suite stays under five minutes on two cores."""
CLOUDS_TESTED = tuple(c for c in STAND_INS_OF_TESTS if c in os.environ.get("MATRIX_CLOUDS", c))
STRIDES = {
    "both": 11,
    "both in a vault of its own": 15,
    "postgres": 5,
    "redis": 3,
    "a fault of the network": 5,
    "os._exit": 5,
    "deploy after a killed teardown": 5,
}
"""In `make test`, only each n-th point of these; `make matrix` takes each."""
THIN_DEATHS = [
    ("aws", "redis", "before a call"),
    ("aws", "postgres", "after a call"),
    ("aws", "both", "after a call"),
    ("aws", "postgres", "before a save"),
    ("aws", "redis", "after a save"),
    ("gcp", "both", "after a call"),
    ("gcp", "redis", "before a save"),
    ("azure", "both in a vault of its own", "after a call"),
    ("azure", "redis", "before a save"),
]
DEATH_ROWS = _on(CLOUDS_TESTED, [(c, s, d) for c in CLOUDS_TESTED for s in AGENTS[c] for d in DEATHS], THIN_DEATHS)
FAULT_ROWS = _on(
    CLOUDS_TESTED,
    [(c, s, f) for c in CLOUDS_TESTED for s in AGENTS[c] for f in NETWORK_FAULTS],
    [(c, "redis", f) for c in CLOUDS_TESTED for f in NETWORK_FAULTS if c == "aws" or f == "the reply is lost"],
)
GONE_ROWS = _on(
    CLOUDS_TESTED,
    [(c, s, after) for c in CLOUDS_TESTED for s in AGENTS[c] for after in (False, True)],
    [("aws", "redis", False), ("aws", "postgres", True)],
)


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, cloud: str) -> Sandbox:
    """The stand-in of the row's cloud: an empty account with a ready network."""
    found: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    if cloud in UNHELD:
        found.reset(durations=UNHELD[cloud]())
    open_to_both_products(found)
    return found


def count_points(monkeypatch: pytest.MonkeyPatch, patcher: Patcher, work: Callable[[], object]) -> int:
    """How many points one whole run has."""
    points = Points(NEVER, die)
    with patcher(monkeypatch, points, after=False):
        work()
    return points.count


def converges(sandbox: Sandbox, path: Path, cloud: str, scenario: str, before: dict[str, list[str]]) -> None:
    """A rerun ends with one of each, and a second rerun changes nothing."""
    do_deploy(sandbox, path)
    assert made(before, standing(sandbox)) == EXPECTED[cloud][scenario]
    assert do_deploy(sandbox, path).changed is False


def leaves_nothing(sandbox: Sandbox, folder: Path, before: dict[str, list[str]]) -> None:
    """Teardown from whatever is recorded ends with the inventory of before."""
    do_teardown(sandbox, folder)
    assert standing(sandbox) == before


@pytest.mark.parametrize(("cloud", "scenario", "death"), DEATH_ROWS)
def test_killed_anywhere_a_rerun_converges_and_teardown_killed_anywhere_leaves_nothing(
    sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    say_points: SayPoints,
    cloud: str,
    scenario: str,
    death: str,
) -> None:
    patcher, after = DEATHS[death]
    before = standing(sandbox)
    whole = write_scene(tmp_path / "whole", cloud, scenario)
    making = count_points(monkeypatch, patcher, lambda: do_deploy(sandbox, whole))
    removing = count_points(monkeypatch, patcher, lambda: do_teardown(sandbox, whole.parent))
    for n in range(1, max(making, removing) + 1, stride(scenario)):
        path = write_scene(tmp_path / str(n), cloud, scenario)
        killed(monkeypatch, patcher, n, after, lambda path=path: do_deploy(sandbox, path), dies=n <= making)  # type: ignore[misc]
        # Every second time the next command is teardown, straight from what the dead deploy left.
        if n // stride(scenario) % 2 or n > making:
            converges(sandbox, path, cloud, scenario, before)
        if recorded(path):
            killed(monkeypatch, patcher, n, after, lambda path=path: do_teardown(sandbox, path.parent))  # type: ignore[misc]
            leaves_nothing(sandbox, path.parent, before)
        assert standing(sandbox) == before
    say_points(f"{cloud} {scenario}, death {death}", (making + removing) // stride(scenario))


def stride(row: str) -> int:
    """How far apart the points of a row are."""
    return 1 if FULL else STRIDES.get(row, 1)


def killed(
    monkeypatch: pytest.MonkeyPatch,
    patcher: Patcher,
    n: int,
    after: bool,
    work: Callable[[], object],
    *,
    dies: bool = False,
) -> None:
    """Run `work` and die at its n-th point; with `dies` it must have come that far."""
    try:
        with patcher(monkeypatch, Points(n, die), after=after):
            work()
    except SimulatedDeath:
        return
    assert not dies


def recorded(path: Path) -> bool:
    """Whether the dead run came far enough to record the agent."""
    file = path.parent / ".agentbreeder" / "infra-state.json"
    return file.exists() and "support" in state_of(path.parent)["agents"]


@pytest.mark.parametrize(("cloud", "scenario", "fault"), FAULT_ROWS)
def test_a_deploy_and_a_teardown_get_through_a_fault_of_the_network_at_any_call(
    sandbox: Sandbox, tmp_path: Path, say_points: SayPoints, cloud: str, scenario: str, fault: str
) -> None:
    before = standing(sandbox)
    whole = write_scene(tmp_path / "whole", cloud, scenario)
    making, removing = Faulty(cloud, NEVER, NETWORK_FAULTS[fault]), Faulty(cloud, NEVER, NETWORK_FAULTS[fault])
    sandbox.on_call(making)
    do_deploy(sandbox, whole)
    sandbox.on_call(removing)
    do_teardown(sandbox, whole.parent)
    for n in range(1, max(making.count, removing.count) + 1, stride("a fault of the network")):
        path = write_scene(tmp_path / str(n), cloud, scenario)
        sandbox.on_call(Faulty(cloud, n, NETWORK_FAULTS[fault]))
        do_deploy(sandbox, path)
        assert made(before, standing(sandbox)) == EXPECTED[cloud][scenario]
        sandbox.on_call(Faulty(cloud, n, NETWORK_FAULTS[fault]))
        leaves_nothing(sandbox, path.parent, before)
        sandbox.on_call(None)
    say_points(f"{cloud} {scenario}, {fault}", (making.count + removing.count) // stride("a fault of the network"))


class Faulty:
    """A hook that lets exactly the n-th call go wrong; of many equal polls only the first few are counted."""

    def __init__(self, cloud: str, n: int, fault: Fault) -> None:
        self._cloud = cloud
        self._points = Points(n, die)
        self._fault: Fault | None = fault

    @property
    def count(self) -> int:
        return self._points.count

    def __call__(self, call: ApiCall) -> Fault | None:
        if not self._points.reach(call.operation, poll=call.read):
            return None
        fault, self._fault = self._fault, None
        if fault and fault.kind == "reject":
            code, message, status = THROTTLED[self._cloud]
            return Fault(kind="reject", code=code, message=message, status=status)
        return fault


@pytest.mark.parametrize(("cloud", "scenario", "after"), GONE_ROWS)
def test_a_process_that_is_gone_without_a_trace_at_any_call_leaves_nothing_behind(
    sandbox: Sandbox, tmp_path: Path, say_points: SayPoints, cloud: str, scenario: str, after: bool
) -> None:
    sandbox.reset(durations=INSTANT[cloud]())  # the child brings the machine's own clock
    open_to_both_products(sandbox)
    before = standing(sandbox)
    n, step = 1 - stride("os._exit"), stride("os._exit")
    while True:
        n += step
        path = write_scene(tmp_path / str(n), cloud, scenario)
        code = in_a_child(path, sandbox.network_env(), n, after)
        if code == 0:
            break
        assert code == GONE
        if n % 2:
            converges(sandbox, path, cloud, scenario, before)
        if recorded(path):
            leaves_nothing(sandbox, path.parent, before)
        assert standing(sandbox) == before
    leaves_nothing(sandbox, path.parent, before)
    say_points(f"{cloud} {scenario}, os._exit {'after' if after else 'before'} a call", n // step)


@pytest.mark.parametrize(
    ("cloud", "scenario"),
    _on(CLOUDS_TESTED, [(c, s) for c in CLOUDS_TESTED for s in ("postgres", "redis")], [("aws", "redis")]),
)
def test_a_deploy_after_a_killed_teardown_makes_everything_whole_again(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: str, scenario: str
) -> None:
    before = standing(sandbox)
    whole = write_scene(tmp_path / "whole", cloud, scenario)
    do_deploy(sandbox, whole)
    total = count_points(monkeypatch, api_calls, lambda: do_teardown(sandbox, whole.parent))
    for n in range(1, total + 1, stride("deploy after a killed teardown")):
        path = write_scene(tmp_path / str(n), cloud, scenario)
        do_deploy(sandbox, path)
        with api_calls(monkeypatch, Points(n, die), after=True), pytest.raises(SimulatedDeath):
            do_teardown(sandbox, path.parent)
        try:
            converges(sandbox, path, cloud, scenario, before)
        except AgentBreederError as e:
            pytest.fail(f"point {n}: {e.code}: {e}")
        leaves_nothing(sandbox, path.parent, before)
