"""The right to read or write secrets, given to one identity at one scope. Through ARM itself: no package is worth it."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from agentbreeder_core.events import Note

from ...engine.kinds import AlreadyExists, Found, NotFound, Target
from ...engine.run import Run
from ...engine.simple_kind import PartKind
from ..clients import AzureClients
from ..names import same_id

API_VERSION = "2022-04-01"
_TYPE = "Microsoft.Authorization/roleAssignments"


class RoleAssignment(PartKind):
    """Inputs: `scope`, `role` (a built-in role's id), `principal_id`, `principal_type`. Outputs: `granted_at`.

    Its id is computed from these and our lineage, so nobody else's can have it: assignments carry no tags. One that was
    there already, under another id, is used and never deleted.
    """

    def __init__(self, clients: AzureClients) -> None:
        self._az = clients

    def find(self, target: Target, run: Run) -> Found | None:
        """By the id that only ours has, or the recorded one."""
        if not target.inputs.get("scope"):
            return self.recorded(target)
        try:
            self._read(target.physical_id or self._own_id(target))
        except NotFound:
            return None
        return Found(physical_id=target.physical_id or self._own_id(target), tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """The principal's type is sent: a new identity is not found in the directory yet (facts, section 6)."""
        i, own = target.inputs, self._own_id(target)
        definition = (
            f"/subscriptions/{self._az.subscription}/providers/Microsoft.Authorization/roleDefinitions/{i['role']}"
        )
        properties = {
            "roleDefinitionId": definition,
            "principalId": i["principal_id"],
            "principalType": i["principal_type"],
        }
        try:
            self._az.request("PUT", own, api_version=API_VERSION, json={"properties": properties})
        except AlreadyExists:
            return self._existing(target)
        return own

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """It is there at once and has no effect for minutes: whoever needs it asks again, counting from `granted_at`."""
        document = run.until(lambda: self._read(target.physical_id))
        granted = str((document.get("properties") or {}).get("createdOn") or "")
        return {"granted_at": granted}

    def delete(self, target: Target, run: Run) -> None:
        """Ours only."""
        if not same_id(target.physical_id, self._own_id(target)):
            message = f"a role assignment on {target.inputs['scope']} was there before and stays"
            run.shared.emit(Note, level="info", message=message)
            return
        self._az.request("DELETE", target.physical_id, api_version=API_VERSION)

    def _own_id(self, target: Target) -> str:
        i = target.inputs
        scope = str(i["scope"])
        parts = (scope.casefold(), str(i["principal_id"]).casefold(), str(i["role"]), target.owner.lineage)
        return f"{scope}/providers/{_TYPE}/{uuid5(NAMESPACE_URL, '|'.join(parts))}"

    def _existing(self, target: Target) -> str:
        """The same right, given by somebody else under another id."""
        i = target.inputs
        path = f"{i['scope']}/providers/{_TYPE}?$filter=principalId eq '{i['principal_id']}'"
        for item in self._az.listed(path, api_version=API_VERSION):
            p = item.get("properties") or {}
            role = str(p.get("roleDefinitionId") or "").rpartition("/")[2]
            if same_id(str(p.get("scope") or ""), str(i["scope"])) and role.casefold() == str(i["role"]).casefold():
                return str(item["id"])
        raise AlreadyExists(f"{target.step_id}: the role is assigned already, but it is not listed yet")

    def _read(self, assignment_id: str) -> dict[str, Any]:
        return self._az.request("GET", assignment_id, api_version=API_VERSION).body
