"""What PostgreSQL Flexible Server refuses (facts, section 6), one function per rule.

Codes that no public report gives are Azure-like but the stand-in's own; `OWN_CODES` lists them, so that nobody branches
on one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .wire import Refused, existing_location, normal
from .world import World

OWN_CODES = frozenset(
    {
        "InvalidServerName",
        "InvalidLoginName",
        "PasswordNotComplex",
        "InvalidParameterValue",
        "SubnetNotFound",
        "SubnetMissingRequiredDelegation",
        "SubnetInOtherRegion",
        "PrivateDnsZoneNotFound",
        "PrivateDnsZoneNotLinked",
        "InvalidPrivateDnsZoneName",
        "ServerNameAlreadyExists",  # named in the facts, not verified (section 9)
    }
)
VERSIONS = ("13", "14", "15", "16", "17", "18")
SIZES: Mapping[str, tuple[str, ...]] = {
    "Burstable": ("Standard_B1ms", "Standard_B2s", "Standard_B2ms", "Standard_B4ms"),
    "GeneralPurpose": (
        "Standard_D2s_v3",
        "Standard_D4s_v3",
        "Standard_D2ds_v5",
        "Standard_D4ds_v5",
        "Standard_D2ads_v5",
    ),
    "MemoryOptimized": ("Standard_E2s_v3", "Standard_E4s_v3", "Standard_E2ds_v5", "Standard_E4ds_v5"),
}
STORAGE_GIB = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
DOMAIN = "postgres.database.azure.com"
DELEGATION = "Microsoft.DBforPostgreSQL/flexibleServers"
_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*")
_LOGINS = frozenset({"azure_superuser", "azure_pg_admin", "admin", "administrator", "root", "guest", "public"})
_CLASSES = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[^a-zA-Z0-9]")


def name_problem(world: World, name: str, location: str = "") -> tuple[str, str]:
    """(reason, message) as checkNameAvailability gives it, ("", "") when the name is free."""
    if not _NAME.fullmatch(name):
        message = (
            "The server name must be 3 to 63 characters long, can contain only lowercase letters, numbers and '-', "
            "and cannot start or end with '-'."
        )
        return "Invalid", message
    taken = name.casefold() in world.switches.server_names or world.is_held("pg", name)
    if taken or any(s.name.casefold() == name.casefold() for s in world.of_type(DELEGATION)):
        return "AlreadyExists", "Specified server name is already used."
    return "", ""


def check_new(world: World, name: str, location: str, body: Mapping[str, Any]) -> None:
    """Everything about a server that does not exist yet. Raises `Refused` for the first thing that is wrong."""
    reason, message = name_problem(world, name)
    if reason == "Invalid":
        raise Refused(400, "InvalidServerName", message)
    if world.switches.location_restricted:
        message = (
            f"Subscriptions are restricted from provisioning in location '{location}'. Try again in a different "
            "location. For exceptions to this rule please open a support request with Issue type of 'Service and "
            "subscription limits'."
        )
        raise Refused(400, "LocationIsOfferRestricted", message)
    if reason:
        raise Refused(409, "ServerNameAlreadyExists", message)
    properties = body.get("properties") or {}
    for path, given in (("sku", body.get("sku")), *((n, properties.get(n)) for n in _REQUIRED)):
        if not given:
            raise Refused(400, "MissingRequiredParameter", f"Required parameter '{path}' is missing.")
    _login(str(properties["administratorLogin"]))
    password(str(properties["administratorLoginPassword"]), str(properties["administratorLogin"]))
    if str(properties["version"]) not in VERSIONS:
        raise _out_of_range("Version", VERSIONS)
    sku(body["sku"])
    storage(properties.get("storage") or {}, 0)
    _mode(properties, body["sku"])
    network(world, name, location, properties.get("network") or {})


_REQUIRED = ("administratorLogin", "administratorLoginPassword", "version")


def _out_of_range(name: str, choices: tuple[Any, ...]) -> Refused:
    return Refused(400, "ParameterOutOfRange", f"The value of the {name} should be in {list(choices)}.")


def _invalid(name: str) -> Refused:
    message = f"Invalid value given for parameter {name}. Specify a valid parameter value."
    return Refused(400, "InvalidParameterValue", message)


def sku(given: Mapping[str, Any]) -> None:
    """Name and tier must fit each other (facts, section 6)."""
    tier = str(given.get("tier", ""))
    if tier not in SIZES:
        raise _out_of_range("sku.tier", tuple(SIZES))
    if given.get("name") not in SIZES[tier]:
        raise _out_of_range("sku.name", SIZES[tier])


def storage(given: Mapping[str, Any], before_gib: int) -> None:
    """Fixed sizes from 32 GiB up, and never less than it was."""
    size = given.get("storageSizeGB", before_gib or STORAGE_GIB[0])
    if size not in STORAGE_GIB:
        raise _out_of_range("storageSizeGB", STORAGE_GIB)
    if size < before_gib:
        raise _invalid("storageSizeGB")


def _mode(properties: Mapping[str, Any], sku_given: Mapping[str, Any]) -> None:
    available = (properties.get("highAvailability") or {}).get("mode", "Disabled")
    if available not in ("Disabled", "ZoneRedundant", "SameZone"):
        raise _out_of_range("highAvailability.mode", ("Disabled", "ZoneRedundant", "SameZone"))
    if available != "Disabled" and sku_given.get("tier") == "Burstable":
        raise _invalid("highAvailability.mode")
    days = (properties.get("backup") or {}).get("backupRetentionDays", 7)
    if not 7 <= days <= 35:
        raise _out_of_range("backupRetentionDays", tuple(range(7, 36)))
    if properties.get("createMode", "Create") not in ("Create", "Default"):
        raise _invalid("createMode")


def _login(login: str) -> None:
    if login.casefold() in _LOGINS or login.casefold().startswith("pg_"):
        raise Refused(400, "InvalidLoginName", f"'{login}' is not a valid login name: it is reserved.")


def password(given: str, login: str) -> None:
    """8 to 128 characters, three kinds of them, and not the login (facts, section 6: not verified)."""
    kinds = sum(bool(re.search(kind, given)) for kind in _CLASSES)
    if not 8 <= len(given) <= 128 or kinds < 3 or login.casefold() in given.casefold():
        message = "Password validation failed. The password does not meet policy requirements because it is not complex enough."
        raise Refused(400, "PasswordNotComplex", message)


def network(world: World, name: str, location: str, given: Mapping[str, Any]) -> None:
    """A delegated subnet of the same region with a linked private zone, or neither of both."""
    subnet_id, zone_id = given.get("delegatedSubnetResourceId"), given.get("privateDnsZoneArmResourceId")
    if not subnet_id and not zone_id:
        return
    if not subnet_id or given.get("publicNetworkAccess") == "Enabled":
        raise _invalid("PublicNetworkAccess")  # misleading, as it is there (facts, section 6)
    if not zone_id:
        raise Refused(400, "MissingRequiredParameter", "Required parameter 'privateDnsZoneArmResourceId' is missing.")
    vnet_id = _subnet(world, str(subnet_id), location)
    _zone(world, name, str(zone_id), vnet_id)


def _subnet(world: World, subnet_id: str, location: str) -> str:
    subnet, vnet_id = world.find(subnet_id), subnet_id.rpartition("/subnets/")[0]
    vnet = world.find(vnet_id)
    if subnet is None or vnet is None:
        raise Refused(400, "SubnetNotFound", f"The subnet '{subnet_id}' was not found.")
    if normal(existing_location(vnet)) != location:
        message = f"The virtual network of '{subnet_id}' is in {existing_location(vnet)}, the server in {location}."
        raise Refused(400, "SubnetInOtherRegion", message)
    delegations = [d["properties"]["serviceName"] for d in subnet.properties["delegations"]]
    if DELEGATION not in delegations:
        message = (
            f"Subnet {subnet_id} requires any of the following delegation(s) [{DELEGATION}] to reference service "
            "association link."
        )
        raise Refused(400, "SubnetMissingRequiredDelegation", message)
    return vnet_id


def _zone(world: World, name: str, zone_id: str, vnet_id: str) -> None:
    zone = world.find(zone_id)
    own = f"{name}.{DOMAIN}".casefold()
    zone_name = zone_id.rpartition("/")[2].casefold()
    if not zone_name.endswith(f".{DOMAIN}") or zone_name == own:
        message = (
            f"The private DNS zone must end with '.{DOMAIN}' and must not be the server's own name: '{zone_name}'."
        )
        raise Refused(400, "InvalidPrivateDnsZoneName", message)
    if zone is None:
        raise Refused(400, "PrivateDnsZoneNotFound", f"The private DNS zone '{zone_id}' was not found.")
    links = world.of_type("Microsoft.Network/privateDnsZones/virtualNetworkLinks", zone_id + "/")
    linked = [
        link
        for link in links
        if link.properties["virtualNetwork"]["id"].casefold() == vnet_id.casefold()
        and link.properties["provisioningState"] == "Succeeded"
    ]
    if not linked:
        raise Refused(400, "PrivateDnsZoneNotLinked", f"The private DNS zone '{zone_id}' is not linked to '{vnet_id}'.")
