"""Microsoft.Network/privateDnsZones and their links to virtual networks: everything is a 202, also while it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .operations import dns_answer, start
from .schemas import check
from .wire import Call, Refused, Route, must_find, parent_not_found, shown
from .world import Resource, World

ZONES, LINKS = "Microsoft.Network/privateDnsZones", "Microsoft.Network/privateDnsZones/virtualNetworkLinks"
_ZONE_NAME = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_LINK_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,78}[a-zA-Z0-9_])?")
_TAG_NAME = re.compile(r"[^\s()\d][^\s()]*")  # DNS zones take fewer names than other resources


def _preconditions(call: Call, existing: Resource | None) -> None:
    """If-None-Match and If-Match, as the SDK's match conditions send them."""
    headers = call.request.headers
    wanted = headers.get("if-match", "")
    taken = headers.get("if-none-match") == "*" and existing is not None
    other = wanted not in ("", "*") and (existing is None or wanted.strip('"') != existing.document["etag"].strip('"'))
    if taken or other:
        message = f"The condition '{'*' if taken else wanted}' in the request does not hold for '{call.id}'."
        raise Refused(412, "PreconditionFailed", message)


def _global(call: Call) -> None:
    if str(call.body.get("location", "")).casefold() != "global":
        message = (
            f"The provided location '{call.body.get('location', '')}' is not available for resource type '{ZONES}'. "
            "List of available regions for the resource type is 'global'."
        )
        raise Refused(400, "LocationNotAvailableForResourceType", message)


def _tags(tags: Mapping[str, str] | None) -> None:
    wrong = next((name for name in tags or {} if not _TAG_NAME.fullmatch(name)), None)
    if wrong is not None:
        raise Refused(400, "BadRequest", f"The tag name '{wrong}' is not valid for a private DNS zone.")


def _etag(world: World) -> str:
    return world.uuid()


def _put_zone(world: World, call: Call) -> Answer:
    check(call.body, "privatedns", "PrivateZone")
    existing = world.find(call.id)
    _preconditions(call, existing)
    _global(call)
    _tags(call.body.get("tags"))
    name = call.names["zone"]
    if not _ZONE_NAME.fullmatch(name):
        raise Refused(400, "BadRequest", f"The zone name '{name}' is invalid.")
    zone = existing or Resource(id=call.id, document=_new_zone(call), born=world.now())
    zone.document["etag"] = _etag(world)
    return _accepted(world, call, zone, call.body.get("tags"))


def _new_zone(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.names["zone"],
        "type": ZONES,
        "etag": "",
        "location": "global",
        "properties": {
            "maxNumberOfRecordSets": 25000,
            "maxNumberOfVirtualNetworkLinks": 1000,
            "maxNumberOfVirtualNetworkLinksWithRegistration": 100,
            "numberOfRecordSets": 1,
            "numberOfVirtualNetworkLinks": 0,
            "numberOfVirtualNetworkLinksWithRegistration": 0,
            "provisioningState": "Creating",
        },
    }


def _accepted(world: World, call: Call, resource: Resource, tags: Mapping[str, str] | None) -> Answer:
    """It is there once the operation is over."""
    world.set_tags(resource, tags)
    seconds = world.durations.dns_s
    fresh = world.find(resource.id) is None
    if fresh:
        resource.visible_at = world.after(seconds)
        world.put(resource)

    def done() -> None:
        resource.properties["provisioningState"] = "Succeeded"
        if "virtualNetworkLinkState" in resource.properties:
            resource.properties["virtualNetworkLinkState"] = "Completed"

    return dns_answer(world, start(world, "dns", "global", seconds, done, result=resource.id), call)


def _zone_document(world: World, zone: Resource) -> dict[str, Any]:
    links = [link for link in world.of_type(LINKS, zone.id + "/") if world.visible(link)]
    registering = [link for link in links if link.properties["registrationEnabled"]]
    counts = {
        "numberOfVirtualNetworkLinks": len(links),
        "numberOfVirtualNetworkLinksWithRegistration": len(registering),
    }
    return {**shown(world, zone), "properties": {**zone.properties, **counts}}


def _get_zone(world: World, call: Call) -> Answer:
    return Answer(body=_zone_document(world, must_find(world, call.id)))


def _list_zones(world: World, call: Call) -> Answer:
    zones = world.of_type(ZONES, call.id.partition("/providers/")[0])
    visible = [z for z in zones if world.visible(z)]
    return Answer(body={"value": [_zone_document(world, zone) for zone in visible]})


