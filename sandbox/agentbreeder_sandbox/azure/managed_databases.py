"""The one database of an Azure Managed Redis, and its keys, which are off unless asked for (facts, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .cache import bad
from .managed_redis import KIND, SKU, conflict, creating, delete, must_run, updating
from .schemas import check
from .wire import Call, Route, key_of, lister, must_find, parent_not_found, shown
from .world import Resource, World

DATABASES = "Microsoft.Cache/redisEnterprise/databases"
_NO_CLUSTER_GB = 25


def _put_database(world: World, call: Call) -> Answer:
    check(call.body, "redisenterprise", "Database")
    cluster = _cluster(world, call)
    if call.names["database"] != "default":
        raise bad("The only valid name of a database is 'default'.")
    given = call.body.get("properties") or {}
    existing = world.find(call.id)
    if existing is not None:
        return _change_database(world, call, existing)
    must_run(cluster)
    _check_database(given, cluster)
    how = world.failure_of("amr_db")
    if how == "server-is-busy":
        raise conflict("default", "Creating")
    database = Resource(id=call.id, document=_new_database(call, given), born=world.now())
    name = cluster.name
    primary = cluster.hidden.get("primary") or key_of(name, "1", world.uuid())
    database.hidden.update(primary=primary, secondary=key_of(name, "2", world.uuid()))
    world.put(database)
    return creating(world, call, database, world.durations.amr_db_s, how)


_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "clientProtocol": ("Encrypted", "Plaintext"),
    "clusteringPolicy": ("OSSCluster", "EnterpriseCluster", "NoCluster"),
    "evictionPolicy": (
        "VolatileLRU", "AllKeysLRU", "VolatileRandom", "AllKeysRandom", "VolatileTTL", "NoEviction", "AllKeysLFU",
        "VolatileLFU",
    ),
    "accessKeysAuthentication": ("Enabled", "Disabled"),
}  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {
    "clientProtocol": "Encrypted",
    "port": 10000,
    "clusteringPolicy": "OSSCluster",
    "evictionPolicy": "VolatileLRU",
    "accessKeysAuthentication": "Disabled",  # since late 2025, "for security reasons" (facts, section 2)
}


def _check_database(given: Mapping[str, Any], cluster: Resource) -> None:
    for name, choices in _CHOICES.items():
        if given.get(name) is not None and given[name] not in choices:
            raise bad(f"The value of the parameter properties.{name} is invalid: '{given[name]}'.")
    if given.get("port") not in (None, 10000):
        raise bad("The value of the parameter properties.port is invalid: only 10000 is supported.")
    size = SKU.fullmatch(str(cluster.document["sku"]["name"]))
    if given.get("clusteringPolicy") == "NoCluster" and size and int(size[2]) > _NO_CLUSTER_GB:
        raise bad("The clustering policy NoCluster is supported up to 25 GB only.")
    modules = [m.get("name") for m in given.get("modules") or []]
    fit = given.get("clusteringPolicy") == "EnterpriseCluster" and given.get("evictionPolicy") == "NoEviction"
    if "RediSearch" in modules and not fit:
        raise bad("The module RediSearch requires the EnterpriseCluster policy and NoEviction.")


def _new_database(call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {k: given.get(k) or default for k, default in _DEFAULTS.items()}
    return {
        "name": "default",
        "id": call.id,
        "type": DATABASES,
        "properties": {
            **chosen,
            "provisioningState": "Creating",
            "resourceState": "Creating",
            "deferUpgrade": "NotDeferred",
            "redisVersion": "7.4",
            **({"modules": given["modules"]} if given.get("modules") else {}),
        },
    }


def _change_database(world: World, call: Call, database: Resource, status: int = 200) -> Answer:
    given, before = call.body.get("properties") or {}, database.properties
    policy = given.get("clusteringPolicy", before["clusteringPolicy"])
    fixed = policy != before["clusteringPolicy"] and before["clusteringPolicy"] != "NoCluster"
    if fixed or given.get("port", before["port"]) != before["port"]:
        raise bad("The clustering policy and the port of a database cannot be changed.")
    change = {k: given[k] for k in _DEFAULTS if given.get(k) is not None}
    return updating(world, call, database, status, change)


def _patch_database(world: World, call: Call) -> Answer:
    check(call.body, "redisenterprise", "DatabaseUpdate")
    return _change_database(world, call, must_find(world, call.id), 202)


def _cluster(world: World, call: Call) -> Resource:
    cluster = world.find("/".join(call.id.split("/")[:9]))
    if cluster is None:
        raise parent_not_found(call.names["cluster"])
    return cluster


def _get_database(world: World, call: Call) -> Answer:
    _cluster(world, call)
    return Answer(body=shown(world, must_find(world, call.id)))


def _list_keys(world: World, call: Call) -> Answer:
    database = must_find(world, call.parent)
    if database.properties["accessKeysAuthentication"] != "Enabled":
        raise bad("Access keys authentication is disabled on this database.")
    must_run(database)
    return Answer(body={"primaryKey": database.hidden["primary"], "secondaryKey": database.hidden["secondary"]})


_CLUSTER = f"/subscriptions/{{subscription}}/resourceGroups/{{group}}/providers/{KIND}/{{cluster}}"
_DATABASE = f"{_CLUSTER}/databases/{{database}}"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str) -> Route:
    service, operation = "Microsoft.Cache", f"{method} {kind}"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", _DATABASE, _put_database, "databases"),
    _route("PATCH", _DATABASE, _patch_database, "databases"),
    _route("GET", _DATABASE, _get_database, "databases"),
    _route("DELETE", _DATABASE, delete, "databases"),
    _route("GET", f"{_CLUSTER}/databases", lister(DATABASES), "databases"),
    _route("POST", f"{_DATABASE}/listKeys", _list_keys, "listKeys"),
]
