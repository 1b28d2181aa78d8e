"""The database and the user inside a Cloud SQL instance. Both go with it; Google changes one thing at a time (`Busy`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from agentbreeder_core.errors import CloudError

from ...engine.kinds import AlreadyExists, Busy, Found, NotFound, Target
from ...engine.run import NotYet, Run
from ..clients import GcpClients
from .base import GcpPart
from .operations import Operations
from .sql_api import SqlApi
from .vault import read_version


class SqlPart(GcpPart):
    """What the two share. Google answers an existing name with a plain 400, so whether it is there is always asked."""

    def __init__(self, clients: GcpClients) -> None:
        super().__init__(clients)
        self._sql = SqlApi(clients)
        self._operations = Operations(self._sql.ask)

    @abstractmethod
    def find(self, target: Target, run: Run) -> Found | None:
        """See `Kind`."""

    def _exists_or(self, error: CloudError, target: Target, run: Run) -> CloudError:
        """The error, unless the thing is there: then the refused call was one whose first reply was lost."""
        if isinstance(error, Busy) or self.find(target, run) is None:
            return error
        return AlreadyExists(f"{target.step_id}: {target.name} exists")


class SqlDatabase(SqlPart):
    """Inputs: `project`, `instance`. Output: `name`."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By name, inside the recorded instance."""
        if target.physical_id or not target.inputs.get("instance"):
            return self.recorded(target)
        try:
            self._sql.get_database(target.inputs["project"], target.inputs["instance"], target.name)
        except NotFound:
            return None
        return Found(physical_id=_id(target), tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """Google's own default for the character set is UTF8."""
        try:
            operation = self._sql.insert_database(target.inputs["project"], target.inputs["instance"], target.name)
        except CloudError as e:
            raise self._exists_or(e, target, run) from e
        self._operations.started(_id(target), str(operation["name"]))
        return _id(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Seconds."""
        i = target.inputs

        def look() -> dict[str, Any] | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("creating the database")
            try:
                return {"name": self._sql.get_database(i["project"], i["instance"], target.name)["name"]}
            except NotFound:
                self._operations.raise_error_of(target.physical_id)
                raise

        return run.until(look, first_s=1.0)


class SqlUser(SqlPart):
    """Inputs: `project`, `instance`, `password_version`. Output: `name`."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By name in the list of users. Its password is the vault's: nobody else makes users in an instance of ours."""
        if target.physical_id or not target.inputs.get("instance"):
            return self.recorded(target)
        try:
            there = self._is_there(target)
        except NotFound:
            return None
        return Found(physical_id=_id(target), tags=target.owner.tags()) if there else None

    def create(self, target: Target, run: Run) -> str:
        """The password is read from the vault, where an earlier step put it, and goes nowhere else."""
        password = read_version(self._gcp, target.inputs["password_version"])
        body = {"name": target.name, "password": password.reveal()}
        if self._is_there(target):  # a second insert could change the password of the first
            raise AlreadyExists(f"{target.step_id}: {target.name} exists")
        try:
            operation = self._sql.insert_user(target.inputs["project"], target.inputs["instance"], body)
        except CloudError as e:
            raise self._exists_or(e, target, run) from e
        if operation.get("status") != "DONE":
            self._operations.started(_id(target), str(operation["name"]))
        return _id(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Often done when the create answers."""

        def look() -> dict[str, Any] | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("creating the user")
            if self._is_there(target):
                return {"name": target.name}
            self._operations.raise_error_of(target.physical_id)
            return NotYet("waiting for the user to be listed")

        return run.until(look, first_s=1.0)

    def _is_there(self, target: Target) -> bool:
        return target.name in self._sql.user_names(target.inputs["project"], target.inputs["instance"])


def _id(target: Target) -> str:
    return f"{target.inputs['instance']}/{target.name}"
