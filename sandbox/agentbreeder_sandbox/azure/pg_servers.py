"""Microsoft.DBforPostgreSQL/flexibleServers: create, update, delete. One change at a time, or ServerIsBusy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from ..front import Answer
from . import pg_rules
from .operations import postgres_answer, start
from .schemas import check
from .wire import REGIONS, Call, Refused, Route, get_resource, lister, location_of, must_find, not_found, stamp
from .world import Resource, World

KIND = "Microsoft.DBforPostgreSQL/flexibleServers"
_PACKAGE = "postgresqlflexibleservers"
_FAILED = {
    "code": "InternalServerError",
    "message": "An unexpected error occured while processing the request. Tracking ID: 'sandbox'",
}
BUILT_IN_DATABASES = ("azure_maintenance", "azure_sys", "postgres")


def busy(name: str, status: int = 409) -> Refused:
    """The one refusal of a server that is at something else (azure-postgresql#134)."""
    message = f"Cannot complete operation while server '{name}' is busy processing another operation. Try again later."
    return Refused(status, "ServerIsBusy", message)


def occupy(world: World, server: Resource, seconds: float, settle_s: float = 0.0) -> None:
    """From now on the server takes no other change. Raises `Refused` ServerIsBusy when it already does not."""
    if world.now() < server.hidden["busy_until"]:
        raise busy(server.name)
    server.hidden["busy_until"] = world.after(seconds + settle_s)


def server_of(world: World, call: Call) -> Resource:
    """The server that something inside it is asked of."""
    server = world.find("/".join(call.id.split("/")[:9]))
    if server is None or not world.visible(server):
        raise not_found("/".join(call.id.split("/")[:9]))
    return server


def _put(world: World, call: Call) -> Answer:
    check(call.body, _PACKAGE, "Server")
    existing = world.find(call.id)
    location = location_of(call, KIND, existing)
    if existing is not None:
        return _change(world, call, existing, "UpsertServerManagementOperationV2")
    pg_rules.check_new(world, call.names["server"], location, call.body)
    how = world.failure_of("pg")
    if how == "server-is-busy":
        raise busy(call.names["server"])
    server = _new(world, call, location)
    world.put(server)
    seconds = world.durations.pg_create_s
    settle_s = world.durations.pg_settle_s
    server.hidden["busy_until"] = world.after(seconds + settle_s)
    server.visible_at = world.after(min(seconds, world.durations.pg_visible_s))
    operation = start(
        world,
        "UpsertServerManagementOperationV2",
        str(call.body["location"]),
        seconds,
        _ending(world, server, how),
        result=server.id,
        error=_FAILED if how else None,
    )
    return postgres_answer(world, operation, call)


def _ending(world: World, server: Resource, how: str) -> Callable[[], None]:
    """A create that failed leaves nothing, or a server that is good for nothing and keeps its name."""

    def ready() -> None:
        server.properties["state"] = "Ready"
        if world.plane is not None:
            host, _ = world.plane.postgres(server.id)
            world.plane.role(server.id, server.properties["administratorLogin"], server.hidden["password"])
            server.properties["fullyQualifiedDomainName"] = host
        backup = server.properties["backup"]
        backup["earliestRestoreDate"] = world.now().isoformat()
        for name in BUILT_IN_DATABASES:
            document = {
                "properties": {"charset": "UTF8", "collation": "en_US.utf8"},
                "id": f"{server.id}/databases/{name}",
                "name": name,
                "type": f"{KIND}/databases",
            }
            world.put(Resource(id=f"{server.id}/databases/{name}", document=document, born=world.now()))

    def broken() -> None:
        server.properties["state"] = "Disabled"
        server.hidden["busy_until"] = world.now()

    endings = {"": ready, "create-failed": broken, "async-failed": lambda: world.remove(server.id)}
    return endings[how]


def _new(world: World, call: Call, location: str) -> Resource:
    document: dict[str, Any] = {
        "sku": dict(call.body["sku"]),
        "systemData": {"createdAt": stamp(world.now() + timedelta(seconds=7))},
        "properties": _properties(call.names["server"], call.body["properties"]),
        "location": REGIONS[location],
        "id": call.id,
        "name": call.names["server"],
        "type": KIND,
    }
    server = Resource(id=call.id, document=document, born=world.now())
    server.hidden.update(password=call.body["properties"]["administratorLoginPassword"], settings={})
    world.set_tags(server, call.body.get("tags"))
    return server


def _properties(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a new server says of itself: never its password."""
    network, storage, backup = (given.get(part) or {} for part in ("network", "storage", "backup"))
    high = (given.get("highAvailability") or {}).get("mode", "Disabled")
    auth = given.get("authConfig") or {}
    return {
        "dataEncryption": {"type": "SystemManaged"},
        "storage": {"storageSizeGB": storage.get("storageSizeGB", 32), "autoGrow": storage.get("autoGrow", "Disabled")},
        "authConfig": {
            "activeDirectoryAuth": auth.get("activeDirectoryAuth", "Disabled"),
            "passwordAuth": auth.get("passwordAuth", "Enabled"),
        },
        "fullyQualifiedDomainName": f"{name}.{pg_rules.DOMAIN}",
        "version": str(given["version"]),
        "minorVersion": "6",
        "administratorLogin": given["administratorLogin"],
        "state": "Provisioning",
        "availabilityZone": given.get("availabilityZone", "1"),
        "backup": {
            "backupRetentionDays": backup.get("backupRetentionDays", 7),
            "geoRedundantBackup": backup.get("geoRedundantBackup", "Disabled"),
        },
        "network": {"publicNetworkAccess": "Disabled", **network} if network else {"publicNetworkAccess": "Enabled"},
        "highAvailability": {"mode": high, "state": "NotEnabled" if high == "Disabled" else "Healthy"},
        "maintenanceWindow": {"customWindow": "Disabled", "dayOfWeek": 0, "startHour": 0, "startMinute": 0},
        "replicationRole": "Primary",
        "replicaCapacity": 5,
    }


def _patch(world: World, call: Call) -> Answer:
    check(call.body, _PACKAGE, "ServerForPatch")
    return _change(world, call, must_find(world, call.id), "UpdateServerManagementOperation")


def _change(world: World, call: Call, server: Resource, kind: str) -> Answer:
    """What can change of a server that stands: size, storage up, backups, availability, password, tags."""
    given: Mapping[str, Any] = call.body.get("properties") or {}
    properties = server.properties
    for fixed in ("administratorLogin", "version"):
        if given.get(fixed, properties[fixed]) != properties[fixed]:
            message = f"The property '{fixed}' of a server cannot be changed."
            raise Refused(400, "InvalidParameterValue", message)
    wanted = call.body.get("sku") or server.document["sku"]
    pg_rules.sku({**server.document["sku"], **wanted})
    pg_rules.storage(given.get("storage") or {}, properties["storage"]["storageSizeGB"])
    if given.get("administratorLoginPassword"):
        pg_rules.password(str(given["administratorLoginPassword"]), properties["administratorLogin"])
    occupy(world, server, world.durations.pg_update_s)
    world.set_tags(server, call.body.get("tags"))
    properties["state"] = "Updating"

    def done() -> None:
        properties["state"] = "Ready"
        server.document["sku"] = {**server.document["sku"], **wanted}
        for part in ("storage", "backup", "highAvailability", "maintenanceWindow"):
            properties[part] = {**properties[part], **(given.get(part) or {})}
        server.hidden["password"] = given.get("administratorLoginPassword") or server.hidden["password"]

    location = str(server.document["location"])
    operation = start(world, kind, location, world.durations.pg_update_s, done, result=server.id)
    return postgres_answer(world, operation, call)


def _delete(world: World, call: Call) -> Answer:
    server = world.find(call.id)
    if server is None:
        return Answer(status=204)
    occupy(world, server, world.durations.pg_delete_s)
    server.properties["state"] = "Dropping"

    def gone() -> None:
        world.remove(server.id)
        world.hold("pg", server.name, world.durations.pg_hold_s)

    location = str(server.document["location"])
    operation = start(world, "DropServerManagementOperation", location, world.durations.pg_delete_s, gone)
    return postgres_answer(world, operation, call)


_SERVERS = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.DBforPostgreSQL/flexibleServers"
_ALL = "/subscriptions/{subscription}/providers/Microsoft.DBforPostgreSQL/flexibleServers"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer]) -> Route:
    operation = f"{method} flexibleServers"
    return Route(
        method=method, template=template, answer=answer, service="Microsoft.DBforPostgreSQL", operation=operation
    )


ROUTES = [
    _route("PUT", f"{_SERVERS}/{{server}}", _put),
    _route("PATCH", f"{_SERVERS}/{{server}}", _patch),
    _route("GET", f"{_SERVERS}/{{server}}", get_resource),
    _route("DELETE", f"{_SERVERS}/{{server}}", _delete),
    _route("GET", _SERVERS, lister(KIND)),
    _route("GET", _ALL, lister(KIND)),
]
