"""A plan as JSON: secret-free, and the same bytes for the same input."""

from __future__ import annotations

from typing import Any

from .plan_types import MemoryPlan, PostgresStore, Store


def plan_to_json(plan: MemoryPlan) -> dict[str, Any]:
    """Every decision of the plan. A secret shows only where it will come from, never as a value."""
    return {
        "agent": plan.agent,
        "version": plan.version,
        "team": plan.team,
        "cloud": plan.cloud,
        "region": plan.region,
        "memory_backend": plan.memory_backend,
        "ttl_seconds": plan.ttl_seconds,
        "stores": [_store(s) for s in plan.stores],
        "env": dict(plan.env),
        "secret_env": {k: {"origin": v.origin, "key": v.key} for k, v in plan.secret_env.items()},
        "network": dict(plan.network),
        "findings": [f.to_json() for f in plan.findings],
    }


def _store(store: Store) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": store.kind,
        "uses": list(store.uses),
        "provision": store.provision,
        "why": store.why,
    }
    if not store.provision:
        return shown
    shown |= {
        "instance_class": store.instance_class,
        "engine_version": store.engine_version,
        "backup_days": store.backup_days,
        "multi_az": store.multi_az,
    }
    if isinstance(store, PostgresStore):
        return {**shown, "storage_gib": store.storage_gib, "deletion_protection": store.deletion_protection}
    shown |= {"engine": store.engine, "tls": store.tls}
    return {**shown, "azure_redis": store.azure_redis} if store.azure_redis else shown
