"""What the engine asks of the code for one resource type, and the few answers a cloud can give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentbreeder_core.errors import CloudError
from agentbreeder_state.record import Resource

from .ownership import Owner

if TYPE_CHECKING:
    from .run import Run


class NotFound(CloudError):
    """The cloud says there is no such resource. Success for a delete, a question for a wait."""

    summary = "the resource does not exist"


class AlreadyExists(CloudError):
    """A create met its own name: a lost reply, an earlier run, or somebody else. Only tags can tell."""

    summary = "the resource exists already"


class NameReserved(CloudError):
    """A create met a name that nothing carries: a deleted resource still holds it. The next generation is free."""

    summary = "a deleted resource still holds the name"


class Busy(CloudError):
    """In use, or in a state that does not allow this yet. Worth asking again until the deadline."""

    summary = "the resource is in use or busy"


class Transient(CloudError):
    """Throttling, a lost connection or a server error that outlasted the short retries of one call."""

    summary = "the cloud did not answer properly"


FoundState = Literal["present", "deleting", "scheduled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stands in the cloud under our name. `scheduled`: deleted, but the name is held and it can be restored."""

    physical_id: str
    tags: Mapping[str, str]
    state: FoundState = "present"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One resource to work on. `physical_id` is "" while only the name is known. `inputs` are resolved (no `Ref`)."""

    step_id: str
    name: str
    owner: Owner
    physical_id: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)


def target_of(resource: Resource, owner: Owner) -> Target:
    """The target that a recorded resource is."""
    return Target(
        step_id=resource.step_id,
        name=resource.name,
        owner=owner,
        physical_id=resource.physical_id,
        inputs=resource.inputs,
        outputs=resource.outputs,
    )


class Kind(Protocol):
    """One resource type. Idempotent, keeps no state, prints nothing; every wait goes through `run`.

    Any method may raise `AuthError`, `QuotaError` or `CloudError`. NotFound is never guessed from a refusal.
    `delete_timeout_s` bounds one teardown of it, in seconds.
    """

    delete_timeout_s: float

    def find(self, target: Target, run: Run) -> Found | None:
        """What stands under `target.name` (or its physical id), whoever owns it. Read-only. None: surely nothing."""
        ...

    def create(self, target: Target, run: Run) -> str:
        """Ask the cloud to make it, tags in the same call; return the physical id at once.

        Raises `AlreadyExists` when the name is taken, by us or others; `NameReserved` when nothing carries it and it is
        not free all the same. A `scheduled` one of ours is restored instead.
        """
        ...

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Bring it to use and return its outputs. Blocks up to the step's deadline.

        Raises `NotFound` when it stays invisible past the grace time, `ResourceFailed` when the cloud gave up on it.
        """
        ...

    def protection(self, target: Target, run: Run) -> str:
        """Why it must not be deleted now, with the setting to change; "" when nothing protects it. Read-only."""
        ...

    def delete(self, target: Target, run: Run) -> None:
        """Ask the cloud to delete it. Deleting what is gone or already on its way is success."""
        ...

    def wait_gone(self, target: Target, run: Run) -> None:
        """Block until it is gone, or until the deadline (`StepTimeout`)."""
        ...

    def final_outputs(self, target: Target, run: Run) -> dict[str, Any]:
        """What to record before deleting, such as the name of a final snapshot. Usually the outputs as they are."""
        ...

    def drift(self, target: Target, run: Run) -> str:
        """How what stands differs from what was asked for, in a few words; "" when it does not. Read-only."""
        ...
