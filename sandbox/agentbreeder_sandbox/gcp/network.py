"""The project's networks: Compute and Service Networking, as far as private services access needs them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from .errors import Refused, listed, plain
from .paging import page
from .routing import Call, Route, route
from .world import NUMBER, PROJECT, World

PEERING = "servicenetworking-googleapis-com"
HOST = "servicenetworking.googleapis.com"
COMPUTE_HOST = "compute.googleapis.com"
_LINK = "https://www.googleapis.com/compute/v1"
_PATH = re.compile(
    r"(?:https://(?:www|compute)\.googleapis\.com/compute/(?:v1|beta)/)?projects/([^/]+)/global/networks/([^/]+)"
)
_CREATED = "2024-04-01T12:34:56.123-07:00"
_BLOCK = 24  # Cloud SQL takes one per region and type of instance (facts, section 4.1)
_DIRECT = IPv4Network("10.216.0.0/16")  # where direct peering finds its /29s


@dataclass(slots=True, kw_only=True)
class Network:
    """`ranges` are the names of the addresses that private services access may use; without any there is none."""

    name: str
    number: str
    automatic: bool = False
    ranges: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A reserved range for private services access."""

    name: str
    number: str
    network: str
    block: IPv4Network


@dataclass(slots=True, kw_only=True)
class Block:
    """A part of a range that Google routes to one service in one region; `used` counts its addresses."""

    network: str
    region: str
    service: str
    block: IPv4Network
    used: int = 0


def full_name(given: str) -> str | None:
    """`projects/P/global/networks/N` for a path or a URL, with the project as it was given; None for anything else."""
    fits = _PATH.fullmatch(given)
    return f"projects/{fits[1]}/global/networks/{fits[2]}" if fits else None


class Networks:
    """Networks `default` (with private services access on a /16) and `no-psa`, and what Google has taken of the range."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.networks: dict[str, Network] = {}
        self.addresses: dict[str, Address] = {}
        self.blocks: list[Block] = []
        self._direct = 0
        self.clear()

    def clear(self) -> None:
        """The two networks as they are at the start."""
        self.networks = {
            "default": Network(
                name="default", number="1000000000000000001", automatic=True, ranges=["default-google-services"]
            ),
            "no-psa": Network(name="no-psa", number="1000000000000000002"),
        }
        address = Address(
            name="default-google-services",
            number="1000000000000000003",
            network="default",
            block=IPv4Network("10.36.0.0/16"),
        )
        self.addresses = {address.name: address}
        self.blocks = []
        self._direct = 0

    def fill(self, network: str) -> None:
        """Everything that is free of this network's ranges is taken by other services."""
        for name in self.networks[network].ranges:
            self.blocks.append(
                Block(network=network, region="", service="others", block=self.addresses[name].block, used=2**16)
            )

    def trouble(self, path: str, allocated: str = "") -> str:
        """Why nothing can be put there through private services access, in Google's word; "" when it can."""
        fits = _PATH.fullmatch(path)
        if fits is None or not self._world.is_ours(fits[1]) or fits[2] not in self.networks:
            return "NETWORK_NOT_FOUND"
        if not self._world.enabled(HOST):
            return "SERVICE_NETWORKING_NOT_ENABLED"
        network = self.networks[fits[2]]
        if not network.ranges:
            return "NETWORK_NOT_PEERED"
        return "RANGES_NOT_RESERVED" if allocated and allocated not in network.ranges else ""

    def has(self, path: str) -> bool:
        """Whether the project has this network."""
        fits = _PATH.fullmatch(path)
        return fits is not None and self._world.is_ours(fits[1]) and fits[2] in self.networks

    def take_address(self, path: str, region: str, service: str, prefix: int = 32) -> IPv4Network | None:
        """The next block of this size in the service's /24 of the region; None when no /24 is free any more."""
        name = path.rpartition("/")[2]
        mine = [b for b in self.blocks if (b.network, b.region, b.service) == (name, region, service)]
        size = 2 ** (32 - prefix)
        block = next((b for b in mine if b.used + size <= b.block.num_addresses - size), None) or self._new_block(
            name, region, service
        )
        if block is None:
            return None
        if block.used == 0:
            block.used = max(size, 3)  # the first addresses of a subnet are Google's own
        found = IPv4Network((block.block.network_address + block.used, 32)).supernet(new_prefix=prefix)
        block.used += size
        return found

    def take_direct(self) -> IPv4Network:
        """A /29 of a direct peering's own."""
        first = IPv4Address(int(_DIRECT.network_address) + 8 * self._direct)
        self._direct += 1
        return IPv4Network((first, 29))

    def _new_block(self, network: str, region: str, service: str) -> Block | None:
        taken = [b.block for b in self.blocks if b.network == network]
        for name in self.networks[network].ranges:
            for candidate in self.addresses[name].block.subnets(new_prefix=_BLOCK):
                if not any(candidate.overlaps(t) for t in taken):
                    block = Block(network=network, region=region, service=service, block=candidate)
                    self.blocks.append(block)
                    return block
        return None


