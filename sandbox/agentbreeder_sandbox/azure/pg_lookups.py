"""What Flexible Server tells before anything is made: names, capabilities of a region, the suffix of private zones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..front import Answer
from . import pg_rules
from .wire import REGIONS, Call, Refused, Route, normal
from .world import World


def _check_name(world: World, call: Call) -> Answer:
    name = str(call.body.get("name", ""))
    reason, message = pg_rules.name_problem(world, name)
    found: dict[str, Any] = {"name": name, "type": call.body.get("type"), "nameAvailable": not reason}
    if reason:
        found["reason"] = reason
    return Answer(body={**found, "message": message})


def _capabilities(world: World, call: Call) -> Answer:
    if normal(call.names["location"]) not in REGIONS:
        message = f"The location '{call.names['location']}' is not available."
        raise Refused(400, "LocationNotAvailableForResourceType", message)
    restricted = world.switches.location_restricted
    found = {
        "name": "FlexibleServerCapabilities",
        "supportedServerEditions": [] if restricted else [_edition(tier) for tier in pg_rules.SIZES],
        "supportedServerVersions": [{"name": v, "supportedVersionsToUpgrade": []} for v in pg_rules.VERSIONS],
        "supportedFeatures": [],
        "fastProvisioningSupported": "Disabled",
        "geoBackupSupported": "Enabled",
        "zoneRedundantHaSupported": "Enabled",
        "zoneRedundantHaAndGeoBackupSupported": "Enabled",
        "storageAutoGrowthSupported": "Enabled",
        "onlineResizeSupported": "Enabled",
        "restricted": "Enabled" if restricted else "Disabled",
    }
    if restricted:
        found["reason"] = "Provisioning is restricted in this region. Please choose a different region."
    return Answer(body={"value": [found]})


def _edition(tier: str) -> dict[str, Any]:
    sizes = [
        {
            "name": name,
            "vCores": int("".join(c for c in name.split("_")[1] if c.isdigit())),
            "supportedIops": 640,
            "supportedMemoryPerVcoreMb": 2048,
            "supportedZones": ["1", "2", "3"],
            "supportedHaMode": [] if tier == "Burstable" else ["SameZone", "ZoneRedundant"],
        }
        for name in pg_rules.SIZES[tier]
    ]
    storage = [{"storageSizeMb": gib * 1024, "supportedIops": 120} for gib in pg_rules.STORAGE_GIB]
    return {
        "name": tier,
        "defaultSkuName": "Standard_B2s" if tier == "Burstable" else pg_rules.SIZES[tier][0],
        "supportedStorageEditions": [{"name": "ManagedDisk", "supportedStorageMb": storage}],
        "supportedServerSkus": sizes,
    }


def _suffix(world: World, call: Call) -> Answer:
    return Answer(body=pg_rules.DOMAIN)


_SERVICE = "Microsoft.DBforPostgreSQL"
_PLACE = f"/subscriptions/{{subscription}}/providers/{_SERVICE}"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], *, at_location: bool = True) -> Route:
    operation = f"{method} {template.rpartition('/')[2]}"
    return Route(
        method=method,
        template=template,
        answer=answer,
        service=_SERVICE,
        operation=operation,
        at_location=at_location,
    )


ROUTES = [
    _route("POST", f"{_PLACE}/locations/{{location}}/checkNameAvailability", _check_name),
    _route("POST", f"{_PLACE}/checkNameAvailability", _check_name, at_location=False),
    _route("GET", f"{_PLACE}/locations/{{location}}/capabilities", _capabilities),
    _route("POST", f"/providers/{_SERVICE}/getPrivateDnsZoneSuffix", _suffix, at_location=False),
]