def _delete_zone(world: World, call: Call) -> Answer:
    zone = world.find(call.id)
    if zone is None:
        return Answer(status=204)
    links = world.of_type(LINKS, zone.id + "/")
    if links:
        message = (
            "Can not delete resource before nested resources are deleted. Nested resources: "
            f"{', '.join(link.id for link in links)}."
        )
        raise Refused(409, "CannotDeleteResource", message)
    return _deleting(world, call, zone)


def _deleting(world: World, call: Call, resource: Resource) -> Answer:
    resource.properties["provisioningState"] = "Deleting"
    seconds = world.durations.dns_s
    operation = start(world, "dns", "global", seconds, lambda: world.remove(resource.id))
    return dns_answer(world, operation, call)


def _put_link(world: World, call: Call) -> Answer:
    check(call.body, "privatedns", "VirtualNetworkLink")
    zone = world.find(call.parent)
    if zone is None or zone.properties["provisioningState"] == "Creating":
        raise parent_not_found(call.names["zone"])
    existing = world.find(call.id)
    _preconditions(call, existing)
    _global(call)
    if not _LINK_NAME.fullmatch(call.names["link"]):
        raise Refused(400, "BadRequest", f"The link name '{call.names['link']}' is invalid.")
    given = call.body.get("properties") or {}
    vnet_id = str((given.get("virtualNetwork") or {}).get("id", ""))
    _check_link(world, call, zone, vnet_id)
    link = existing or Resource(id=call.id, document=_new_link(call, vnet_id), born=world.now())
    link.document["etag"] = f'"{_etag(world)}"'
    link.properties["registrationEnabled"] = bool(given.get("registrationEnabled"))
    return _accepted(world, call, link, call.body.get("tags"))


def _check_link(world: World, call: Call, zone: Resource, vnet_id: str) -> None:
    """One link from a network to a zone, and to no other zone of the same name. The code is the stand-in's choice."""
    if world.find(vnet_id) is None:
        raise Refused(400, "BadRequest", f"The virtual network '{vnet_id}' was not found.")
    for link in world.of_type(LINKS):
        zone_name = link.id.rpartition("/virtualNetworkLinks/")[0].rpartition("/")[2]
        same_network = link.properties["virtualNetwork"]["id"].casefold() == vnet_id.casefold()
        if same_network and zone_name.casefold() == zone.name.casefold() and link.id.casefold() != call.id.casefold():
            message = (
                f"A virtual network cannot be linked to multiple zones with overlapping namespaces. You tried to link "
                f"'{vnet_id}' with '{zone.name}' and '{link.id}'."
            )
            raise Refused(409, "Conflict", message)


def _new_link(call: Call, vnet_id: str) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.names["link"],
        "type": LINKS,
        "etag": "",
        "location": "global",
        "properties": {
            "provisioningState": "Creating",
            "registrationEnabled": False,
            "virtualNetwork": {"id": vnet_id},
            "virtualNetworkLinkState": "InProgress",
        },
    }


def _get_link(world: World, call: Call) -> Answer:
    if world.find(call.parent) is None:
        raise parent_not_found(call.names["zone"])
    return Answer(body=shown(world, must_find(world, call.id)))


def _list_links(world: World, call: Call) -> Answer:
    if world.find(call.parent) is None:
        raise parent_not_found(call.names["zone"])
    links = [link for link in world.of_type(LINKS, call.parent + "/") if world.visible(link)]
    return Answer(body={"value": [shown(world, link) for link in links]})


def _delete_link(world: World, call: Call) -> Answer:
    link = world.find(call.id)
    return Answer(status=204) if link is None else _deleting(world, call, link)


_ZONE_PATH = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones"
_ALL_ZONES = "/subscriptions/{subscription}/providers/Microsoft.Network/privateDnsZones"
_LINK_PATH = f"{_ZONE_PATH}/{{zone}}/virtualNetworkLinks"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str) -> Route:
    service, operation = "Microsoft.Network", f"{method} {kind}"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", f"{_ZONE_PATH}/{{zone}}", _put_zone, "privateDnsZones"),
    _route("GET", f"{_ZONE_PATH}/{{zone}}", _get_zone, "privateDnsZones"),
    _route("DELETE", f"{_ZONE_PATH}/{{zone}}", _delete_zone, "privateDnsZones"),
    _route("GET", _ZONE_PATH, _list_zones, "privateDnsZones"),
    _route("GET", _ALL_ZONES, _list_zones, "privateDnsZones"),
    _route("PUT", f"{_LINK_PATH}/{{link}}", _put_link, "virtualNetworkLinks"),
    _route("GET", f"{_LINK_PATH}/{{link}}", _get_link, "virtualNetworkLinks"),
    _route("DELETE", f"{_LINK_PATH}/{{link}}", _delete_link, "virtualNetworkLinks"),
    _route("GET", _LINK_PATH, _list_links, "virtualNetworkLinks"),
]
