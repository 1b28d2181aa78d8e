"""Every kind of every cloud through the same rows: what the engine may rely on, whichever cloud it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentbreeder_provisioners.clouds import CLOUDS
from agentbreeder_provisioners.engine.kinds import AlreadyExists, NotFound
from agentbreeder_provisioners.engine.steps import Ref
from agentbreeder_resolver import resolve_path
from agentbreeder_sandbox.calls import ApiCall, Fault
from agentbreeder_sandbox.standin import Sandbox
from support.agents import write_agent
from support.bench import Bench
from support.cloud import do_deploy, do_teardown
from support.deaths import Points, SimulatedDeath, api_calls, die
from support.scenes import EVERY_KIND, STAND_INS_OF_TESTS, open_to_both_products, write_scene


def _rows() -> Iterator[tuple[str, str, str]]:
    """(cloud, agent, step): one step of every kind that the cloud has."""
    import tempfile

    for cloud, agents in EVERY_KIND.items():
        seen: set[str] = set()
        for agent in agents:
            with tempfile.TemporaryDirectory() as folder:
                plan = resolve_path(write_scene(Path(folder), cloud, agent))
            for step in CLOUDS[cloud].steps_for(plan):
                if step.kind not in seen:
                    seen.add(step.kind)
                    yield cloud, agent, step.id


ROWS = list(_rows())
EVERY = pytest.mark.parametrize(("cloud", "agent", "step"), ROWS, ids=[f"{c}-{s}" for c, _, s in ROWS])


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path, cloud: str, agent: str) -> Bench:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    open_to_both_products(sandbox)
    return Bench.of(sandbox, write_scene(tmp_path, cloud, agent))


def test_the_rows_cover_every_kind_of_every_cloud(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for cloud, agents in EVERY_KIND.items():
        sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
        kinds: set[str] = set()
        steps = {}
        for agent in agents:
            one = Bench.of(sandbox, write_scene(tmp_path / cloud / agent, cloud, agent))
            kinds |= set(one.kinds)
            steps |= one.steps
        assert {steps[s].kind for c, _, s in ROWS if c == cloud} == kinds


@EVERY
def test_find_says_none_for_what_is_not_there(bench: Bench, step: str) -> None:
    bench.make_needs(step)
    assert bench.kind(step).find(bench.target(step), bench.run(step)) is None


@EVERY
def test_find_knows_ours_by_name_alone_and_by_its_recorded_id(bench: Bench, step: str) -> None:
    bench.make(step)
    for target in (bench.target(step), bench.target(step, made=True)):
        found = bench.kind(step).find(target, bench.run(step))
        assert found is not None
        assert found.state == "present"
        assert found.physical_id == bench.ids[step]
        assert bench.owner.owns(found.tags)


@EVERY
def test_find_never_takes_another_states_resource_for_ours(bench: Bench, step: str) -> None:
    if bench.steps[step].part_of:
        pytest.skip("it lives inside another resource, whose tags decide")
    bench.make_needs(step)
    bench.create(step, owner=replace(bench.owner, lineage="another-state"))
    bench.wait(step)
    found = bench.kind(step).find(bench.target(step), bench.run(step))
    assert found is not None
    assert not bench.owner.owns(found.tags)


@EVERY
def test_a_second_create_makes_nothing_new(bench: Bench, step: str) -> None:
    bench.make(step)
    before = bench.sandbox.inventory()
    try:
        again = bench.create(step)
    except AlreadyExists:
        again = bench.ids[step]
    if not bench.steps[step].part_of:
        assert again == bench.ids[step]
    assert bench.sandbox.inventory() == before


@EVERY
def test_a_create_whose_reply_was_lost_is_found_again_as_ours_and_there_once(bench: Bench, step: str) -> None:
    bench.make_needs(step)
    lost: list[ApiCall] = []

    def lose_first_change(call: ApiCall) -> Fault | None:
        if call.read or lost:
            return None
        lost.append(call)
        return Fault(kind="drop_after")

    bench.sandbox.on_call(lose_first_change)
    try:
        physical_id = bench.create(step)
    except AlreadyExists:
        physical_id = ""
    found = bench.kind(step).find(bench.target(step), bench.run(step))
    assert found is not None
    assert bench.owner.owns(found.tags)
    bench.ids[step] = physical_id or found.physical_id
    bench.wait(step)
    once = bench.sandbox.inventory()
    with contextlib.suppress(AlreadyExists):
        bench.create(step)
    assert bench.sandbox.inventory() == once


@EVERY
def test_waiting_gives_every_output_that_later_steps_read_and_the_same_ones_twice(bench: Bench, step: str) -> None:
    bench.make(step)
    read = {
        ref.output
        for other in bench.steps.values()
        for ref in other.inputs.values()
        if isinstance(ref, Ref) and ref.step == step
    }
    read |= {s.output for s in CLOUDS[bench.plan.cloud].env_sources(bench.plan).values() if s.step == step}
    assert read <= set(bench.outputs[step])
    first = dict(bench.outputs[step])
    assert bench.wait(step) == first


@EVERY
def test_what_was_just_made_has_not_drifted(bench: Bench, step: str) -> None:
    bench.make(step)
    assert bench.kind(step).drift(bench.target(step, made=True), bench.run(step)) == ""
    assert bench.kind(step).protection(bench.target(step, made=True), bench.run(step)) == ""


@EVERY
def test_a_second_delete_is_success_or_not_found(bench: Bench, step: str) -> None:
    bench.make(step)
    bench.delete(step)
    if not bench.steps[step].part_of:
        found = bench.kind(step).find(bench.target(step), bench.run(step))
        assert found is None or found.state != "present"
    try:
        bench.delete(step)
    except NotFound:
        return


@EVERY
def test_a_delete_while_it_is_still_being_made_succeeds_in_the_end(bench: Bench, step: str) -> None:
    bench.make_needs(step)
    before = bench.sandbox.standing()
    bench.create(step)
    bench.delete(step)
    if not bench.steps[step].part_of:
        assert bench.sandbox.standing() == before


@pytest.mark.parametrize("cloud", sorted(EVERY_KIND))
def test_a_deploy_whose_replies_are_lost_and_whose_tags_are_readable_late_takes_nothing_for_somebody_elses(
    request: pytest.FixtureRequest, tmp_path: Path, cloud: str
) -> None:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    open_to_both_products(sandbox)
    before = sandbox.standing()
    for agent in EVERY_KIND[cloud]:
        path = write_scene(tmp_path / agent, cloud, agent)
        sandbox.on_call(HideTagsAfterEachChange(sandbox))
        done = do_deploy(sandbox, path)
        assert all(r.phase == "ready" for r in done.resources)
        sandbox.on_call(None)
        sandbox.hide_tags(0.0)
        do_teardown(sandbox, path.parent)
        assert sandbox.standing() == before


class HideTagsAfterEachChange:
    """Each change hides every tag for half a minute, and its reply is lost."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._changed: set[str] = set()

    def __call__(self, call: ApiCall) -> Fault | None:
        if call.read or call.operation in self._changed:
            return None
        self._changed.add(call.operation)
        self._sandbox.hide_tags(30.0)
        return Fault(kind="drop_after")


@pytest.mark.parametrize("cloud", sorted(EVERY_KIND))
def test_a_teardown_right_after_a_dead_deploy_waits_until_the_tags_can_be_read(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cloud: str
) -> None:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    before = sandbox.standing()
    path = write_agent(tmp_path, "memory: {backend: redis}", cloud=cloud)
    with api_calls(monkeypatch, FirstChange(1, die), after=True), pytest.raises(SimulatedDeath):
        do_deploy(sandbox, path)
    assert sandbox.standing() != before
    sandbox.hide_tags(30.0)
    assert do_teardown(sandbox, tmp_path).remaining == ()
    assert sandbox.standing() == before


class FirstChange(Points):
    """Counts changes only: reads are no points."""

    def reach(self, name: str = "", *, poll: bool = False) -> bool:
        return self.fired if poll else super().reach(name)
