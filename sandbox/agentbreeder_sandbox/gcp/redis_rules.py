"""What Memorystore for Redis refuses in an instance (facts, section 4.3)."""

from __future__ import annotations

import re
from typing import Any

from .errors import Refused, invalid, plain
from .labels import broken_label
from .network import Networks
from .world import PROJECT

VERSIONS = ("REDIS_3_2", "REDIS_4_0", "REDIS_5_0", "REDIS_6_X", "REDIS_7_0", "REDIS_7_2")
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_REGION = re.compile(r"[a-z]+(-[a-z]+)+\d{1,2}")
_SIZE_GIB = (1, 300)
_NO_ACCESS = "Google private service access is not enabled. Enable private service access and try again."
_SERVER = "com.google.apps.framework.request.StatusException: <eye3 title='{word}'/> generic::{word}: {message}"


def precondition(message: str) -> Refused:
    """400 FAILED_PRECONDITION, with the line that the server adds of its own (airflow#11735)."""
    line = _SERVER.format(word="FAILED_PRECONDITION", message=message)
    return plain(400, "FAILED_PRECONDITION", f"{message}\n{line}")


def busy(what: str) -> Refused:
    """One operation at a time: 400 and not 409 (airflow#11735 for a failover; the others by analogy)."""
    return precondition(f"Unable to {what} due to ongoing operations. Please wait until instance is in READY state.")


def argument(field: str, message: str) -> Refused:
    """400 INVALID_ARGUMENT that names a field. The sentences are ours."""
    return invalid("redis", [(field, message)])


def check_region(region: str) -> None:
    """A name that could be a region."""
    if not _REGION.fullmatch(region):
        raise plain(403, "PERMISSION_DENIED", f"Location {region} is not found or access is unauthorized.")


def check_name(name: str) -> None:
    """1 to 40 characters, starts with a letter."""
    if not _NAME.fullmatch(name):
        raise argument("instance_id", f"Invalid value for instance id: '{name}'. It must match {_NAME.pattern}.")


def check_instance(instance: dict[str, Any], networks: Networks) -> None:
    """A whole instance with its defaults."""
    if instance.get("tier", "TIER_UNSPECIFIED") == "TIER_UNSPECIFIED":
        raise argument("instance.tier", "tier must be specified.")
    if not _SIZE_GIB[0] <= instance.get("memorySizeGb", 0) <= _SIZE_GIB[1]:
        raise argument("instance.memory_size_gb", f"memory_size_gb must be between {_SIZE_GIB[0]} and {_SIZE_GIB[1]}.")
    if instance["redisVersion"] not in VERSIONS:
        raise argument("instance.redis_version", f"redis_version must be one of {', '.join(VERSIONS)}.")
    if instance["tier"] == "BASIC" and instance.get("replicaCount", 0):
        raise argument("instance.replica_count", "replica_count must be 0 for a BASIC tier instance.")
    broken = broken_label(instance.get("labels", {}))
    if broken:
        raise argument("instance.labels", f"Invalid label: {broken}.")
    _check_network(instance, networks)


def _check_network(instance: dict[str, Any], networks: Networks) -> None:
    network = instance["authorizedNetwork"]
    private = instance["connectMode"] == "PRIVATE_SERVICE_ACCESS"
    if not networks.has(network):
        where = [("instance.authorized_network", f"Invalid value: {network}")]
        details = [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": text} for field, text in where],
            }
        ]
        message = "authorized_network must exist in the same project as redis instance"
        line = _SERVER.format(word="INVALID_ARGUMENT", message=message)
        raise plain(400, "INVALID_ARGUMENT", f"{message}\n{line}", details)
    if private and networks.trouble(network):
        raise precondition(_NO_ACCESS)


def default_network() -> str:
    """What an instance without `authorizedNetwork` gets."""
    return f"projects/{PROJECT}/global/networks/default"
