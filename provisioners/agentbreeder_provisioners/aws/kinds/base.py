"""What the simple AWS kinds share: nothing protects them, and a delete that was accepted is the end of them."""

from __future__ import annotations

from typing import Any

from ...engine.kinds import Target
from ...engine.run import Run
from ..clients import AwsClients


class SimpleKind:
    """Defaults for resources without deletion protection, deleted at once. See `engine.kinds.Kind` for the contract."""

    delete_timeout_s = 1200.0

    def __init__(self, clients: AwsClients) -> None:
        self._aws = clients

    def protection(self, target: Target, run: Run) -> str:
        """Nothing protects it."""
        return ""

    def wait_gone(self, target: Target, run: Run) -> None:
        """AWS deletes it before it answers."""

    def final_outputs(self, target: Target, run: Run) -> dict[str, Any]:
        """Nothing to add before it goes."""
        return dict(target.outputs)

    def drift(self, target: Target, run: Run) -> str:
        """Nothing about it is compared beyond presence and tags."""
        return ""
