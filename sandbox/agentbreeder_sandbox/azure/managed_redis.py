"""Microsoft.Cache/redisEnterprise, that is Azure Managed Redis: the cluster (facts, 2). Its database is beside this."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .cache import bad
from .operations import managed_headers, start
from .schemas import check
from .wire import (
    REGIONS,
    Call,
    Refused,
    Route,
    get_resource,
    key_of,
    lister,
    location_of,
    must_find,
)
from .world import Resource, World

PORT = 10000
KIND = "Microsoft.Cache/redisEnterprise"
_NAME = re.compile(r"(?!.*--)[A-Za-z0-9]([A-Za-z0-9-]{1,58}[A-Za-z0-9])")
SKU = re.compile(r"(Balanced_B|MemoryOptimized_M|ComputeOptimized_X|FlashOptimized_A)(\d+)")
_NEEDS_PUBLIC_ACCESS, _HOST_LIMIT = "2025-07-01", 63
_RETIRED = (
    "Creation of new Azure Cache for Redis Enterprise resources is no longer supported. Azure Cache for Redis "
    "Enterprise is retiring, please create Azure Managed Redis instead."
)
_FAILED = {"code": "InternalServerError", "message": "An internal error occurred while creating the resource."}


def _put_cluster(world: World, call: Call) -> Answer:
    check(call.body, "redisenterprise", "Cluster")
    existing = world.find(call.id)
    location = location_of(call, KIND, existing)
    _check_cluster(call, location)
    if existing is not None:
        return _change_cluster(world, call, existing)
    name = call.names["cluster"]
    same_region = [c for c in world.of_type(KIND) if c.document["location"] == REGIONS[location]]
    if any(c.name.casefold() == name.casefold() for c in same_region):
        raise Refused(409, "NameNotAvailable", f"The name '{name}' is not available in {REGIONS[location]}.")
    how = world.failure_of("amr")
    if how == "server-is-busy":
        raise conflict(name, "Creating")
    cluster = Resource(id=call.id, document=_new_cluster(call, location), born=world.now())
    world.set_tags(cluster, call.body.get("tags"))
    world.put(cluster)
    return creating(world, call, cluster, world.durations.amr_create_s, how)


def _check_cluster(call: Call, location: str) -> None:
    name, given = call.names["cluster"], call.body.get("properties") or {}
    if not _NAME.fullmatch(name) or len(name) + len(location) > _HOST_LIMIT:
        raise bad(f"The cluster name '{name}' is not valid: 3 to 60 letters, digits and single hyphens.")
    sku = str((call.body.get("sku") or {}).get("name", ""))
    if sku.startswith(("Enterprise_", "EnterpriseFlash_")):
        raise bad(_RETIRED)
    if not SKU.fullmatch(sku):
        raise bad(f"The value of the parameter sku.name is invalid: '{sku}'.")
    if call.version >= _NEEDS_PUBLIC_ACCESS and given.get("publicNetworkAccess") not in ("Enabled", "Disabled"):
        raise bad("The property 'publicNetworkAccess' is required and must be 'Enabled' or 'Disabled'.")
    if given.get("minimumTlsVersion", "1.2") != "1.2":
        raise bad("The value of the parameter properties.minimumTlsVersion is invalid.")
    if given.get("highAvailability", "Enabled") not in ("Enabled", "Disabled"):
        raise bad("The value of the parameter properties.highAvailability is invalid.")


def _new_cluster(call: Call, location: str) -> dict[str, Any]:
    given, name = call.body["properties"], call.names["cluster"]
    available = given.get("highAvailability", "Enabled")
    return {
        "location": REGIONS[location],
        "name": name,
        "id": call.id,
        "type": KIND,
        "kind": "v2",
        "tags": {},
        "sku": {"name": call.body["sku"]["name"]},
        "properties": {
            "minimumTlsVersion": given.get("minimumTlsVersion", "1.2"),
            "hostName": f"{name}.{location}.redis.azure.net",
            "provisioningState": "Creating",
            "resourceState": "Creating",
            "privateEndpointConnections": [],
            "highAvailability": available,
            "redundancyMode": "ZR" if available == "Enabled" else "None",
            "publicNetworkAccess": given.get("publicNetworkAccess", "Enabled"),
        },
        "identity": {"type": "None"},
    }


def creating(world: World, call: Call, resource: Resource, seconds: float, how: str) -> Answer:
    """The operation ends before the resource runs (facts, section 2); a failed one leaves CreateFailed behind."""
    properties = resource.properties

    def accepted() -> None:
        properties["provisioningState"] = "Succeeded"
        lag_s = world.durations.amr_running_lag_s
        if lag_s > 0:
            world.later(lag_s, up)
        else:
            up()

    def up() -> None:
        if properties["resourceState"] == "Creating":
            properties["resourceState"] = "Running"
        if world.plane is not None and "hostName" in properties:
            # The server behind it needs its key at once; the database, which comes later, gives it out.
            key = resource.hidden.setdefault("primary", key_of(resource.name, "1", world.uuid()))
            properties["hostName"] = world.plane.redis(f"{resource.id} {resource.born}", PORT, password=key, tls=True)[
                0
            ]

    def broken() -> None:
        properties.update(provisioningState="Failed", resourceState="CreateFailed")

    endings = {"": accepted, "create-failed": broken, "async-failed": lambda: world.remove(resource.id)}
    error = _FAILED if how else None
    region = region_of(world, resource)
    body = {**resource.document, "properties": dict(properties)}
    operation = start(world, "managed", region, seconds, endings[how], result=resource.id, error=error)
    return Answer(status=201, body=body, headers=managed_headers(world, operation, call))


def region_of(world: World, resource: Resource) -> str:
    """The region's display name; a database has none of its own."""
    cluster = world.find("/".join(resource.id.split("/")[:9])) or resource
    return str(cluster.document["location"])


