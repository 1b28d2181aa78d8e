"""What the simple kinds share: nothing protects them, and a delete that was accepted is the end of them."""

from __future__ import annotations

from typing import Any

from .kinds import Found, Target
from .run import Run


class SimpleKind:
    """Defaults for resources without deletion protection, deleted at once. See `engine.kinds.Kind` for the contract."""

    delete_timeout_s = 1200.0

    def protection(self, target: Target, run: Run) -> str:
        """Nothing protects it."""
        return ""

    def wait_gone(self, target: Target, run: Run) -> None:
        """The cloud deletes it before it answers."""

    def final_outputs(self, target: Target, run: Run) -> dict[str, Any]:
        """Nothing to add before it goes."""
        return dict(target.outputs)

    def drift(self, target: Target, run: Run) -> str:
        """Nothing about it is compared beyond presence and tags."""
        return ""


class PartKind(SimpleKind):
    """For what lives inside another resource, carries no tags of its own, and goes with it (`Step.part_of`)."""

    def delete(self, target: Target, run: Run) -> None:
        """Goes with what it is part of."""

    def recorded(self, target: Target) -> Found | None:
        """What a kind answers to `find` once its id is recorded: the parent decides whether it still stands."""
        if not target.physical_id:
            return None
        return Found(physical_id=target.physical_id, tags=target.owner.tags())