class NetworkApi:
    """The calls that read them."""

    def __init__(self, world: World, networks: Networks) -> None:
        self._world, self._networks = world, networks

    def routes(self) -> dict[str, Route]:
        """By method id."""
        lists = ("maxResults", "pageToken")
        return {
            "compute.networks.get": route(self.get_network),
            "compute.networks.list": route(self.list_networks, *lists),
            "compute.networks.listPeeringRoutes": route(
                self.list_peering_routes, "peeringName", "direction", "region", *lists
            ),
            "compute.globalAddresses.get": route(self.get_address),
            "compute.globalAddresses.list": route(self.list_addresses, *lists),
            "servicenetworking.services.connections.list": route(self.list_connections, "network"),
        }

    def get_network(self, call: Call) -> dict[str, Any]:
        """404 in Compute's shape for one that is not there."""
        return self._network(self._find(call))

    def list_networks(self, call: Call) -> dict[str, Any]:
        """All networks."""
        return _list(
            call, "compute#networkList", "global/networks", map(self._network, self._networks.networks.values())
        )

    def get_address(self, call: Call) -> dict[str, Any]:
        """One reserved range."""
        name = call.variables["address"]
        if name not in self._networks.addresses:
            raise _not_found(f"global/addresses/{name}")
        return self._address(self._networks.addresses[name])

    def list_addresses(self, call: Call) -> dict[str, Any]:
        """All reserved ranges."""
        found = map(self._address, self._networks.addresses.values())
        return _list(call, "compute#addressList", "global/addresses", found)

    def list_peering_routes(self, call: Call) -> dict[str, Any]:
        """What Google routes to itself through the peering, whatever the region asked for sees of it."""
        network = self._find(call)
        if call.one("peeringName") != PEERING or not network.ranges:
            message = (
                f"Invalid value for field 'peeringName': '{call.one('peeringName')}'. No such peering on the network."
            )
            raise listed(400, "invalid", message)
        routes = [
            {
                "destRange": str(b.block),
                "type": "SUBNET_PEERING_ROUTE",
                "nextHopRegion": b.region or self._world.region,
                "priority": 0,
                "imported": True,
            }
            for b in self._networks.blocks
            if b.network == network.name and call.one("direction") != "OUTGOING"
        ]
        return _list(
            call, "compute#exchangedPeeringRoutesList", f"global/networks/{network.name}/listPeeringRoutes", routes
        )

    def list_connections(self, call: Call) -> dict[str, Any]:
        """`{}` when the network has none. The network must be named by the project's number (facts, section 3.4)."""
        given = call.one("network")
        fits = _PATH.fullmatch(given)
        if fits is None or not fits[1].isdecimal() or call.variables["servicesId"] not in (HOST, "-"):
            raise plain(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        if fits[1] != NUMBER:
            raise plain(403, "PERMISSION_DENIED", "The caller does not have permission")
        network = self._networks.networks.get(fits[2])
        if network is None or not network.ranges:
            return {}
        connection = {
            "network": f"projects/{NUMBER}/global/networks/{network.name}",
            "peering": PEERING,
            "reservedPeeringRanges": list(network.ranges),
            "service": f"services/{HOST}",
        }
        return {"connections": [connection]}

    def _find(self, call: Call) -> Network:
        name = call.variables["network"]
        if name not in self._networks.networks:
            raise _not_found(f"global/networks/{name}")
        return self._networks.networks[name]

    def _network(self, network: Network) -> dict[str, Any]:
        link = f"{_LINK}/projects/{PROJECT}/global/networks/{network.name}"
        found: dict[str, Any] = {
            "autoCreateSubnetworks": network.automatic,
            "creationTimestamp": _CREATED,
            "id": network.number,
            "kind": "compute#network",
            "name": network.name,
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "routingConfig": {"routingMode": "REGIONAL"},
            "selfLink": link,
            "selfLinkWithId": f"{_LINK}/projects/{PROJECT}/global/networks/{network.number}",
        }
        if network.ranges:
            tenant = f"{_LINK}/projects/p{NUMBER}-tp/global/networks/servicenetworking"
            found["peerings"] = [
                {
                    "name": PEERING,
                    "network": tenant,
                    "state": "ACTIVE",
                    "autoCreateRoutes": True,
                    "exchangeSubnetRoutes": True,
                }
            ]
        return found

    def _address(self, address: Address) -> dict[str, Any]:
        return {
            "address": str(address.block.network_address),
            "addressType": "INTERNAL",
            "creationTimestamp": _CREATED,
            "id": address.number,
            "kind": "compute#address",
            "labelFingerprint": "42WmSpB8rSM=",
            "name": address.name,
            "network": f"{_LINK}/projects/{PROJECT}/global/networks/{address.network}",
            "prefixLength": address.block.prefixlen,
            "purpose": "VPC_PEERING",
            "selfLink": f"{_LINK}/projects/{PROJECT}/global/addresses/{address.name}",
            "status": "RESERVED",
        }


def _not_found(path: str) -> Refused:
    return listed(404, "notFound", f"The resource 'projects/{PROJECT}/{path}' was not found")


def _list(call: Call, kind: str, path: str, items: Any) -> dict[str, Any]:
    found, more = page("compute", list(items), call.one("maxResults"), call.one("pageToken"))
    answer: dict[str, Any] = {
        "kind": kind,
        "id": f"projects/{PROJECT}/{path}",
        "selfLink": f"{_LINK}/projects/{PROJECT}/{path}",
    }
    if found:
        answer["items"] = found
    if more:
        answer["nextPageToken"] = more
    return answer
