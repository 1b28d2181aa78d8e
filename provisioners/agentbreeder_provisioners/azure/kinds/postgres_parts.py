"""What is inside a flexible server: the agent's database, and the list of extensions that may be created."""

from __future__ import annotations

from typing import Any

from ...engine.kinds import AlreadyExists, Found, NotFound, Target
from ...engine.run import NotYet, Run
from ...engine.simple_kind import PartKind
from ..clients import AzureClients
from ..names import resource_id
from .base import again_when_busy
from .postgres_server import PostgresServer

PARAMETER = "azure.extensions"


class ServerPart(PartKind):
    """The server takes one change at a time: whoever is late gets `Busy` and asks again (facts, section 6)."""

    def __init__(self, clients: AzureClients) -> None:
        self._az = clients

    def _where(self, target: Target) -> tuple[str, str]:
        return str(target.inputs["resource_group"]), str(target.inputs["server"])

    def _id(self, target: Target, kind: str) -> str:
        group, server = self._where(target)
        return f"{resource_id(self._az.subscription, group, PostgresServer.arm_type, server)}/{kind}/{target.name}"


class PostgresDatabase(ServerPart):
    """Inputs: `resource_group`, `server`. It goes with the server."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By name, inside our server."""
        if target.physical_id or not target.inputs.get("server"):
            return self.recorded(target)
        try:
            self._read(target)
        except NotFound:
            return None
        return Found(physical_id=self._id(target, "databases"), tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """UTF-8, compared the way en_US does."""
        if self.find(target, run):
            raise AlreadyExists(f"database {target.name} exists")
        self._put(target)
        return self._id(target, "databases")

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Seconds, once the server has time for it."""

        def look() -> dict[str, Any] | NotYet:
            note = self._az.follow(target.physical_id)
            if note:
                return NotYet(note)
            self._read(target)
            return {"database": target.name}

        return again_when_busy(run, look, lambda: self._put(target))

    def _read(self, target: Target) -> dict[str, Any]:
        return self._az.document(self._az.postgres.databases.get, *self._where(target), target.name)

    def _put(self, target: Target) -> None:
        body = {"properties": {"charset": "UTF8", "collation": "en_US.utf8"}}
        create = self._az.postgres.databases.begin_create
        self._az.begin(create, self._id(target, "databases"), *self._where(target), target.name, body)


class PostgresExtensions(ServerPart):
    """Inputs: `resource_group`, `server`, `extensions`. The list is one setting that a write replaces as a whole, so it
    is read, added to and written; what others put there stays. It goes with the server."""

    def find(self, target: Target, run: Run) -> Found | None:
        """There when the list names all of them."""
        if target.physical_id or not target.inputs.get("server"):
            return self.recorded(target)
        try:
            missing = self._missing(target, self._read(target))
        except NotFound:
            return None
        if missing:
            return None
        return Found(physical_id=self._id(target, "configurations"), tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """Changes at once, without a restart of the server (facts, section 6)."""
        self._put(target)
        return self._id(target, "configurations")

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Seconds, once the server has time for it. Written again when another's write came in between."""

        def look() -> dict[str, Any] | NotYet:
            note = self._az.follow(target.physical_id)
            if note:
                return NotYet(note)
            if self._missing(target, self._read(target)):
                self._put(target)
                return NotYet("the list was changed by somebody else; adding to it again")
            return {"extensions": list(target.inputs["extensions"])}

        return again_when_busy(run, look, lambda: self._put(target))

    def _read(self, target: Target) -> dict[str, Any]:
        answer = self._az.document(self._az.postgres.configurations.get, *self._where(target), target.name)
        properties: dict[str, Any] = answer.get("properties") or {}
        return properties

    def _missing(self, target: Target, setting: dict[str, Any]) -> list[str]:
        present = {e.casefold() for e in _listed(setting.get("value"))}
        return [e for e in target.inputs["extensions"] if e.casefold() not in present]

    def _put(self, target: Target) -> None:
        setting = self._read(target)
        # The service's own spelling where it names the extension: its case is not documented (facts, section 9).
        allowed = {e.casefold(): e for e in _listed(setting.get("allowedValues"))}
        added = [allowed.get(e.casefold(), e.upper()) for e in self._missing(target, setting)]
        if not added:
            return
        value = ",".join([*_listed(setting.get("value")), *added])
        body = {"properties": {"value": value, "source": "user-override"}}
        update = self._az.postgres.configurations.begin_update
        self._az.begin(update, self._id(target, "configurations"), *self._where(target), target.name, body)


def _listed(text: Any) -> list[str]:
    return [e.strip() for e in str(text or "").split(",") if e.strip()]  # the allowed ones start with a comma
