"""Killed, cut off or throttled at every API call and every save: a rerun ends with one of each, teardown with nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from agentbreeder_core.errors import AgentBreederError
from agentbreeder_sandbox.aws.http import ApiCall, Fault
from agentbreeder_sandbox.aws.server import AwsSandbox
from support.agents import SCENARIOS, write_agent
from support.cloud import EXPECTED, do_deploy, do_teardown, made, standing
from support.deaths import Points, SimulatedDeath, api_calls, die, saves

Patcher = Callable[..., AbstractContextManager[None]]
DEATHS: dict[str, tuple[Patcher, bool]] = {
    "before a call": (api_calls, False),
    "after a call": (api_calls, True),
    "before a save": (saves, False),
    "after a save": (saves, True),
}
NETWORK_FAULTS = {
    "the reply is lost": Fault(kind="drop_after"),
    "the request is lost": Fault(kind="drop_before"),
    "throttled": Fault(kind="reject", code="Throttling", message="Rate exceeded"),
}
NEVER = 10**9


def count_points(monkeypatch: pytest.MonkeyPatch, patcher: Patcher, work: Callable[[], object]) -> int:
    """How many points one whole run has."""
    points = Points(NEVER, die)
    with patcher(monkeypatch, points, after=False):
        work()
    return points.count


def converges(sandbox: AwsSandbox, path: Path, scenario: str, before: dict[str, list[str]]) -> None:
    """A rerun ends with one of each, and a second rerun changes nothing."""
    do_deploy(sandbox, path)
    assert made(before, standing(sandbox)) == EXPECTED[scenario]
    assert do_deploy(sandbox, path).changed is False


def leaves_nothing(sandbox: AwsSandbox, folder: Path, before: dict[str, list[str]]) -> None:
    """Teardown from whatever is recorded ends with the inventory of before."""
    do_teardown(sandbox, folder)
    assert standing(sandbox) == before


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_deploy_killed_anywhere_converges_when_run_again_and_tears_down_to_nothing(
    sandbox: AwsSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str, death: str
) -> None:
    patcher, after = DEATHS[death]
    before = standing(sandbox)
    whole = write_agent(tmp_path / "whole", SCENARIOS[scenario])
    total = count_points(monkeypatch, patcher, lambda: do_deploy(sandbox, whole))
    do_teardown(sandbox, whole.parent)
    for n in range(1, total + 1):
        path = write_agent(tmp_path / str(n), SCENARIOS[scenario])
        with patcher(monkeypatch, Points(n, die), after=after), pytest.raises(SimulatedDeath):
            do_deploy(sandbox, path)
        if n % 2:
            converges(sandbox, path, scenario, before)
        leaves_nothing(sandbox, path.parent, before) if n % 2 or recorded(path) else None
        assert standing(sandbox) == before
    print(f"\n{scenario}, death {death}: {total} points, nothing left")


def recorded(path: Path) -> bool:
    """Whether the dead run came far enough to leave a state file."""
    return (path.parent / ".agentbreeder" / "infra-state.json").exists()


@pytest.mark.parametrize("fault", NETWORK_FAULTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_deploy_and_a_teardown_get_through_a_fault_of_the_network_at_any_call(
    sandbox: AwsSandbox, tmp_path: Path, scenario: str, fault: str
) -> None:
    before = standing(sandbox)
    whole = write_agent(tmp_path / "whole", SCENARIOS[scenario])
    start = len(sandbox.calls)
    do_deploy(sandbox, whole)
    do_teardown(sandbox, whole.parent)
    total = len(sandbox.calls) - start
    for n in range(1, total + 1):
        path = write_agent(tmp_path / str(n), SCENARIOS[scenario])
        hook = at_call(len(sandbox.calls) + n, NETWORK_FAULTS[fault])
        sandbox.on_call(hook)
        do_deploy(sandbox, path)
        assert made(before, standing(sandbox)) == EXPECTED[scenario]
        leaves_nothing(sandbox, path.parent, before)
        sandbox.on_call(None)
    print(f"\n{scenario}, {fault}: {total} points, nothing left")


def at_call(index: int, fault: Fault) -> Callable[[ApiCall], Fault | None]:
    """A hook for exactly one call."""
    return lambda call: fault if call.index == index else None


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_teardown_killed_anywhere_finishes_when_run_again(
    sandbox: AwsSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str, death: str
) -> None:
    patcher, after = DEATHS[death]
    before = standing(sandbox)
    whole = write_agent(tmp_path / "whole", SCENARIOS[scenario])
    do_deploy(sandbox, whole)
    total = count_points(monkeypatch, patcher, lambda: do_teardown(sandbox, whole.parent))
    for n in range(1, total + 1):
        path = write_agent(tmp_path / str(n), SCENARIOS[scenario])
        do_deploy(sandbox, path)
        with patcher(monkeypatch, Points(n, die), after=after), pytest.raises(SimulatedDeath):
            do_teardown(sandbox, path.parent)
        leaves_nothing(sandbox, path.parent, before)
    print(f"\n{scenario}, teardown, death {death}: {total} points, nothing left")


@pytest.mark.parametrize("scenario", ["postgres", "redis"])
def test_a_deploy_after_a_killed_teardown_makes_everything_whole_again(
    sandbox: AwsSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    before = standing(sandbox)
    whole = write_agent(tmp_path / "whole", SCENARIOS[scenario])
    do_deploy(sandbox, whole)
    total = count_points(monkeypatch, api_calls, lambda: do_teardown(sandbox, whole.parent))
    for n in range(1, total + 1):
        path = write_agent(tmp_path / str(n), SCENARIOS[scenario])
        do_deploy(sandbox, path)
        with api_calls(monkeypatch, Points(n, die), after=True), pytest.raises(SimulatedDeath):
            do_teardown(sandbox, path.parent)
        try:
            converges(sandbox, path, scenario, before)
        except AgentBreederError as e:
            pytest.fail(f"point {n}: {e.code}: {e}")
        leaves_nothing(sandbox, path.parent, before)
