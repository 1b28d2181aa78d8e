"""ElastiCache as AWS behaves: states that take time, endpoints, tags unreadable while busy, the calls moto lacks."""

from __future__ import annotations

from typing import Any

from .cache_rules import VERSIONS, check_create, check_subnet_group, not_found, refusal, short_region
from .world import ACCOUNT, Due, Patches, World

_ACCOUNT_PART = "sbx001"  # AWS has one such word per account and region in every endpoint
_DELETABLE = frozenset({"available", "create-failed"})


def install(world: World, patches: Patches) -> None:
    """Patch moto's ElastiCache backend and response classes."""
    _install_life_cycle(world, patches)
    _install_describe(world, patches)
    _install_tags(world, patches)
    _install_subnet_groups(patches)
    _install_offers(patches)


def finish(world: World, due: Due) -> None:
    """A change of a group is over: it gets its new status, or is gone."""
    from moto.elasticache.models import elasticache_backends

    groups = elasticache_backends[ACCOUNT][due.region].replication_groups
    group = groups.get(due.name)
    if group is None:
        return
    if not due.status:
        world.linger(groups.pop(due.name).security_group_ids or (), due.at)
        return
    group.status = due.status
    if due.status == "available":
        group.node_groups = group.node_groups_when_ready


def _install_life_cycle(world: World, patches: Patches) -> None:
    from moto.elasticache.models import ElastiCacheBackend

    def create_replication_group(self: Any, **kw: Any) -> Any:
        name = kw["replication_group_id"] = kw["replication_group_id"].lower()
        kw["cache_subnet_group_name"] = (kw.get("cache_subnet_group_name") or "").lower() or None
        if name not in self.replication_groups:
            check_create(self, kw)
        if kw.get("at_rest_encryption_enabled") is None:
            kw["at_rest_encryption_enabled"] = kw.get("engine") == "valkey"
        if kw.get("num_cache_clusters") and kw.get("cluster_mode") in (None, "disabled"):
            kw["replicas_per_node_group"] = kw["num_cache_clusters"] - 1  # moto counts only these
        group = create(self, **kw)
        group.status = "creating"
        _give_addresses(group, self.region_name, world)
        group.node_groups_when_ready, group.node_groups = group.node_groups, []
        then = world.fail_next.pop("elasticache", "available")
        world.begin("elasticache", self.region_name, name, (world.durations.cache_create_s, then))
        world.note_birth("elasticache", self.region_name, name)
        return group

    def delete_replication_group(self: Any, replication_group_id: str, retain_primary_cluster: Any = None) -> Any:
        name = replication_group_id.lower()
        group = self.replication_groups.get(name)
        if group is not None and group.status not in _DELETABLE:
            raise refusal(
                "InvalidReplicationGroupState",
                f"Replication group {name} has status {group.status} which is not valid for deletion.",
            )
        gone = delete(self, name, retain_primary_cluster)
        world.begin("elasticache", self.region_name, name, (world.durations.cache_delete_s, ""))
        return gone

    create = patches.replace(ElastiCacheBackend, "create_replication_group", create_replication_group)
    delete = patches.replace(ElastiCacheBackend, "delete_replication_group", delete_replication_group)


def _give_addresses(group: Any, region: str, world: World) -> None:
    """Endpoints in AWS's form, which tells whether the group speaks TLS. Groups in cluster mode keep moto's."""
    name, port, zone = group.replication_group_id, group.port, f"{short_region(region)}.cache.amazonaws.com"
    if group.cluster_mode == "enabled":
        return
    if group.transit_encryption_enabled:
        domain = f"{name}.{_ACCOUNT_PART}.{zone}"
        primary, reader, member = f"master.{domain}", f"replica.{domain}", "{}." + domain
    elif world.plane is not None:
        # Real ones are named; what they lead to is one server here, so every name is its address.
        primary, port = world.plane.redis(f"{name} {world.clock.now()}", port)
        reader = member = primary
    else:
        primary = f"{name}.{_ACCOUNT_PART}.ng.0001.{zone}"
        reader = f"{name}-ro.{_ACCOUNT_PART}.ng.0001.{zone}"
        member = "{}." + f"{_ACCOUNT_PART}.0001.{zone}"
    for nodes in group.node_groups:
        nodes["primary_endpoint"] = {"address": primary, "port": port}
        nodes["reader_endpoint"] = {"address": reader, "port": port}
        for node in nodes["node_group_members"]:
            node["read_endpoint"] = {"address": member.format(node["cache_cluster_id"]), "port": port}


