"""ElastiCache as AWS behaves: states that take time, tags unreadable while busy, and the calls moto lacks."""

from __future__ import annotations

from typing import Any

from .world import ACCOUNT, Patches, World

VERSIONS = {"valkey": ("7.2", "8.0", "8.1"), "redis": ("6.2", "7.0", "7.1")}
_TOKEN_SPECIALS = frozenset("!&#$^<>-")


def _error(code: str, message: str) -> Exception:
    from moto.elasticache.exceptions import ElastiCacheException

    # moto finds the service's error model through the exception's module.
    kind = type("Refused", (ElastiCacheException,), {"code": code, "__module__": "moto.elasticache.exceptions"})
    error: Exception = kind(message)
    return error


def validate(backend: Any, kw: dict[str, Any]) -> None:
    """What AWS refuses in CreateReplicationGroup and moto accepts."""
    name, token, tls = kw["replication_group_id"], kw.get("auth_token"), kw.get("transit_encryption_enabled")
    if not 1 <= len(name) <= 40 or not name[0].isalpha() or "--" in name or name.endswith("-"):
        raise _error("InvalidParameterValue", "The parameter ReplicationGroupId is not a valid identifier.")
    if token and not tls:
        raise _error("InvalidParameterCombination", "AuthToken requires TransitEncryptionEnabled.")
    if token and (not 16 <= len(token) <= 128 or not all(c.isalnum() or c in _TOKEN_SPECIALS for c in token)):
        raise _error("InvalidParameterValue", "Invalid AuthToken provided.")
    engine, version = kw.get("engine"), kw.get("engine_version")
    if engine not in VERSIONS:
        raise _error("InvalidParameterValue", f"Unsupported engine {engine}")
    if version and version not in VERSIONS[engine]:
        raise _error("InvalidParameterCombination", f"Cannot find version {version} for {engine}")
    if not str(kw.get("cache_node_type") or "").startswith("cache."):
        raise _error("InvalidParameterValue", "Invalid CacheNodeType")
    group = kw.get("cache_subnet_group_name")
    if group and group not in backend.cache_subnet_groups:
        raise _error("CacheSubnetGroupNotFoundFault", f"CacheSubnetGroup {group} not found.")
    _validate_groups(backend, kw.get("security_group_ids") or [])


def _validate_groups(backend: Any, group_ids: list[str]) -> None:
    from moto.ec2.models import ec2_backends

    ec2 = ec2_backends[backend.account_id][backend.region_name]
    for group_id in group_ids:
        if ec2.get_security_group_from_id(group_id) is None:
            raise _error("InvalidParameterValue", f"Invalid security group id {group_id}")


def install(world: World, patches: Patches) -> None:
    """Patch moto's ElastiCache backend and response classes."""
    _install_groups(world, patches)
    _install_reads(world, patches)
    _install_subnet_groups(patches)


def _install_groups(world: World, patches: Patches) -> None:
    from moto.elasticache.models import ElastiCacheBackend

    def create_replication_group(self: Any, **kw: Any) -> Any:
        name = kw["replication_group_id"] = kw["replication_group_id"].lower()
        if name not in self.replication_groups:
            validate(self, kw)
        group = create(self, **kw)
        group.status = "creating"
        then = world.fail_next.pop("elasticache", "available")
        world.begin("elasticache", self.region_name, name, world.durations.cache_create_s, then)
        world.note_birth("elasticache", self.region_name, name)
        return group

    def delete_replication_group(self: Any, replication_group_id: str, retain_primary_cluster: Any = None) -> Any:
        group = self.replication_groups.get(replication_group_id)
        if group is not None and group.status not in ("available", "create-failed"):
            raise _error(
                "InvalidReplicationGroupState",
                f"Replication group {replication_group_id} has status {group.status} which is not valid for deletion.",
            )
        gone = delete(self, replication_group_id, retain_primary_cluster)
        world.begin("elasticache", self.region_name, replication_group_id, world.durations.cache_delete_s, "")
        return gone

    create = patches.replace(ElastiCacheBackend, "create_replication_group", create_replication_group)
    delete = patches.replace(ElastiCacheBackend, "delete_replication_group", delete_replication_group)


