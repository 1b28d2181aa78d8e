"""Deploy, one step: intent on disk, then the call, then what came of it on disk, then the wait.

Killed at any point, a rerun finds out what happened by name and tags, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentbreeder_core.errors import AgentBreederError, Drifted, NameTaken
from agentbreeder_core.events import StepDone, StepStarted
from agentbreeder_state.record import Resource

from .failures import report_failure
from .kinds import AlreadyExists, Busy, Kind, NameReserved, NotFound, Target, target_of
from .naming import next_generation
from .ownership import Owner, unreadable, whose
from .recorder import Recorder
from .run import NotYet, Run, Shared
from .steps import PREFLIGHT, Step, resolve_refs


@dataclass(slots=True, kw_only=True)
class Applier:
    """Brings one step after another to `ready`. `absent` are step ids whose name was just seen to be free.

    With `adopting`, what is found instead of made is recorded as `adopted`: another state made it.
    """

    kinds: Mapping[str, Kind]
    recorder: Recorder
    shared: Shared
    owner: Owner
    account: str
    region: str
    facts: Mapping[str, Any]
    absent: Collection[str]
    adopting: bool = False
    changed: bool = False

    def apply(self, step: Step) -> None:
        """Make the step's resource ready, whatever earlier runs left. Blocks up to the step's deadline.

        Raises a `CloudError` (recorded as the resource's last error) or a `StateError` when saving failed.
        """
        recorded = self.recorder.resource(step.id)
        since = recorded.created_at if recorded else None
        run = Run(self.shared, step=step.id, name=step.name, timeout_s=step.timeout_s, since=since)
        if recorded and recorded.phase == "ready" and not step.always:
            self._restore_use(recorded)
            self.shared.emit(StepDone, step=step.id, name=recorded.name, outcome="unchanged", elapsed_s=0.0)
            return
        try:
            outcome = self._bring(step, recorded, run)
        except AgentBreederError as e:
            report_failure(self.shared, self.recorder, step.id, step.name, e)
            raise
        self.shared.emit(StepDone, step=step.id, name=step.name, outcome=outcome, elapsed_s=run.elapsed_s())

    def _bring(self, step: Step, recorded: Resource | None, run: Run) -> str:
        kind = self.kinds[step.kind]
        if recorded and recorded.phase == "ready":
            return self._recheck(kind, recorded, run)
        action = "resume" if recorded and recorded.physical_id else "create"
        self.shared.emit(StepStarted, step=step.id, name=step.name, action=action)
        inputs = resolve_refs(step.inputs, {PREFLIGHT: dict(self.facts), **self.recorder.outputs()})
        resource = self._intend(step, recorded, inputs)
        target = replace(target_of(resource, self.owner), inputs=inputs)
        outcome = "found"
        if not resource.physical_id:
            physical_id, outcome = self._find_or_create_any(kind, step, target, run)
            resource = self.recorder.move(
                step.id,
                "created",
                physical_id=physical_id,
                created_at=self.shared.clock.now(),
                ownership="adopted" if self.adopting and outcome == "found" else resource.ownership,
                last_error="",
            )
            self.changed = True
        target = replace(target, name=resource.name, physical_id=resource.physical_id)
        run = Run(self.shared, step=step.id, name=step.name, timeout_s=step.timeout_s, since=resource.created_at)
        self.recorder.move(step.id, "ready", outputs=self._wait(kind, target, run), last_error="")
        self.changed = True
        return outcome

    def _wait(self, kind: Kind, target: Target, run: Run) -> dict[str, Any]:
        try:
            return kind.wait_ready(target, run)
        except NotFound as e:
            raise Drifted(
                f"{target.step_id} ({target.name}) was created and is gone now: somebody deleted it",
                hint="agentbreeder deploy --recreate-missing makes it anew, empty",
            ) from e

    def _recheck(self, kind: Kind, recorded: Resource, run: Run) -> str:
        outputs = self._wait(kind, target_of(recorded, self.owner), run)
        self._restore_use(recorded)
        if outputs == recorded.outputs:
            return "unchanged"
        self.recorder.move(recorded.step_id, "ready", outputs=outputs)
        self.changed = True
        return "updated"

    def _restore_use(self, recorded: Resource) -> None:
        if recorded.unused:
            self.recorder.move(recorded.step_id, recorded.phase, unused=False)

    def _intend(self, step: Step, recorded: Resource | None, inputs: dict[str, Any]) -> Resource:
        if recorded and recorded.phase == "created":
            return recorded
        base = recorded or Resource(
            step_id=step.id, kind=step.kind, name=step.name, account=self.account, region=self.region
        )
        # A resource half torn down keeps its record; what still stands is found again by name and tags.
        return self.recorder.put(
            replace(
                base,
                needs=step.needs,
                inputs=inputs,
                physical_id="",
                outputs={},
                phase="intent",
                unused=False,
            )
        )

    def _find_or_create_any(self, kind: Kind, step: Step, target: Target, run: Run) -> tuple[str, str]:
        """Under the recorded name, or the first later generation of it that no deleted resource holds."""
        known_absent = step.id in self.absent
        while True:
            try:
                return self._find_or_create(kind, target, run, known_absent=known_absent)
            except NameReserved:
                known_absent = False
                resource = self.recorder.move(step.id, "intent", name=next_generation(target.name))
                target = replace(target, name=resource.name)

    def _find_or_create(self, kind: Kind, target: Target, run: Run, *, known_absent: bool) -> tuple[str, str]:
        def attempt() -> tuple[str, str] | NotYet:
            nonlocal known_absent
            found = None if known_absent else kind.find(target, run)
            known_absent = False
            if found and found.state == "deleting":
                # Whoever's it was: nothing is done to it, the name becomes free when it is gone.
                kind.wait_gone(replace(target, physical_id=found.physical_id), run)
                found = None
            if found and found.state == "present":
                # Something came under our name since the survey saw it free, most likely by our own lost call.
                if unreadable(found.tags) and run.in_grace():
                    return NotYet("it exists; waiting until its tags can be read")
                self._must_be_ours(target, found.tags)
                return found.physical_id, "found"
            try:
                return kind.create(target, run), "created"
            except AlreadyExists:
                # A lost reply, or somebody was quicker: only the tags can tell, so look again.
                return NotYet("the name exists; asking whose it is")
            except Busy as e:
                return NotYet(f"waiting to create: {e.detail}")

        return run.until(attempt, first_s=1.0)

    def _must_be_ours(self, target: Target, tags: Mapping[str, str]) -> None:
        if not self.owner.owns(tags):
            self.recorder.remove(target.step_id)
            raise NameTaken(
                f"{target.step_id}: {target.name!r} exists and is not this agent's: {whose(tags)}; nothing was changed",
                hint="rename the agent, or see whose it is in the cloud's console",
            )
