"""Preflight: the delegated subnet, its network and region, and a private DNS zone that fits. Read-only."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import Problem
from agentbreeder_resolver.plan_types import MemoryPlan

from ..engine.kinds import NotFound
from ..engine.ownership import MANAGED_BY, TOOL
from ..engine.wiring import Checks
from .clients import AzureClients
from .errors import NotPermitted
from .names import ZONE_SUFFIX, base_name, group_id, last_part, same_id, same_location

_NETWORK_API, _DNS_API = "2024-05-01", "2024-06-01"
_DELEGATION = "Microsoft.DBforPostgreSQL/flexibleServers"
_SUBNET_PARTS = 11  # /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N
_KEY = "deploy.env_vars.AZURE_DB_SUBNET_ID"
_LIST = "az network vnet subnet list --resource-group GROUP --vnet-name VNET --query [].id"


def check_network(az: AzureClients, plan: MemoryPlan, checks: Checks) -> None:
    """The subnet exists, is delegated to flexible servers and lies in the region. Facts: `vnet_id`, `dns_zone_id`.

    Nothing of the network is ever changed: the delegation is the user's to make.
    """
    subnet_id = str(plan.network.get("db_subnet_id", ""))
    vnet_id = _vnet_of(subnet_id)
    if not vnet_id:
        what = "no subnet is named" if not subnet_id else f"{subnet_id!r} is no subnet's id"
        _problem(checks, "SUBNET_MISSING", f"{what}; take one from: {_LIST}")
        return
    try:
        subnet = az.request("GET", subnet_id, api_version=_NETWORK_API).body
        vnet = az.request("GET", vnet_id, api_version=_NETWORK_API).body
    except NotFound:
        _problem(checks, "SUBNET_NOT_FOUND", f"subnet {subnet_id} does not exist; take one from: {_LIST}")
        return
    checks.facts["vnet_id"] = vnet_id
    _judge_delegation(checks, subnet_id, subnet)
    location = str(vnet.get("location", ""))
    if not same_location(location, plan.region):
        message = f"network {last_part(vnet_id)} is in {location}, the server would be in {plan.region}: {_LIST}"
        _problem(checks, "SUBNET_IN_OTHER_REGION", message)
    named = str(plan.network.get("vnet_name", ""))
    if named and named.casefold() != last_part(vnet_id).casefold():
        message = f"AZURE_VNET_NAME is {named}, but the subnet is in {last_part(vnet_id)}: {_LIST}"
        _problem(checks, "VNET_MISMATCH", message)
    checks.facts["dns_zone_id"] = _fitting_zone(az, plan, vnet_id)


def _problem(checks: Checks, code: str, message: str) -> None:
    checks.problems.append(Problem(code=code, message=message, key=_KEY))


def _vnet_of(subnet_id: str) -> str:
    parts = subnet_id.rstrip("/").split("/")
    if len(parts) != _SUBNET_PARTS or parts[7].casefold() != "virtualnetworks" or parts[9].casefold() != "subnets":
        return ""
    return "/".join(parts[:9])


def _judge_delegation(checks: Checks, subnet_id: str, subnet: dict[str, Any]) -> None:
    """A subnet of one's own, delegated: no other service may use it (facts, section 6)."""
    given = (subnet.get("properties") or {}).get("delegations") or []
    services = [str((d.get("properties") or {}).get("serviceName", "")) for d in given]
    if any(s.casefold() == _DELEGATION.casefold() for s in services):
        return
    if services:
        message = f"subnet {last_part(subnet_id)} is delegated to {', '.join(services)}; name another: {_LIST}"
        _problem(checks, "SUBNET_DELEGATED_ELSEWHERE", message)
        return
    command = f"az network vnet subnet update --ids {subnet_id} --delegations {_DELEGATION}"
    _problem(checks, "SUBNET_NOT_DELEGATED", f"subnet {last_part(subnet_id)} is not delegated to PostgreSQL: {command}")


def _fitting_zone(az: AzureClients, plan: MemoryPlan, vnet_id: str) -> str:
    """The id of a zone of the user's that a server could use and that this network is linked to; "" when there is none.

    Zones that this tool made belong to one agent each and go with it, so they are nobody else's.
    """
    host = f"{base_name(plan)}-pg{ZONE_SUFFIX}"
    for zone in _zones(az, str(plan.network["resource_group"])):
        name = str(zone.get("name", "")).casefold()
        ours = (zone.get("tags") or {}).get(MANAGED_BY) == TOOL or name.startswith(f"{base_name(plan)}.")
        fits = name.endswith(ZONE_SUFFIX) and not name.startswith("privatelink.") and name != host
        if fits and not ours and _is_linked(az, str(zone["id"]), vnet_id):
            return str(zone["id"])
    return ""


def _zones(az: AzureClients, group: str) -> list[dict[str, Any]]:
    path = "/providers/Microsoft.Network/privateDnsZones"
    try:
        found = az.listed(f"/subscriptions/{az.subscription}{path}", api_version=_DNS_API)
    except NotPermitted:
        found = az.listed(f"{group_id(az.subscription, group)}{path}", api_version=_DNS_API)
    return sorted(found, key=lambda zone: str(zone.get("id", "")))


def _is_linked(az: AzureClients, zone_id: str, vnet_id: str) -> bool:
    try:
        links = az.listed(f"{zone_id}/virtualNetworkLinks", api_version=_DNS_API)
    except NotPermitted:
        return False  # what cannot be read cannot be relied on: a zone of the agent's own is made
    for link in links:
        p = link.get("properties") or {}
        linked = str((p.get("virtualNetwork") or {}).get("id", ""))
        if same_id(linked, vnet_id) and p.get("virtualNetworkLinkState", "Completed") == "Completed":
            return True
    return False
