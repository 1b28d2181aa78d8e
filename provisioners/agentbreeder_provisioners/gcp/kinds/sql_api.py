"""The few Cloud SQL calls that its kinds share. `sqladmin` v1 over plain REST: the client library speaks gRPC only."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import CloudError

from ...engine.kinds import Target
from ..clients import GcpClients
from ..errors import failed_operation


class SqlApi:
    """Paths and answers of one project's Cloud SQL. Blocks and raises like `GcpClients.rest`."""

    def __init__(self, gcp: GcpClients) -> None:
        self._gcp = gcp

    def get_instance(self, project: str, name: str) -> dict[str, Any]:
        """The `sql#instance`."""
        return self._gcp.rest("sql", "instances.get", "GET", self._path(project, name))

    def insert_instance(self, project: str, body: dict[str, Any]) -> dict[str, Any]:
        """Start making one; the `sql#operation`."""
        return self._gcp.rest("sql", "instances.insert", "POST", f"/v1/projects/{project}/instances", body=body)

    def delete_instance(self, project: str, name: str, **params: Any) -> dict[str, Any]:
        """Start deleting one; the `sql#operation`."""
        return self._gcp.rest("sql", "instances.delete", "DELETE", self._path(project, name), params=params)

    def get_database(self, project: str, instance: str, name: str) -> dict[str, Any]:
        """The `sql#database`."""
        return self._gcp.rest("sql", "databases.get", "GET", f"{self._path(project, instance)}/databases/{name}")

    def insert_database(self, project: str, instance: str, name: str) -> dict[str, Any]:
        """Start making one; the `sql#operation`."""
        body = {"name": name, "instance": instance, "project": project}
        return self._gcp.rest(
            "sql", "databases.insert", "POST", f"{self._path(project, instance)}/databases", body=body
        )

    def user_names(self, project: str, instance: str) -> list[str]:
        """Names of the users; an empty list comes without `items`."""
        answer = self._gcp.rest("sql", "users.list", "GET", f"{self._path(project, instance)}/users")
        return [str(u["name"]) for u in answer.get("items", ())]

    def insert_user(self, project: str, instance: str, body: dict[str, Any]) -> dict[str, Any]:
        """Start making one; the `sql#operation`, often `DONE` in the first answer (facts, section 3.1)."""
        return self._gcp.rest("sql", "users.insert", "POST", f"{self._path(project, instance)}/users", body=body)

    def ask(self, target: Target, operation: str) -> tuple[bool, CloudError | None]:
        """(whether it is over, what it ended with). There is no `done`: a failure is `DONE` with `error`."""
        project, step = target.inputs["project"], target.step_id
        answer = self._gcp.rest(
            "sql", "operations.get", "GET", f"/v1/projects/{project}/operations/{operation}", retry=False
        )
        if answer.get("status") != "DONE":
            return False, None
        return True, self.error_in(answer, step)

    def error_in(self, operation: dict[str, Any], step: str) -> CloudError | None:
        """The error a finished operation carries; its message may be missing."""
        errors = operation.get("error", {}).get("errors", ())
        if not errors:
            return None
        first = errors[0]
        return failed_operation(
            step, str(first.get("code", "UNKNOWN")), self._gcp.caller.cut(str(first.get("message", "")))
        )

    def _path(self, project: str, instance: str) -> str:
        return f"/v1/projects/{project}/instances/{instance}"
