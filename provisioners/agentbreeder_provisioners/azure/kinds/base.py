"""What the Azure kinds share: resources with an ARM id, found by it, followed by their operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agentbreeder_core.errors import ResourceFailed

from ...engine.kinds import AlreadyExists, Busy, Found, NameReserved, NotFound, Target
from ...engine.run import NotYet, Run
from ...engine.simple_kind import SimpleKind
from ..clients import AzureClients
from ..names import resource_id
from .tags import from_azure

_DELETING = frozenset({"Deleting", "Dropping"})


class AzureKind(SimpleKind):
    """An Azure resource type without deletion protection, unless it says otherwise."""

    def __init__(self, clients: AzureClients) -> None:
        self._az = clients


class ArmKind(AzureKind):
    """A resource of ARM. A PUT there replaces what stands under the name, so every create looks first."""

    arm_type: ClassVar[str]
    ready_states: ClassVar[frozenset[str]] = frozenset({"Succeeded"})
    failed_states: ClassVar[frozenset[str]] = frozenset({"Failed", "Canceled"})

    def read(self, target: Target) -> dict[str, Any]:
        """The document as GET answers it. Raises `NotFound`."""
        raise NotImplementedError

    def start_delete(self, target: Target) -> None:
        """Ask for its deletion; `Busy` when it does not allow this yet."""
        raise NotImplementedError

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """What later steps read of one that is ready."""
        raise NotImplementedError

    def state_of(self, document: dict[str, Any]) -> str:
        """The one field that says whether it can be used."""
        return str((document.get("properties") or {}).get("provisioningState") or "")

    def id_of(self, target: Target) -> str:
        """The recorded id, or the one that the name gives."""
        group = str(target.inputs["resource_group"])
        return target.physical_id or resource_id(self._az.subscription, group, self.arm_type, target.name)

    def find(self, target: Target, run: Run) -> Found | None:
        """By id; its tags come in the same answer."""
        try:
            document = self.read(target)
        except NotFound:
            return None
        deleting = self.state_of(document) in _DELETING
        return Found(
            physical_id=self.id_of(target),
            tags=from_azure(document.get("tags")),
            state="deleting" if deleting else "present",
        )

    def refuse_taken(self, target: Target) -> None:
        """Raises `AlreadyExists` when something stands under the name, whoever's it is."""
        try:
            self.read(target)
        except NotFound:
            return
        raise AlreadyExists(f"{target.name} exists")

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Follow the operation while this process knows it; in the end the resource itself decides, because an
        operation can be over before the resource runs (facts, section 2)."""

        def look() -> dict[str, Any] | NotYet:
            note = self._az.follow(self.id_of(target))
            if note:
                return NotYet(note)
            document = self.read(target)
            state = self.state_of(document)
            if state in self.failed_states or state in _DELETING:
                raise ResourceFailed(
                    f"{target.step_id}: Azure reports {target.name} as {state!r}",
                    hint="see its activity log in the portal; agentbreeder teardown removes it",
                )
            if state not in self.ready_states:
                return NotYet(state or "waiting for its state")
            return self.outputs_of(target, document)

        return run.until(look)

    def delete(self, target: Target, run: Run) -> None:
        """Accepted and not over yet; one that is on its way already is left to go."""
        try:
            self.start_delete(target)
        except Busy:
            if self.state_of(self.read(target)) not in _DELETING:
                raise

    def wait_gone(self, target: Target, run: Run) -> None:
        """Until GET does not know it any more."""

        def look() -> bool | NotYet:
            try:
                note = self._az.follow(self.id_of(target))
                return NotYet(note or self.state_of(self.read(target)) or "being deleted")
            except NotFound:
                return True
            except Busy as e:
                # The operation had to give way to another one: asked for again.
                self._delete_again(target, run)
                return NotYet(e.detail)

        run.until(look)

    def _delete_again(self, target: Target, run: Run) -> None:
        try:
            self.delete(target, run)
        except Busy:
            return  # the next look asks again

    def drift(self, target: Target, run: Run) -> str:
        """Compares the state, and what the kind names in `wanted`."""
        document = self.read(target)
        state = self.state_of(document)
        changed = [] if state in self.ready_states else [f"state is {state!r}"]
        wanted, is_now = self.wanted(target), self.settings(document)
        changed += [f"{k} is {is_now.get(k)!r}, made as {v!r}" for k, v in wanted.items() if is_now.get(k) != v]
        return "; ".join(changed)

    def wanted(self, target: Target) -> dict[str, Any]:
        """What was asked for, by the names of `settings`."""
        return {}

    def settings(self, document: dict[str, Any]) -> dict[str, Any]:
        """What stands, of the things that `wanted` names."""
        return {}


def name_taken(target: Target, run: Run, error: AlreadyExists) -> AlreadyExists | NameReserved:
    """A name of all of Azure is refused, and nothing of ours stands under it.

    It may be our own lost call that is not visible yet, so for the grace time it is looked at again. After that it is
    somebody else's, or a deleted one is not let go yet: the next generation of the name is free.
    """
    if run.in_grace():
        return error
    return NameReserved(f"{target.step_id}: the name {target.name!r} is taken or still held in Azure ({error.detail})")


def again_when_busy(run: Run, ask: Callable[[], dict[str, Any] | NotYet], put: Callable[[], None]) -> dict[str, Any]:
    """Wait with `ask`; when an accepted change failed because the server was at another one, `put` it again."""

    def look() -> dict[str, Any] | NotYet:
        try:
            return ask()
        except Busy as e:
            return _put_again(put, e.detail)

    return run.until(look)


def _put_again(put: Callable[[], None], note: str) -> NotYet:
    try:
        put()
    except Busy:
        return NotYet(f"waiting: {note}")
    return NotYet(f"asked again: {note}")