def _install_describe(world: World, patches: Patches) -> None:
    from moto.elasticache.models import ElastiCacheBackend

    def describe_replication_groups(self: Any, replication_group_id: str | None = None) -> list[Any]:
        name = replication_group_id.lower() if replication_group_id else None
        found: list[Any] = describe(self, name)
        seen = [g for g in found if not world.hidden("elasticache", self.region_name, g.replication_group_id)]
        if name and not seen:
            raise not_found("ReplicationGroup", name)
        return seen

    describe = patches.replace(ElastiCacheBackend, "describe_replication_groups", describe_replication_groups)


def _install_tags(world: World, patches: Patches) -> None:
    from moto.elasticache.models import ElastiCacheBackend

    def refuse(backend: Any, arn: str) -> None:
        kind, _, name = arn.rpartition(":")
        if kind.endswith(":subnetgroup") and name not in backend.cache_subnet_groups:
            raise not_found("CacheSubnetGroup", name)
        if not kind.endswith(":replicationgroup"):
            return
        group = backend.replication_groups.get(name)
        if group is None or world.hidden("elasticache", backend.region_name, name):
            raise not_found("ReplicationGroup", name)
        if group.status != "available":
            raise refusal(
                "InvalidReplicationGroupState", "Cluster not in available state to perform tagging operations."
            )

    def list_tags_for_resource(self: Any, arn: str) -> Any:
        refuse(self, arn)
        return list_tags(self, arn)

    def add_tags_to_resource(self: Any, arn: str, tags: Any) -> None:
        refuse(self, arn)
        add_tags(self, arn, tags)

    list_tags = patches.replace(ElastiCacheBackend, "list_tags_for_resource", list_tags_for_resource)
    add_tags = patches.replace(ElastiCacheBackend, "add_tags_to_resource", add_tags_to_resource)


def _install_subnet_groups(patches: Patches) -> None:
    from moto.core.responses import EmptyResult
    from moto.ec2.models import ec2_backends
    from moto.elasticache.models import ElastiCacheBackend
    from moto.elasticache.responses import ElastiCacheResponse

    def create_cache_subnet_group(
        self: Any, cache_subnet_group_name: str, cache_subnet_group_description: str, subnet_ids: list[str], tags: Any
    ) -> Any:
        check_subnet_group(ec2_backends[self.account_id][self.region_name], cache_subnet_group_name, subnet_ids)
        return create(self, cache_subnet_group_name.lower(), cache_subnet_group_description, subnet_ids, tags)

    def describe_cache_subnet_groups(self: Any, cache_subnet_group_name: str | None = None) -> Any:
        return describe(self, cache_subnet_group_name.lower() if cache_subnet_group_name else None)

    def delete_cache_subnet_group(self: Any) -> Any:
        backend, name = self.elasticache_backend, self._get_param("CacheSubnetGroupName").lower()
        if name not in backend.cache_subnet_groups:
            raise not_found("CacheSubnetGroup", name)
        users = [*backend.replication_groups.values(), *backend.cache_clusters.values()]
        if any((u.cache_subnet_group_name or "").lower() == name for u in users):
            raise refusal("CacheSubnetGroupInUse", f"Cache subnet group {name} is currently in use by a cache cluster.")
        del backend.cache_subnet_groups[name]
        return EmptyResult()

    create = patches.replace(ElastiCacheBackend, "create_cache_subnet_group", create_cache_subnet_group)
    describe = patches.replace(ElastiCacheBackend, "describe_cache_subnet_groups", describe_cache_subnet_groups)
    patches.replace(ElastiCacheResponse, "delete_cache_subnet_group", delete_cache_subnet_group)


def _install_offers(patches: Patches) -> None:
    from moto.core.responses import ActionResult
    from moto.elasticache.responses import ElastiCacheResponse

    def describe_cache_engine_versions(self: Any) -> Any:
        engine, version = self._get_param("Engine"), self._get_param("EngineVersion")
        rows = [
            {"Engine": e, "EngineVersion": v, "CacheParameterGroupFamily": f"{e}{v.partition('.')[0]}"}
            for e, versions in VERSIONS.items()
            for v in versions
            if engine in (None, e) and version in (None, v)
        ]
        return ActionResult({"CacheEngineVersions": rows})

    patches.replace(ElastiCacheResponse, "describe_cache_engine_versions", describe_cache_engine_versions)