def conflict(name: str, state: str) -> Refused:
    message = f"The resource '{name}' is in state '{state}' and cannot be changed now. Please try again later."
    return Refused(409, "Conflict", message)


def must_run(resource: Resource) -> None:
    state = resource.properties["resourceState"]
    if state != "Running":
        raise conflict(resource.name, state)


def updating(world: World, call: Call, resource: Resource, status: int, change: Mapping[str, Any]) -> Answer:
    must_run(resource)
    world.set_tags(resource, call.body.get("tags"))
    resource.properties.update(provisioningState="Updating", resourceState="Updating")

    def done() -> None:
        resource.properties.update(provisioningState="Succeeded", resourceState="Running", **change)

    body = {**resource.document, "properties": dict(resource.properties)}
    seconds, region = world.durations.amr_update_s, region_of(world, resource)
    operation = start(world, "managed", region, seconds, done, result=resource.id)
    return Answer(status=status, body=body, headers=managed_headers(world, operation, call))


def _change_cluster(world: World, call: Call, cluster: Resource, status: int = 200) -> Answer:
    given = call.body.get("properties") or {}
    if given.get("highAvailability") == "Disabled" and cluster.properties["highAvailability"] == "Enabled":
        raise bad("High availability cannot be disabled once it is enabled.")
    changeable = ("highAvailability", "publicNetworkAccess", "minimumTlsVersion")
    change = {k: given[k] for k in changeable if given.get(k) is not None}
    return updating(world, call, cluster, status, change)


def _patch_cluster(world: World, call: Call) -> Answer:
    check(call.body, "redisenterprise", "ClusterUpdate")
    return _change_cluster(world, call, must_find(world, call.id), 202)


def delete(world: World, call: Call) -> Answer:
    """A cluster takes its database with it. What is still being made or changed is not deleted."""
    resource = world.find(call.id)
    if resource is None:
        return Answer(status=204)
    if resource.properties["resourceState"] not in ("Running", "CreateFailed", "UpdateFailed"):
        raise conflict(resource.name, resource.properties["resourceState"])
    resource.properties.update(provisioningState="Deleting", resourceState="Deleting")
    seconds = world.durations.amr_delete_s if call.id.count("/") == 8 else world.durations.amr_db_s
    region = region_of(world, resource)
    operation = start(world, "managed", region, seconds, lambda: world.remove(resource.id))
    return Answer(status=202, headers=managed_headers(world, operation, call))


_CLUSTERS = f"/subscriptions/{{subscription}}/resourceGroups/{{group}}/providers/{KIND}"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer]) -> Route:
    service, operation = "Microsoft.Cache", f"{method} redisEnterprise"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", f"{_CLUSTERS}/{{cluster}}", _put_cluster),
    _route("PATCH", f"{_CLUSTERS}/{{cluster}}", _patch_cluster),
    _route("GET", f"{_CLUSTERS}/{{cluster}}", get_resource),
    _route("DELETE", f"{_CLUSTERS}/{{cluster}}", delete),
    _route("GET", _CLUSTERS, lister(KIND)),
    _route("GET", f"/subscriptions/{{subscription}}/providers/{KIND}", lister(KIND)),
]
