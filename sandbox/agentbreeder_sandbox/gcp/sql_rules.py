"""What Cloud SQL refuses in an instance, in its own words where a public report has them (facts, section 4.1).

Wordings without a public source say so here: the field, the status and the reason are Google's, the sentence is ours.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import Refused, listed
from .labels import broken_label
from .network import Networks, full_name
from .world import PROJECT

VERSIONS = tuple(f"POSTGRES_{n}" for n in ("9_6", *range(10, 19)))
"""What can be made; the description's enum is longer than what is on offer."""
_PLUS_FROM = 16  # from this major version on, an omitted edition means ENTERPRISE_PLUS
_SHARED = frozenset({"db-f1-micro", "db-g1-small"})
_CUSTOM = re.compile(r"db-custom-(\d+)-(\d+)")
_PLUS = re.compile(r"db-(perf-optimized-N-(2|4|8|16|32|48|64|80|96|128)|c4a-highmem-(1|2|4|8|16|32|48|64|72))")
_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_REGION = re.compile(r"[a-z]+(-[a-z]+)+\d{1,2}")
_MAX_NAME = 98  # with the project and the colon between them
_MAX_CPUS, _MIN_MIB, _MIB_STEP = 96, 3840, 256
_DISK_GIB = (10, 65536)
_LOG_DAYS = {"ENTERPRISE": 7, "ENTERPRISE_PLUS": 35}
_BACKUPS = (1, 365)


def bad(message: str) -> Refused:
    """400 as Cloud SQL says it: `Invalid request: ...`, reason `invalid`."""
    return listed(400, "invalid", f"Invalid request: {message}")


def check_name(name: str) -> None:
    """Lower case, starts with a letter, at most 98 with the project. The sentence is ours beyond its first words."""
    if not name:
        raise listed(400, "required", "Missing parameter: name.")
    if not _NAME.fullmatch(name) or len(PROJECT) + 1 + len(name) > _MAX_NAME:
        raise bad(f"Invalid instance name ({name}).")


def check_version(version: str) -> None:
    """PostgreSQL on offer; the stand-in makes no other engine."""
    if version not in VERSIONS:
        raise bad(f"Database version {version or 'unspecified'} cannot be made here; use one of {', '.join(VERSIONS)}.")


def default_edition(version: str) -> str:
    """What Google chooses when the edition is omitted."""
    major = int(version.split("_")[1])
    return "ENTERPRISE_PLUS" if major >= _PLUS_FROM else "ENTERPRISE"


def check_region(region: str) -> None:
    """A name that could be a region. The sentence is ours."""
    if not _REGION.fullmatch(region):
        raise bad(f"Invalid value for region: {region or 'none'}.")


def check_settings(settings: dict[str, Any]) -> None:
    """Tier, disk, backups and labels of settings that have their edition."""
    _check_tier(settings.get("tier", ""), settings["edition"])
    size = int(settings.get("dataDiskSizeGb", _DISK_GIB[0]))
    if not _DISK_GIB[0] <= size <= _DISK_GIB[1]:
        raise bad(f"Invalid disk size: {size} GB. It must be between {_DISK_GIB[0]} and {_DISK_GIB[1]}.")
    backups = settings.get("backupConfiguration", {})
    days = backups.get("transactionLogRetentionDays", 1)
    if not 1 <= days <= _LOG_DAYS[settings["edition"]]:
        raise bad(f"Transaction log retention days must be between 1 and {_LOG_DAYS[settings['edition']]}.")
    kept = backups.get("backupRetentionSettings", {}).get("retainedBackups", _BACKUPS[0])
    if not _BACKUPS[0] <= kept <= _BACKUPS[1]:
        raise bad(f"Retained backups must be between {_BACKUPS[0]} and {_BACKUPS[1]}.")
    if backups.get("pointInTimeRecoveryEnabled") and not backups.get("enabled"):
        raise bad("Point-in-time recovery requires that backups are enabled.")
    broken = broken_label(settings.get("userLabels", {}))
    if broken:
        raise bad(f"Invalid user label: {broken}.")


def _check_tier(tier: str, edition: str) -> None:
    if not tier:
        raise listed(400, "required", "Missing parameter: tier.")
    if edition == "ENTERPRISE_PLUS":
        if not _PLUS.fullmatch(tier):
            raise bad(
                f"Invalid Tier ({tier}) for (ENTERPRISE_PLUS) Edition. "
                "Use a predefined Tier like db-perf-optimized-N-* instead."
            )
        return
    if _PLUS.fullmatch(tier):
        raise bad(f"Invalid Tier ({tier}) for (ENTERPRISE) Edition.")
    custom = _CUSTOM.fullmatch(tier)
    if custom:
        _check_custom(int(custom[1]), int(custom[2]))
    elif tier not in _SHARED:
        raise bad("Only custom or shared-core instance Billing Tier type allowed for PostgreSQL database.")


def _check_custom(cpus: int, mib: int) -> None:
    """The documented limits of custom machines; the sentence is ours."""
    even = cpus == 1 or cpus % 2 == 0
    if not (1 <= cpus <= _MAX_CPUS and even and mib >= _MIN_MIB and mib % _MIB_STEP == 0):
        raise bad(f"Invalid custom machine: {cpus} CPUs and {mib} MB.")
    if not 0.9 * 1024 * cpus <= mib <= 6.5 * 1024 * cpus:
        raise bad(f"Invalid custom machine: {mib} MB is not between 0.9 and 6.5 GB for each of {cpus} CPUs.")


def check_network(instance: str, ip: dict[str, Any], networks: Networks) -> None:
    """Private services access must be there for a private address; refused at once, not by the operation."""
    network = ip.get("privateNetwork", "")
    if not network and not ip.get("ipv4Enabled") and not ip.get("pscConfig", {}).get("pscEnabled"):
        raise bad("At least one of Public IP, Private IP or PSC connectivity must be enabled.")
    if not network:
        return
    path = full_name(network)
    if path is None:
        raise bad(f"Invalid network: {network}.")
    trouble = networks.trouble(path, ip.get("allocatedIpRange", ""))
    if trouble:
        raise bad(f"Incorrect Service Networking config for instance: {PROJECT}:{instance}:{trouble}.")
