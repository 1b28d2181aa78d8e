"""Everything that stands in the stand-in, as plain sorted data: equal before and after means that nothing was left."""

from __future__ import annotations

from collections.abc import Iterable

from .world import ACCOUNT

Inventory = dict[str, list[str]]


def take(regions: Iterable[str]) -> Inventory:
    """Every security group with its rules, subnet groups, stores, snapshots and secrets of these regions."""
    from moto.ec2.models import ec2_backends
    from moto.elasticache.models import elasticache_backends
    from moto.rds.models import rds_backends
    from moto.secretsmanager.models import secretsmanager_backends

    found: Inventory = {}

    def add(kind: str, region: str, names: Iterable[str]) -> None:
        found.setdefault(kind, []).extend(f"{region}/{n}" for n in names)

    for region in regions:
        ec2, rds = ec2_backends[ACCOUNT][region], rds_backends[ACCOUNT][region]
        cache, vault = elasticache_backends[ACCOUNT][region], secretsmanager_backends[ACCOUNT][region]
        groups = [g for by_id in ec2.groups.values() for g in by_id.values()]
        add("security_groups", region, (f"{g.id} {g.name} rules={len(g.ingress_rules)}" for g in groups))
        add("db_subnet_groups", region, rds.subnet_groups)
        add("db_instances", region, rds.databases)
        snapshots = (s for s in rds.database_snapshots.values() if s.snapshot_type == "manual")
        add("db_snapshots", region, (s.db_snapshot_identifier for s in snapshots))
        add("cache_subnet_groups", region, cache.cache_subnet_groups)
        add("replication_groups", region, cache.replication_groups)
        add("secrets", region, (s.name for s in vault.secrets.values() if not s.is_deleted()))
        gone = (s.name for s in vault.secrets.values() if s.is_deleted())
        add("secrets_scheduled_for_deletion", region, gone)
    return {kind: sorted(names) for kind, names in found.items()}
