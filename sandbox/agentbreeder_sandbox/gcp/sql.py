"""Cloud SQL instances: create, look, change, delete, as `sqladmin` does it and refuses it (facts, sections 3.1 and 4.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .certificates import make_authority, server_files
from .errors import listed
from .network import Networks, full_name
from .paging import matching, page
from .routing import Call, Route, route
from .sql_model import PRIVATE, Database, Instance, Operation, User, with_defaults
from .sql_rules import bad, check_name, check_network, check_region, check_settings, check_version, default_edition
from .sql_state import SqlState
from .world import NUMBER, PROJECT, merged

HOW = frozenset({"stockout", "done-with-error-but-comes-up", "failed"})
"""How a create can be told to end."""
_TAKEN = (
    "The Cloud SQL instance already exists. When you delete an instance, you can't reuse the name of the deleted "
    "instance until one week from the deletion date."
)
_PROTECTED = (
    "The instance is protected. Please disable the deletion protection and try again. To disable deletion protection, "
    "update the instance settings with deletionProtectionEnabled set to false."
)
_FULL = (
    "Failed to create subnetwork. Couldn't find free blocks in allocated IP ranges. "
    "Please allocate new ranges for this service provider"
)
_STOCKOUT = "The zone or region does not have sufficient resources available to fulfill the request. Try again later."
_FALSE_ALARM = 0.5  # of a create's time, when its operation is told to end with an error all the same
_FINAL_BACKUP_DAYS = (1, 365)


class SqlApi:
    """The calls on instances."""

    def __init__(self, state: SqlState, networks: Networks) -> None:
        self._state, self._networks = state, networks
        self._world = state.world
        self._given_out = 0

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "sql.instances.insert": route(self.insert),
            "sql.instances.get": route(self.get),
            "sql.instances.list": route(self.list_all, "filter", "maxResults", "pageToken"),
            "sql.instances.patch": route(self.patch),
            "sql.instances.update": route(self.update),
            "sql.instances.delete": route(
                self.delete, "enableFinalBackup", "finalBackupTtlDays", "finalBackupDescription"
            ),
        }

    def insert(self, call: Call) -> dict[str, Any]:
        """Answers with a PENDING operation; the instance is seen as PENDING_CREATE at once."""
        body = call.body
        name, version = body.get("name", ""), body.get("databaseVersion", "")
        check_name(name)
        if body.get("project", PROJECT) not in (PROJECT, NUMBER):
            raise bad("Project in the request body does not match the URL.")
        check_version(version)
        check_region(body.get("region", ""))
        settings = self._settings(name, version, body.get("settings", {}))
        if self._state.name_taken(name):
            raise listed(409, "instanceAlreadyExists", _TAKEN)
        instance = Instance(
            name=name, region=body["region"], version=version, settings=settings, created=self._world.now()
        )
        instance.users["postgres"] = User(name="postgres", password=body.get("rootPassword", ""))
        instance.databases["postgres"] = Database(name="postgres")
        self._state.instances[name] = instance
        self._state.reserved.pop(name, None)
        return self._begin_create(instance).on_wire(call.root)

    def get(self, call: Call) -> dict[str, Any]:
        """404 `instanceDoesNotExist` for one that is not there."""
        return self._shown(self._state.find(call.variables["instance"]), call.root)

    def list_all(self, call: Call) -> dict[str, Any]:
        """All, or those that a filter names; `items` is left out when there are none."""
        keep = matching("sqladmin", call.one("filter"))
        shown = (self._shown(i, call.root) for i in self._state.instances.values())
        items, more = page("sqladmin", [i for i in shown if keep(i)], call.one("maxResults"), call.one("pageToken"))
        answer: dict[str, Any] = {"kind": "sql#instancesList"}
        if items:
            answer["items"] = items
        if more:
            answer["nextPageToken"] = more
        return answer

    def patch(self, call: Call) -> dict[str, Any]:
        """Changes what the body names."""
        instance = self._state.running(call.variables["instance"])
        settings = call.body.get("settings", {})
        return self._change(instance, call, merged(instance.settings, settings))

    def update(self, call: Call) -> dict[str, Any]:
        """Replaces the settings by the body's."""
        instance = self._state.running(call.variables["instance"])
        return self._change(instance, call, call.body.get("settings", {}))

    def delete(self, call: Call) -> dict[str, Any]:
        """Refused while protected or busy. The name stays taken for a while after it is gone."""
        instance = self._state.free(call.variables["instance"])
        if instance.settings["deletionProtectionEnabled"]:
            raise listed(400, "invalid", _PROTECTED)
        days = call.one("finalBackupTtlDays")
        if days and not _FINAL_BACKUP_DAYS[0] <= int(days) <= _FINAL_BACKUP_DAYS[1]:
            raise bad("Final backup retention days must be between 1 and 365.")
        keep = call.flag("enableFinalBackup")
        instance.state = "PENDING_DELETE"

        def finish(at: datetime) -> None:
            del self._state.instances[instance.name]
            self._state.reserve(instance.name, at)
            if keep:
                self._state.final_backups.append(f"{instance.name} {call.one('finalBackupDescription')}".rstrip())

        operation = self._state.begin(instance, "DELETE", self._world.durations.sql_delete_s, finish)
        return operation.on_wire(call.root)

    def _settings(self, name: str, version: str, given: dict[str, Any]) -> dict[str, Any]:
        """Checked and filled in. An omitted edition is Google's choice, and not the cheap one from PostgreSQL 16 on."""
        edition = given.get("edition") or default_edition(version)
        if edition not in ("ENTERPRISE", "ENTERPRISE_PLUS"):
            raise bad(f"Edition {edition} cannot be made here.")
        settings = with_defaults({**given, "edition": edition})
        check_settings(settings)
        ip = settings["ipConfiguration"]
        check_network(name, ip, self._networks)
        if ip.get("privateNetwork"):
            network = str(full_name(ip["privateNetwork"])).replace(f"projects/{NUMBER}/", f"projects/{PROJECT}/")
            settings["ipConfiguration"] = {**ip, "privateNetwork": network}
        return settings

    def _begin_create(self, instance: Instance) -> Operation:
        seconds = self._world.durations.sql_create_s
        how = self._world.switches.fail_next.pop("sql", "")
        ip = instance.settings["ipConfiguration"]
        private = ip.get("privateNetwork", "")
        block = self._networks.take_address(private, instance.region, "sql") if private else None
        error: dict[str, str] | None = None
        if private and block is None:
            error = {"code": "INTERNAL_ERROR", "message": _FULL}
        elif how == "stockout":
            error = {"code": "ERROR_GCE_STOCKOUT", "message": _STOCKOUT}
        elif how == "failed":
            error = {"code": "UNKNOWN"}  # Google may leave the message out (TF#12912)
        addresses = [{"type": PRIVATE, "ipAddress": str(block.network_address)}] if block else []
        if ip["ipv4Enabled"]:
            addresses = [*self._public_addresses(), *addresses]

        def finish(at: datetime) -> None:
            instance.authority = make_authority(instance.name, "Google Cloud SQL Server CA", instance.created)
            if error is not None:
                instance.state, operation.error = "FAILED", error
            else:
                instance.state, instance.addresses = "RUNNABLE", self._reachable(instance, addresses)

        operation = self._state.begin(instance, "CREATE", seconds, finish)
        if how == "done-with-error-but-comes-up" and error is None:
            self._world.later(seconds * _FALSE_ALARM, lambda at: _raise_alarm(operation, at))
        return operation

    def _reachable(self, instance: Instance, addresses: list[dict[str, str]]) -> list[dict[str, str]]:
        """The private one leads to a real server where there are any."""
        plane = self._world.plane
        if plane is None:
            return addresses
        host = plane.postgres(instance.name)[0]
        if instance.authority is not None:
            authority = instance.authority
            plane.proxy(instance.name, lambda folder: server_files(authority, folder, host))
        return [{**a, "ipAddress": host} if a["type"] == PRIVATE else a for a in addresses]

    def _public_addresses(self) -> list[dict[str, str]]:
        """From the range for documentation, so that nobody is ever reached."""
        self._given_out += 1
        last = 1 + self._given_out % 250
        return [
            {"type": "PRIMARY", "ipAddress": f"203.0.113.{last}"},
            {"type": "OUTGOING", "ipAddress": f"198.51.100.{last}"},
        ]

    def _change(self, instance: Instance, call: Call, wanted: dict[str, Any]) -> dict[str, Any]:
        known = call.body.get("settings", {}).get("settingsVersion")
        if known is not None and known != str(instance.revision):
            raise listed(412, "conditionNotMet", "Condition does not match.")
        if call.body.get("databaseVersion", instance.version) != instance.version:
            raise bad("The stand-in does not upgrade database versions.")
        before = instance.settings["ipConfiguration"].get("privateNetwork")
        settings = self._settings(instance.name, instance.version, wanted)
        if before and not settings["ipConfiguration"].get("privateNetwork"):
            raise bad("Private network cannot be removed from the instance.")

        def finish(at: datetime) -> None:
            instance.settings, instance.revision = settings, instance.revision + 1

        operation = self._state.begin(instance, "UPDATE", self._world.durations.sql_update_s, finish)
        return operation.on_wire(call.root)

    def _shown(self, instance: Instance, root: str) -> dict[str, Any]:
        return instance.on_wire(root, labels=self._world.shows_labels(instance.created))


def _raise_alarm(operation: Operation, at: datetime) -> None:
    """The operation says that it failed while the create goes on and succeeds (TF#27922)."""
    operation.ended, operation.error = at, {"code": "INTERNAL_ERROR"}
