"""Microsoft.Cache/redis, the classic cache: retired for new tenants, keys in the answer to its creation (facts, 2, 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .operations import cache_headers, start
from .schemas import check
from .wire import REGIONS, Call, Refused, Route, get_resource, key_of, lister, location_of, must_find, shown
from .world import Resource, World

KIND = "Microsoft.Cache/redis"
_SHOWN_KIND = "Microsoft.Cache/Redis"  # ids and types come back in this casing (facts, section 4)
_NAME = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
_SIZES: Mapping[str, tuple[str, range]] = {
    "Basic": ("C", range(7)),
    "Standard": ("C", range(7)),
    "Premium": ("P", range(1, 6)),
}
_RETIRED = (
    "Azure Cache for Redis is retiring, create Azure Managed Redis instance instead. "
    "Learn more: https://aka.ms/AzureCacheForRedisRetirement"
)
_HELD = (
    "An error occured when trying to reserve the DNS name for the cache instance. This may be a temporary issue if a "
    "cache instance of this name was recently deleted. Please choose a different name or try again later."
)
_FAILED = {"code": "InternalServerError", "message": "An internal error occurred while creating the cache."}


def bad(message: str) -> Refused:
    """Microsoft.Cache's generic refusal."""
    return Refused(400, "BadRequest", message)


def _put(world: World, call: Call) -> Answer:
    check(call.body, "redis", "RedisCreateParameters")
    existing = world.find(call.id)
    location = location_of(call, KIND, existing)
    given = call.body.get("properties") or {}
    _check_body(given)
    if existing is not None:
        return _change(world, call, existing)
    if not world.switches.tenant_may_create_cache:
        raise bad(_RETIRED)
    _check_name(world, call.names["cache"])
    how = world.failure_of("cache")
    if how == "server-is-busy":
        raise _conflict(call.names["cache"], "Creating")
    cache = _new(world, call, location)
    world.put(cache)
    operation = start(
        world,
        "cache",
        REGIONS[location],
        world.durations.cache_create_s,
        _ending(world, cache, how),
        result=cache.id,
        error=_FAILED if how else None,
    )
    # The one answer that carries the keys; every later one has null in their place.
    keys = {"primaryKey": cache.hidden["primary"], "secondaryKey": cache.hidden["secondary"]}
    body = {**cache.document, "properties": {**cache.properties, "accessKeys": keys}}
    return Answer(status=201, body=body, headers=cache_headers(world, operation, call, asynchronous=True))


def _ending(world: World, cache: Resource, how: str) -> Callable[[], None]:
    def ready() -> None:
        cache.properties["provisioningState"] = "Succeeded"
        cache.properties["instances"] = [{"sslPort": 15000, "isMaster": True, "isPrimary": True}]

    def broken() -> None:
        cache.properties["provisioningState"] = "Failed"

    return {"": ready, "create-failed": broken, "async-failed": lambda: world.remove(cache.id)}[how]


