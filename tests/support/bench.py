"""One cloud's kinds, driven one at a time against its stand-in: what the conformance suite works with."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentbreeder_provisioners.clouds import CLOUDS
from agentbreeder_provisioners.engine.kinds import Kind, Target
from agentbreeder_provisioners.engine.ownership import Owner
from agentbreeder_provisioners.engine.run import Run, Shared
from agentbreeder_provisioners.engine.steps import PREFLIGHT, Step, in_order, resolve_refs
from agentbreeder_provisioners.planning import secrets_of
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.plan_types import MemoryPlan
from agentbreeder_sandbox.standin import Sandbox


@dataclass(slots=True)
class Bench:
    """`outputs` and `ids` are of what was made so far, by step."""

    sandbox: Sandbox
    plan: MemoryPlan
    steps: dict[str, Step]
    kinds: dict[str, Kind]
    shared: Shared
    owner: Owner
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sandbox: Sandbox, path: Path) -> Bench:
        """Connect to the stand-in and run the read-only checks for the agent at `path`."""
        plan = resolve_path(path, network_env=sandbox.network_env())
        cloud = CLOUDS[plan.cloud]
        provider = cloud.open(
            account=cloud.account_in(plan),
            region=plan.region,
            clock=sandbox.clock,
            cancel=threading.Event(),
            secrets=secrets_of(plan),
        )
        checks = provider.check(plan)
        assert not checks.problems
        return cls(
            sandbox=sandbox,
            plan=plan,
            steps={s.id: s for s in in_order(cloud.steps_for(plan))},
            kinds=dict(provider.kinds()),
            shared=Shared.begin(sandbox.clock, secrets=secrets_of(plan)),
            owner=Owner(agent=plan.agent, team=plan.team, lineage=str(uuid4())),
            outputs={PREFLIGHT: checks.facts},
        )

    def kind(self, step: str) -> Kind:
        """The code for the step's resource type."""
        return self.kinds[self.steps[step].kind]

    def target(self, step: str, *, made: bool = False, owner: Owner | None = None) -> Target:
        """The step's target, its inputs resolved; with `made` it carries the recorded id and outputs."""
        one = self.steps[step]
        target = Target(
            step_id=step, name=one.name, owner=owner or self.owner, inputs=resolve_refs(one.inputs, self.outputs)
        )
        if not made:
            return target
        return replace(target, physical_id=self.ids[step], outputs=self.outputs.get(step, {}))

    def run(self, step: str) -> Run:
        """A fresh run of the step, as the engine makes one."""
        one = self.steps[step]
        return Run(self.shared, step=step, name=one.name, timeout_s=one.timeout_s, since=self.sandbox.clock.now())

    def make_needs(self, step: str) -> None:
        """Everything that the step needs, made and ready."""
        for other in self.steps[step].needs:
            if other not in self.outputs:
                self.make(other)

    def make(self, step: str) -> None:
        """The step and all that it needs, made and ready."""
        self.make_needs(step)
        self.create(step)
        self.wait(step)

    def create(self, step: str, *, owner: Owner | None = None) -> str:
        """Only the create, in the way of the engine: asked again while the cloud is busy."""
        target, run = self.target(step, owner=owner), self.run(step)
        self.ids[step] = run.until(lambda: unless_busy(lambda: self.kind(step).create(target, run)))
        return self.ids[step]

    def wait(self, step: str) -> dict[str, Any]:
        """Until it is ready; its outputs."""
        self.outputs[step] = self.kind(step).wait_ready(self.target(step, made=True), self.run(step))
        return self.outputs[step]

    def delete(self, step: str) -> None:
        """Delete and wait, in the way of the engine."""
        target, run, kind = self.target(step, made=True), self.run(step), self.kind(step)
        run.until(lambda: unless_busy(lambda: kind.delete(target, run)))
        kind.wait_gone(target, run)


def unless_busy(act: Any) -> Any:
    """The act's answer, or a reason to ask again."""
    from agentbreeder_provisioners.engine.kinds import Busy
    from agentbreeder_provisioners.engine.run import NotYet

    try:
        return act()
    except Busy as e:
        return NotYet(e.detail)
