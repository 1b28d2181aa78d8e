"""What a failed step leaves: an event for who watches, and the last error in its record."""

from __future__ import annotations

from agentbreeder_core.errors import AgentBreederError, CloudError
from agentbreeder_core.events import StepFailed

from .recorder import Recorder
from .run import Shared


def report_failure(shared: Shared, recorder: Recorder, step_id: str, name: str, error: AgentBreederError) -> None:
    """Emit `StepFailed`. A cloud's error is recorded too; one of the state itself is not: saving is what failed."""
    detail = error.detail or error.summary
    shared.emit(StepFailed, step=step_id, name=name, code=error.code, message=detail)
    recorded = recorder.resource(step_id)
    if recorded is not None and isinstance(error, CloudError):
        recorder.move(step_id, recorded.phase, last_error=f"{error.code}: {detail}")
