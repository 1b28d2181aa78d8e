"""The runtime's right to read one secret: a binding in that secret's own policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.kinds import Busy, Found, NotFound, Target
from ...engine.run import NotYet, Run
from .base import GcpPart

ROLE = "roles/secretmanager.secretAccessor"


class SecretAccess(GcpPart):
    """Inputs: `secret`, `member`. Only this member's binding is added and removed; everything else in the policy stays.

    A write replaces the whole policy, so it carries the etag of what was read and is done again when another was quicker.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """There when the policy binds the member to the role."""
        if not target.inputs.get("secret"):
            return None
        try:
            policy = self._policy(target)
        except NotFound:
            return None
        return Found(physical_id=self._id(target), tags=target.owner.tags()) if self._bound(policy, target) else None

    def create(self, target: Target, run: Run) -> str:
        """Read, add, write with the etag."""
        self._change(target, run, self._add)
        return self._id(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Written is enough: Google says that it takes minutes to count everywhere, and only the container can tell."""
        return {}

    def delete(self, target: Target, run: Run) -> None:
        """Read, remove our member, write with the etag."""
        self._change(target, run, self._remove)

    def _change(self, target: Target, run: Run, change: Callable[[Any, Target], bool]) -> None:
        def attempt() -> bool | NotYet:
            policy = self._policy(target)
            if not change(policy, target):
                return True
            client = self._gcp.secretmanager
            request = {"resource": target.inputs["secret"], "policy": policy}
            try:
                self._gcp.gapic("secretmanager.secrets.setIamPolicy", client.set_iam_policy, request)
            except Busy:
                return NotYet("somebody else changed the secret's policy; reading it again")
            return True

        run.until(attempt, first_s=1.0)

    def _policy(self, target: Target) -> Any:
        client = self._gcp.secretmanager
        request = {"resource": target.inputs["secret"], "options": {"requested_policy_version": 3}}
        return self._gcp.gapic("secretmanager.secrets.getIamPolicy", client.get_iam_policy, request)

    def _bound(self, policy: Any, target: Target) -> bool:
        return any(_is_ours(b) and target.inputs["member"] in b.members for b in policy.bindings)

    def _add(self, policy: Any, target: Target) -> bool:
        if self._bound(policy, target):
            return False
        policy.bindings.add(role=ROLE, members=[target.inputs["member"]])
        return True

    def _remove(self, policy: Any, target: Target) -> bool:
        if not self._bound(policy, target):
            return False
        for binding in policy.bindings:
            if _is_ours(binding) and target.inputs["member"] in binding.members:
                binding.members.remove(target.inputs["member"])
        kept = [b for b in policy.bindings if b.members]
        del policy.bindings[:]
        policy.bindings.extend(kept)
        return True

    def _id(self, target: Target) -> str:
        return f"{target.inputs['secret']}#{target.inputs['member']}"


def _is_ours(binding: Any) -> bool:
    return bool(binding.role == ROLE and not binding.condition.expression)