def _check_name(world: World, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise bad(f"The name '{name}' is not valid: 1 to 63 letters, digits and hyphens.")
    taken = any(r.name.casefold() == name.casefold() for r in world.of_type(KIND))
    if taken or world.is_held("cache", name):
        raise Refused(409, "NameNotAvailable", _HELD)


def _check_body(given: Mapping[str, Any]) -> None:
    sku = given.get("sku") or {}
    family, capacities = _SIZES.get(str(sku.get("name")), ("", range(0)))
    if str(sku.get("family", "")).upper() != family or sku.get("capacity") not in capacities:
        raise bad(f"The value of the parameter properties.sku is invalid: {dict(sku)}.")
    if given.get("subnetId") and sku["name"] != "Premium":
        raise bad("The value of the parameter properties.subnetId is invalid: only Premium caches take a subnet.")
    if given.get("minimumTlsVersion", "1.2") != "1.2":
        raise bad("The value of the parameter properties.minimumTlsVersion is invalid: TLS 1.0 and 1.1 are retired.")


def _new(world: World, call: Call, location: str) -> Resource:
    given, name = call.body["properties"], call.names["cache"]
    shown_id = call.id.replace(f"/{KIND}/", f"/{_SHOWN_KIND}/")
    sku = {**given["sku"], "family": given["sku"]["family"].upper()}
    document: dict[str, Any] = {
        "id": shown_id,
        "location": REGIONS[location],
        "name": name,
        "type": _SHOWN_KIND,
        "tags": {},
        "properties": {
            "provisioningState": "Creating",
            "redisVersion": "6.0",
            "sku": sku,
            "enableNonSslPort": given.get("enableNonSslPort", False),
            "instances": [{"sslPort": 15000, "isMaster": False, "isPrimary": False}],
            "publicNetworkAccess": given.get("publicNetworkAccess", "Enabled"),
            "tenantSettings": {},
            "redisConfiguration": {
                "maxclients": "256",
                "maxmemory-reserved": "30",
                "maxfragmentationmemory-reserved": "30",
                "maxmemory-delta": "30",
            },
            "accessKeys": None,
            "hostName": f"{name}.redis.cache.windows.net",
            "port": 6379,
            "sslPort": 6380,
            "linkedServers": [],
            "disableAccessKeyAuthentication": given.get("disableAccessKeyAuthentication", False),
            "minimumTlsVersion": "1.2",
        },
    }
    cache = Resource(id=shown_id, document=document, born=world.now())
    cache.hidden.update(primary=key_of(name, "1", world.uuid()), secondary=key_of(name, "2", world.uuid()))
    world.set_tags(cache, call.body.get("tags"))
    return cache


def _conflict(name: str, state: str) -> Refused:
    message = f"The resource '{name}' is busy processing a previous update request or is undergoing system maintenance."
    return Refused(409, "Conflict", f"{message} Its state is {state}.")


def _settled(cache: Resource) -> None:
    state = cache.properties["provisioningState"]
    if state not in ("Succeeded", "Failed"):
        raise _conflict(cache.name, state)


def _patch(world: World, call: Call) -> Answer:
    check(call.body, "redis", "RedisUpdateParameters")
    return _change(world, call, must_find(world, call.id))


def _change(world: World, call: Call, cache: Resource) -> Answer:
    _settled(cache)
    world.set_tags(cache, call.body.get("tags"))
    given = call.body.get("properties") or {}
    changeable = ("enableNonSslPort", "publicNetworkAccess", "disableAccessKeyAuthentication", "sku")
    cache.properties.update({k: given[k] for k in changeable if given.get(k) is not None})
    return Answer(body=shown(world, cache))


def _delete(world: World, call: Call) -> Answer:
    cache = world.find(call.id)
    if cache is None:
        return Answer(status=204)
    _settled(cache)
    cache.properties["provisioningState"] = "Deleting"

    def gone() -> None:
        world.remove(cache.id)
        world.hold("cache", cache.name, world.durations.cache_hold_s)

    operation = start(world, "cache", str(cache.document["location"]), world.durations.cache_delete_s, gone)
    return Answer(status=202, headers=cache_headers(world, operation, call, asynchronous=False))


def _list_keys(world: World, call: Call) -> Answer:
    cache = must_find(world, call.parent)
    if cache.properties["disableAccessKeyAuthentication"]:
        raise bad("Access keys authentication is disabled on this cache.")
    return Answer(body={"primaryKey": cache.hidden["primary"], "secondaryKey": cache.hidden["secondary"]})


def _check_availability(world: World, call: Call) -> Answer:
    """200 and nothing when it is free; taken is a 409 (facts, section 6)."""
    _check_name(world, str(call.body.get("name", "")))
    return Answer(status=200)


_CACHES = f"/subscriptions/{{subscription}}/resourceGroups/{{group}}/providers/{KIND}"
_SUBSCRIPTION = "/subscriptions/{subscription}/providers/Microsoft.Cache"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str = "redis") -> Route:
    service, operation = "Microsoft.Cache", f"{method} {kind}"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", f"{_CACHES}/{{cache}}", _put),
    _route("PATCH", f"{_CACHES}/{{cache}}", _patch),
    _route("GET", f"{_CACHES}/{{cache}}", get_resource),
    _route("DELETE", f"{_CACHES}/{{cache}}", _delete),
    _route("GET", _CACHES, lister(KIND)),
    _route("GET", f"{_SUBSCRIPTION}/redis", lister(KIND)),
    _route("POST", f"{_CACHES}/{{cache}}/listKeys", _list_keys, "listKeys"),
    _route("POST", f"{_SUBSCRIPTION}/checkNameAvailability", _check_availability, "checkNameAvailability"),
]
