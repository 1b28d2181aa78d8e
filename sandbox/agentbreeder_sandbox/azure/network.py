"""Microsoft.Network/virtualNetworks: the ready network, read-only, with the delegation that a flexible server needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..front import Answer
from .pg_rules import DELEGATION
from .wire import Call, Refused, Route
from .world import Resource, World, group_id

_VNETS = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks"
_VNET_KIND = "Microsoft.Network/virtualNetworks"


def make_vnet(
    world: World, group: str, name: str, location: str, subnets: Sequence[tuple[str, bool]], prefix: str
) -> str:
    """A virtual network with subnets (name, delegated to flexible servers); its id. `prefix`: such as `10.30`."""
    vnet_id = f"{group_id(group)}/providers/{_VNET_KIND}/{name}"
    document: dict[str, Any] = {
        "name": name,
        "id": vnet_id,
        "etag": f'W/"{world.uuid()}"',
        "type": _VNET_KIND,
        "location": location,
        "properties": {
            "provisioningState": "Succeeded",
            "resourceGuid": world.uuid(),
            "addressSpace": {"addressPrefixes": [f"{prefix}.0.0/16"]},
            "virtualNetworkPeerings": [],
            "enableDdosProtection": False,
        },
    }
    world.put(Resource(id=vnet_id, document=document, born=world.now()))
    for number, (subnet, delegated) in enumerate(subnets, start=1):
        _make_subnet(world, vnet_id, subnet, f"{prefix}.{number}.0/24", delegated)
    return vnet_id


def _make_subnet(world: World, vnet_id: str, name: str, prefix: str, delegated: bool) -> None:
    subnet_id, etag = f"{vnet_id}/subnets/{name}", f'W/"{world.uuid()}"'
    delegation = {
        "name": DELEGATION,
        "id": f"{subnet_id}/delegations/{DELEGATION}",
        "etag": etag,
        "properties": {
            "provisioningState": "Succeeded",
            "serviceName": DELEGATION,
            "actions": ["Microsoft.Network/virtualNetworks/subnets/join/action"],
        },
        "type": f"{_VNET_KIND}/subnets/delegations",
    }
    document: dict[str, Any] = {
        "name": name,
        "id": subnet_id,
        "etag": etag,
        "properties": {
            "provisioningState": "Succeeded",
            "addressPrefix": prefix,
            "delegations": [delegation] if delegated else [],
            "privateEndpointNetworkPolicies": "Disabled",
            "privateLinkServiceNetworkPolicies": "Enabled",
        },
        "type": f"{_VNET_KIND}/subnets",
    }
    world.put(Resource(id=subnet_id, document=document, born=world.now()))


def _not_found(resource_id: str) -> Refused:
    """The network provider's own 404 (recordings, errors.txt)."""
    return Refused(404, "NotFound", f"Resource {resource_id} not found.")


def _subnet_document(world: World, subnet: Resource) -> dict[str, Any]:
    """A subnet tells of the servers inside it only through the link that their service keeps."""
    servers = [
        s
        for s in world.of_type(DELEGATION)
        if str(s.properties["network"].get("delegatedSubnetResourceId", "")).casefold() == subnet.id.casefold()
    ]
    if not servers:
        return subnet.document
    link = {
        "name": "postgresql-service-association-link",
        "id": f"{subnet.id}/serviceAssociationLinks/postgresql-service-association-link",
        "properties": {"linkedResourceType": DELEGATION, "provisioningState": "Succeeded", "allowDelete": False},
        "type": f"{_VNET_KIND}/subnets/serviceAssociationLinks",
    }
    return {**subnet.document, "properties": {**subnet.properties, "serviceAssociationLinks": [link]}}


def _get_vnet(world: World, call: Call) -> Answer:
    vnet = world.find(call.id)
    if vnet is None:
        raise _not_found(call.id)
    subnets = [_subnet_document(world, s) for s in world.of_type(f"{_VNET_KIND}/subnets", vnet.id + "/")]
    return Answer(body={**vnet.document, "properties": {**vnet.properties, "subnets": subnets}})


def _list_vnets(world: World, call: Call) -> Answer:
    vnets = world.of_type(_VNET_KIND, call.id.partition("/providers/")[0])
    return Answer(body={"value": [vnet.document for vnet in vnets]})


def _get_subnet(world: World, call: Call) -> Answer:
    subnet = world.find(call.id)
    if subnet is None:
        raise _not_found(call.id)
    return Answer(body=_subnet_document(world, subnet))


def _list_subnets(world: World, call: Call) -> Answer:
    if world.find(call.parent) is None:
        raise _not_found(call.parent)
    subnets = world.of_type(f"{_VNET_KIND}/subnets", call.parent + "/")
    return Answer(body={"value": [_subnet_document(world, s) for s in subnets]})


def _route(template: str, answer: Any, kind: str) -> Route:
    return Route(method="GET", template=template, answer=answer, service="Microsoft.Network", operation=f"GET {kind}")


ROUTES = [
    _route(f"{_VNETS}/{{vnet}}", _get_vnet, "virtualNetworks"),
    _route(_VNETS, _list_vnets, "virtualNetworks"),
    _route(f"{_VNETS}/{{vnet}}/subnets/{{subnet}}", _get_subnet, "subnets"),
    _route(f"{_VNETS}/{{vnet}}/subnets", _list_subnets, "subnets"),
]
