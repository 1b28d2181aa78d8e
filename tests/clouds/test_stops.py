"""Ctrl-C and time limits at many points of a deploy and a teardown, on every cloud: nothing is lost, nothing is left."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from agentbreeder_core.errors import Interrupted, StepTimeout, TeardownIncomplete
from agentbreeder_sandbox.calls import ApiCall
from agentbreeder_sandbox.standin import Sandbox
from support.cloud import do_deploy, do_teardown
from support.scenes import STAND_INS_OF_TESTS, UNHELD, write_scene

POINTS = 3
"""How many calls, spread over the whole run, are stopped at."""


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, cloud: str) -> Sandbox:
    found: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    if cloud in UNHELD:
        found.reset(durations=UNHELD[cloud]())
    return found


class StopAt:
    """Sets `cancel` at the n-th call."""

    def __init__(self, n: int) -> None:
        self.cancel, self._left = threading.Event(), n

    def __call__(self, call: ApiCall) -> None:
        self._left -= 1
        if self._left <= 0:
            self.cancel.set()


@pytest.mark.parametrize("cloud", STAND_INS_OF_TESTS)
def test_a_deploy_and_a_teardown_that_are_stopped_anywhere_go_on_later(
    sandbox: Sandbox, tmp_path: Path, cloud: str
) -> None:
    before = sandbox.standing()
    do_deploy(sandbox, write_scene(tmp_path / "whole", cloud, "both"))
    total = len(sandbox.calls)
    do_teardown(sandbox, tmp_path / "whole")
    for n in range(1, total, max(1, total // POINTS)):
        path = write_scene(tmp_path / str(n), cloud, "both")
        for act in (
            lambda cancel, path=path: do_deploy(sandbox, path, cancel=cancel),
            lambda cancel, path=path: do_teardown(sandbox, path.parent, cancel=cancel),
        ):
            stop = StopAt(n)
            sandbox.on_call(stop)
            with contextlib.suppress(Interrupted):
                act(stop.cancel)  # type: ignore[no-untyped-call]
            sandbox.on_call(None)
            if path.parent.joinpath(".agentbreeder").exists():
                act(threading.Event())  # type: ignore[no-untyped-call]
        assert sandbox.standing() == before


@pytest.mark.parametrize("cloud", STAND_INS_OF_TESTS)
@pytest.mark.parametrize("limit_s", [1.0, 60.0, 200.0])
def test_a_time_limit_ends_the_run_and_what_it_ordered_is_recorded(
    sandbox: Sandbox, tmp_path: Path, cloud: str, limit_s: float
) -> None:
    before = sandbox.standing()
    path = write_scene(tmp_path, cloud, "both")
    start = sandbox.clock.monotonic()
    with pytest.raises(StepTimeout):
        do_deploy(sandbox, path, timeout_s=limit_s)
    assert sandbox.clock.monotonic() - start < limit_s + 120.0
    with contextlib.suppress(TeardownIncomplete):
        do_teardown(sandbox, tmp_path, timeout_s=limit_s)
    do_teardown(sandbox, tmp_path)
    assert sandbox.standing() == before
