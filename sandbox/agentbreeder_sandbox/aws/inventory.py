"""Everything that stands in the stand-in, as plain sorted data: equal before and after means that nothing was left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .world import ACCOUNT

Inventory = dict[str, list[str]]
SCHEDULED = "secrets_scheduled_for_deletion"


def take(home: str) -> Inventory:
    """Every security group with its rules, subnet groups, stores, snapshots and secrets, as `region/name`.

    Looks at `home` and at every other region that was ever asked for something, so that what went astray is seen. Of
    the others, the groups that AWS itself makes with each VPC are left out.
    """
    from moto.ec2.models import ec2_backends
    from moto.elasticache.models import elasticache_backends
    from moto.rds.models import rds_backends
    from moto.secretsmanager.models import secretsmanager_backends

    found: Inventory = {}

    def add(kind: str, region: str, names: Iterable[str]) -> None:
        found.setdefault(kind, []).extend(f"{region}/{n}" for n in names)

    all_backends = (ec2_backends, rds_backends, elasticache_backends, secretsmanager_backends)
    for region in sorted({home}.union(*(backends[ACCOUNT] for backends in all_backends))):
        ec2, rds, cache, vault = (backends[ACCOUNT][region] for backends in all_backends)
        groups = [g for by_id in ec2.groups.values() for g in by_id.values() if region == home or not g.is_default]
        add("security_groups", region, (_group(g) for g in groups))
        add("db_subnet_groups", region, rds.subnet_groups)
        add("db_instances", region, rds.databases)
        snapshots = (s for s in rds.database_snapshots.values() if s.snapshot_type == "manual")
        add("db_snapshots", region, (s.db_snapshot_identifier for s in snapshots))
        add("cache_subnet_groups", region, cache.cache_subnet_groups)
        add("cache_clusters", region, cache.cache_clusters)
        add("replication_groups", region, cache.replication_groups)
        add("secrets", region, (s.name for s in vault.secrets.values() if not s.is_deleted()))
        gone = (s.name for s in vault.secrets.values() if s.is_deleted())
        add(SCHEDULED, region, gone)
    return {kind: sorted(names) for kind, names in found.items()}


def _group(group: Any) -> str:
    return f"{group.id} {group.name} ingress={len(group.ingress_rules)} egress={len(group.egress_rules)}"
