"""Teardown, one resource: `deleting` on disk, the delete, the wait, then forgotten. From the record alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentbreeder_core.errors import AgentBreederError, Drifted
from agentbreeder_core.events import Note, StepDone, StepStarted
from agentbreeder_state.record import Resource

from .failures import report_failure
from .kinds import Busy, Kind, NotFound, Target, target_of
from .ownership import Owner, unreadable, whose
from .recorder import Recorder
from .run import NotYet, Run, Shared


@dataclass(slots=True, kw_only=True)
class Destroyer:
    """Deletes recorded resources. Whatever is not recorded as this agent's, or not tagged as ours, is left alone.

    `kept` collects what survives on purpose (final snapshots).
    """

    kinds: Mapping[str, Kind]
    recorder: Recorder
    shared: Shared
    owner: Owner
    kept: list[str]

    def protection(self, resource: Resource) -> str:
        """Why the cloud would refuse to delete it, or "". Read-only; something already gone is not protected."""
        if not resource.physical_id:
            return ""
        try:
            return self.kinds[resource.kind].protection(target_of(resource, self.owner), self._run(resource))
        except NotFound:
            return ""

    def destroy(self, step_id: str) -> None:
        """Delete one recorded resource and forget it once the cloud says it is gone. Blocks up to the kind's limit.

        Raises a `CloudError` (recorded; the resource stays) or a `StateError` when saving failed.
        """
        resource = self.recorder.resource(step_id)
        if resource is None:
            return
        run = self._run(resource)
        try:
            outcome = self._destroy(resource, run)
        except AgentBreederError as e:
            report_failure(self.shared, self.recorder, step_id, resource.name, e)
            raise
        self.shared.emit(StepDone, step=step_id, name=resource.name, outcome=outcome, elapsed_s=run.elapsed_s())

    def _destroy(self, resource: Resource, run: Run) -> str:
        self.shared.emit(StepStarted, step=resource.step_id, name=resource.name, action="delete")
        kind = self.kinds[resource.kind]
        physical_id = self._find_ours(kind, resource, run)
        if not physical_id:
            self.recorder.remove(resource.step_id)
            return "already gone"
        resource = replace(resource, physical_id=physical_id)
        outputs = self._final_outputs(kind, resource, run)
        resource = self.recorder.put(replace(resource, phase="deleting", outputs=outputs))
        target = target_of(resource, self.owner)
        outcome = run.until(lambda: self._delete(kind, target, run), first_s=2.0)
        if outcome == "deleted":
            kind.wait_gone(target, run)
        if resource.outputs.get("final_snapshot"):
            self.kept.append(str(resource.outputs["final_snapshot"]))
        self.recorder.remove(resource.step_id)
        return outcome

    def _find_ours(self, kind: Kind, resource: Resource, run: Run) -> str:
        """The id of what stands in the cloud, "" when there is nothing of ours.

        Asked for every resource: an intent may or may not have been carried out, and under a recorded name somebody
        may have put a thing of their own since. What was just made may become visible late, so absence must last.
        Raises `Drifted` for one without any tags: nothing proves that it is ours, and nothing that it is not.
        """

        def look() -> str | NotYet:
            found = kind.find(target_of(resource, self.owner), run)
            if found is None:
                return NotYet("making sure that nothing is there") if run.in_grace() else ""
            if found.state == "scheduled":
                return ""
            if found.state == "present" and unreadable(found.tags):
                if run.in_grace():
                    return NotYet("waiting until its tags can be read")
                raise _untagged(resource)
            if found.state == "present" and not self.owner.owns(found.tags):
                message = f"{resource.step_id}: {resource.name!r} is not this agent's any more ({whose(found.tags)}); left alone"
                self.shared.emit(Note, level="warning", message=message)
                return ""
            return found.physical_id

        return run.until(look)

    def _final_outputs(self, kind: Kind, resource: Resource, run: Run) -> dict[str, object]:
        try:
            return kind.final_outputs(target_of(resource, self.owner), run)
        except NotFound:
            return dict(resource.outputs)

    def _delete(self, kind: Kind, target: Target, run: Run) -> str | NotYet:
        try:
            kind.delete(target, run)
        except NotFound:
            return "already gone"
        except Busy as e:
            return NotYet(f"waiting to delete: {e.detail}")
        return "deleted"

    def _run(self, resource: Resource) -> Run:
        since = resource.created_at or resource.updated_at
        timeout_s = self.kinds[resource.kind].delete_timeout_s
        return Run(self.shared, step=resource.step_id, name=resource.name, timeout_s=timeout_s, since=since)


def _untagged(resource: Resource) -> Drifted:
    return Drifted(
        f"{resource.step_id}: {resource.name!r} stands, but carries no tags any more, so it is not deleted; it stays recorded",
        hint="if it is this agent's, put its tags back or delete it by hand; then run the same command again",
    )
