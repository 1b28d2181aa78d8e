"""`--recreate-missing`: forget what somebody deleted, so that the run makes it anew."""

from __future__ import annotations

from collections.abc import Sequence

from agentbreeder_core.errors import Drifted

from .engine.recorder import Recorder
from .engine.steps import Step


def forget_missing(recorder: Recorder, steps: Sequence[Step], missing: Sequence[Step], allowed: bool) -> None:
    """Drop the records of missing resources, and of the parts that were written from their outputs.

    Raises `Drifted`, changing nothing, when something that still exists was built on a missing resource: making, say,
    a new password secret beside the old database would leave the two apart.
    """
    gone = {s.id for s in missing}
    if not allowed or not gone:
        return
    for step in steps:
        broken = gone.intersection(step.needs)
        if broken and step.id not in gone and not step.part_of and recorder.resource(step.id):
            raise Drifted(
                f"{', '.join(sorted(broken))} is gone, but {step.id} ({step.name}) that was built on it still exists",
                hint=f"agentbreeder teardown {recorder.record.agent}, then deploy",
            )
    for step in steps:
        if step.id in gone or (step.part_of and gone.intersection({step.part_of, *step.needs})):
            recorder.remove(step.id)