def _install_reads(world: World, patches: Patches) -> None:
    from moto.core.responses import ActionResult
    from moto.elasticache.models import ElastiCacheBackend
    from moto.elasticache.responses import ElastiCacheResponse

    def list_tags_for_resource(self: Any, arn: str) -> Any:
        group = self.replication_groups.get(arn.rsplit(":", maxsplit=1)[-1]) if ":replicationgroup:" in arn else None
        if group is not None and group.status != "available":
            raise _error(
                "InvalidReplicationGroupState", "Cluster not in available state to perform tagging operations."
            )
        return list_tags(self, arn)

    def describe_replication_groups(self: Any, replication_group_id: str | None = None) -> list[Any]:
        found: list[Any] = describe(self, replication_group_id)
        seen = [g for g in found if not world.hidden("elasticache", self.region_name, g.replication_group_id)]
        if replication_group_id and not seen:
            raise _error("ReplicationGroupNotFoundFault", f"Replication group {replication_group_id} not found.")
        return [_without_endpoint(g) for g in seen]

    def describe_cache_engine_versions(self: Any) -> Any:
        engine = self._get_param("Engine")
        rows = [
            {"Engine": e, "EngineVersion": v}
            for e, versions in VERSIONS.items()
            for v in versions
            if engine in (None, e)
        ]
        return ActionResult({"CacheEngineVersions": rows})

    list_tags = patches.replace(ElastiCacheBackend, "list_tags_for_resource", list_tags_for_resource)
    describe = patches.replace(ElastiCacheBackend, "describe_replication_groups", describe_replication_groups)
    patches.replace(ElastiCacheResponse, "describe_cache_engine_versions", describe_cache_engine_versions)


def _without_endpoint(group: Any) -> Any:
    """While a group is being created it has no endpoint yet."""
    for node_group in group.node_groups:
        if group.status == "creating":
            node_group["kept_endpoint"] = node_group.pop("primary_endpoint", None) or node_group.get("kept_endpoint")
        elif node_group.get("kept_endpoint"):
            node_group["primary_endpoint"] = node_group.pop("kept_endpoint")
    return group


def _install_subnet_groups(patches: Patches) -> None:
    from moto.core.responses import EmptyResult
    from moto.ec2.models import ec2_backends
    from moto.elasticache.models import ElastiCacheBackend
    from moto.elasticache.responses import ElastiCacheResponse

    def create_cache_subnet_group(
        self: Any, cache_subnet_group_name: str, cache_subnet_group_description: str, subnet_ids: list[str], tags: Any
    ) -> Any:
        ec2 = ec2_backends[self.account_id][self.region_name]
        known = {s for zone in ec2.subnets.values() for s in zone}
        if set(subnet_ids) - known:
            unknown = ", ".join(sorted(set(subnet_ids) - known))
            raise _error("InvalidParameterValue", f"Some input subnets in :[{unknown}] are invalid.")
        name = cache_subnet_group_name.lower()
        return create(self, name, cache_subnet_group_description, subnet_ids, tags)

    def delete_cache_subnet_group(self: Any) -> Any:
        backend, name = self.elasticache_backend, self._get_param("CacheSubnetGroupName")
        if name not in backend.cache_subnet_groups:
            raise _error("CacheSubnetGroupNotFoundFault", f"CacheSubnetGroup {name} not found.")
        if any(g.cache_subnet_group_name == name for g in backend.replication_groups.values()):
            raise _error("CacheSubnetGroupInUse", f"Cache subnet group {name} is currently in use by a cache cluster.")
        del backend.cache_subnet_groups[name]
        return EmptyResult()

    create = patches.replace(ElastiCacheBackend, "create_cache_subnet_group", create_cache_subnet_group)
    patches.replace(ElastiCacheResponse, "delete_cache_subnet_group", delete_cache_subnet_group)


def finish(world: World, region: str, name: str, status: str) -> None:
    """A change of a group is over: it gets its new status, or is gone."""
    from moto.elasticache.models import elasticache_backends

    groups = elasticache_backends[ACCOUNT][region].replication_groups
    if name not in groups:
        return
    if status:
        groups[name].status = status
    else:
        world.linger(list(groups.pop(name).security_group_ids or []))
