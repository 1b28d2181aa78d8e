"""The subscription itself, its resource groups, providers and locations, and the tenant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..front import Answer
from .wire import REGIONS, Call, Refused, Route, shown
from .world import SUBSCRIPTION, TENANT, World, group_id, type_of


def make_group(world: World, name: str, location: str) -> None:
    """A resource group, older than everything in it."""
    world.groups[name.casefold()] = {
        "id": group_id(name),
        "name": name,
        "type": "Microsoft.Resources/resourceGroups",
        "location": location,
        "properties": {"provisioningState": "Succeeded"},
    }


def _subscription(world: World) -> dict[str, Any]:
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}",
        "authorizationSource": "RoleBased",
        "managedByTenants": [],
        "subscriptionId": SUBSCRIPTION,
        "tenantId": TENANT,
        "displayName": "Sandbox",
        "state": "Enabled",
        "subscriptionPolicies": {
            "locationPlacementId": "Public_2014-09-01",
            "quotaId": "PayAsYouGo_2014-09-01",
            "spendingLimit": "Off",
        },
    }


def _get_subscription(world: World, call: Call) -> Answer:
    return Answer(body=_subscription(world))


def _list_subscriptions(world: World, call: Call) -> Answer:
    return Answer(body={"value": [_subscription(world)], "count": {"type": "Total", "value": 1}})


def _tenants(world: World, call: Call) -> Answer:
    tenant = {"id": f"/tenants/{TENANT}", "tenantId": TENANT, "displayName": "Sandbox", "tenantCategory": "Home"}
    return Answer(body={"value": [tenant]})


def _locations(world: World, call: Call) -> Answer:
    value = [
        {
            "id": f"/subscriptions/{SUBSCRIPTION}/locations/{name}",
            "name": name,
            "type": "Region",
            "displayName": title,
            "regionalDisplayName": title,
        }
        for name, title in REGIONS.items()
    ]
    return Answer(body={"value": value})


def _get_group(world: World, call: Call) -> Answer:
    return Answer(body=world.groups[call.names["group"].casefold()])


def _head_group(world: World, call: Call) -> Answer:
    """204 when it is there, a bare 404 when it is not (facts, section 4)."""
    return Answer(status=204 if call.names["group"].casefold() in world.groups else 404)


def _list_groups(world: World, call: Call) -> Answer:
    return Answer(body={"value": list(world.groups.values())})


def _list_resources(world: World, call: Call) -> Answer:
    """The generic list: what ARM itself keeps of each top-level resource, tags included."""
    under = group_id(call.names["group"]).casefold() + "/"
    found = [r for r in world.standing() if r.id.casefold().startswith(under) and type_of(r.id).count("/") == 1]
    kept = ("id", "name", "type", "location", "tags", "sku", "kind")
    documents = [shown(world, r) for r in found if not type_of(r.id).startswith("Microsoft.Authorization/")]
    return Answer(body={"value": [{k: d[k] for k in kept if k in d} for d in documents]})


def _provider(world: World, call: Call) -> dict[str, Any]:
    name = next((p for p in world.providers if p.casefold() == call.names["namespace"].casefold()), "")
    if not name:
        message = f"The resource namespace '{call.names['namespace']}' is invalid."
        raise Refused(404, "InvalidResourceNamespace", message)
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/{name}",
        "namespace": name,
        "resourceTypes": [],
        "registrationState": world.providers[name],
        "registrationPolicy": "RegistrationRequired",
    }


def _get_provider(world: World, call: Call) -> Answer:
    return Answer(body=_provider(world, call))


def _list_providers(world: World, call: Call) -> Answer:
    value = [{"namespace": name, "registrationState": state} for name, state in world.providers.items()]
    return Answer(body={"value": value})


def _register(world: World, call: Call) -> Answer:
    name = _provider(world, call)["namespace"]

    def registered() -> None:
        world.providers[name] = "Registered"

    if world.providers[name] != "Registered":
        world.providers[name] = "Registering"
        if world.durations.register_s > 0:
            world.later(world.durations.register_s, registered)
        else:
            registered()
    return Answer(body=_provider(world, call))


_SUBSCRIPTION = "/subscriptions/{subscription}"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str) -> Route:
    # What lies at the subscription itself is out of reach of a role on a resource group.
    above = template.startswith(_SUBSCRIPTION) and "{group}" not in template
    operation = f"{method} {kind}"
    return Route(method=method, template=template, answer=answer, service="arm", operation=operation, at_location=above)


ROUTES = [
    _route("GET", _SUBSCRIPTION, _get_subscription, "subscriptions"),
    _route("GET", "/subscriptions", _list_subscriptions, "subscriptions"),
    _route("GET", "/tenants", _tenants, "tenants"),
    _route("GET", f"{_SUBSCRIPTION}/locations", _locations, "locations"),
    _route("GET", f"{_SUBSCRIPTION}/resourceGroups/{{group}}", _get_group, "resourceGroups"),
    _route("HEAD", f"{_SUBSCRIPTION}/resourceGroups/{{group}}", _head_group, "resourceGroups"),
    _route("GET", f"{_SUBSCRIPTION}/resourceGroups", _list_groups, "resourceGroups"),
    _route("GET", f"{_SUBSCRIPTION}/resourceGroups/{{group}}/resources", _list_resources, "resources"),
    _route("GET", f"{_SUBSCRIPTION}/providers/{{namespace}}", _get_provider, "providers"),
    _route("GET", f"{_SUBSCRIPTION}/providers", _list_providers, "providers"),
    _route("POST", f"{_SUBSCRIPTION}/providers/{{namespace}}/register", _register, "providers"),
]
