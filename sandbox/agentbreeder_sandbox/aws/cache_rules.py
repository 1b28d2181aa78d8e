"""What ElastiCache refuses and moto accepts, and what it offers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

VERSIONS = {"valkey": ("7.2", "8.0", "8.1"), "redis": ("6.2", "7.0", "7.1")}
"""What can be made as a replication group; the last of each is the default."""
_GROUP_ID = re.compile(r"[A-Za-z](?:-?[A-Za-z0-9]){0,39}")
_MAX_GROUP_ID = 40
_SUBNET_GROUP_NAME = re.compile(r"[A-Za-z0-9-]{1,255}")
_TOKEN = re.compile(r"[A-Za-z0-9!&#$^<>-]{16,128}")


def refusal(code: str, message: str) -> Exception:
    """The error that ElastiCache answers with."""
    from moto.elasticache.exceptions import ElastiCacheException

    # moto finds the service's error model through the exception's module.
    kind = type("Refused", (ElastiCacheException,), {"code": code, "__module__": "moto.elasticache.exceptions"})
    error: Exception = kind(message)
    return error


def not_found(kind: str, name: str) -> Exception:
    """`kind` is `ReplicationGroup` or `CacheSubnetGroup`."""
    return refusal(f"{kind}NotFoundFault", f"{kind} {name} not found.")


def check_create(backend: Any, kw: dict[str, Any]) -> None:
    """Refuse a CreateReplicationGroup that AWS would refuse."""
    name, token = kw["replication_group_id"], kw.get("auth_token")
    if len(name) > _MAX_GROUP_ID or not _GROUP_ID.fullmatch(name):
        raise refusal("InvalidParameterValue", "The parameter ReplicationGroupId is not a valid identifier.")
    if token and not kw.get("transit_encryption_enabled"):
        raise refusal("InvalidParameterCombination", "AuthToken requires TransitEncryptionEnabled.")
    if token and not _TOKEN.fullmatch(token):
        raise refusal("InvalidParameterValue", "Invalid AuthToken provided.")
    engine, version = kw.get("engine") or "redis", kw.get("engine_version")
    if engine not in VERSIONS:
        raise refusal("InvalidParameterValue", f"Unsupported engine {engine}: it must be valkey or redis.")
    if version and version not in VERSIONS[engine]:
        raise refusal("InvalidParameterCombination", f"Cannot find version {version} for {engine}")
    if not str(kw.get("cache_node_type") or "").startswith("cache."):
        raise refusal("InvalidParameterValue", f"Invalid Cache Node Type: {kw.get('cache_node_type')}.")
    _check_nodes(kw)
    _check_network(backend, kw)


def _check_nodes(kw: dict[str, Any]) -> None:
    nodes = int(kw.get("num_cache_clusters") or 1) + int(kw.get("replicas_per_node_group") or 0)
    if kw.get("multi_az_enabled") and not kw.get("automatic_failover_enabled"):
        raise refusal("InvalidParameterCombination", "Multi-AZ requires AutomaticFailoverEnabled.")
    if kw.get("automatic_failover_enabled") and nodes < 2:
        raise refusal("InvalidParameterCombination", "Automatic failover requires at least one replica.")


def _check_network(backend: Any, kw: dict[str, Any]) -> None:
    from moto.ec2.models import ec2_backends

    name = kw.get("cache_subnet_group_name")
    group = backend.cache_subnet_groups.get(name) if name else None
    if name and group is None:
        raise not_found("CacheSubnetGroup", name)
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    for group_id in kw.get("security_group_ids") or ():
        found = ec2.get_security_group_from_id(group_id)
        if found is None:
            raise refusal("InvalidParameterValue", f"Invalid security group id {group_id}")
        if group is not None and found.vpc_id != group.vpc_id:
            # No report gives AWS's wording for this one.
            raise refusal("InvalidParameterCombination", f"{group_id} and the subnet group are in different VPCs.")


def check_subnet_group(ec2: Any, name: str, subnet_ids: Iterable[str]) -> None:
    """Refuse a cache subnet group of a bad name or of subnets that this region does not have."""
    if not _SUBNET_GROUP_NAME.fullmatch(name):
        raise refusal("InvalidParameterValue", "The parameter CacheSubnetGroupName is not a valid identifier.")
    known = {subnet_id for by_id in ec2.subnets.values() for subnet_id in by_id}
    unknown = sorted(set(subnet_ids) - known)
    if unknown:
        raise refusal("InvalidParameterValue", f"Some input subnets in :[{', '.join(unknown)}] are invalid.")


def short_region(region: str) -> str:
    """How a region is written in an endpoint: `us-east-1` is `use1`, `ap-northeast-2` is `apne2`."""
    area, *directions, number = region.split("-")
    words = "".join(directions)
    return area + "".join(re.findall(r"(n(?=orth)|s(?=outh)|e(?=ast)|w(?=est)|c(?=entral)|g(?=ov))", words)) + number
