"""A store's sizes: what `memory.provision` says for the memory's store, and safe small defaults for the rest."""

from __future__ import annotations

from typing import Any

from .plan_types import PostgresStore, RedisStore
from .provision import sizes_of
from .spec import AgentSpec


def _asked(spec: AgentSpec, uses: tuple[str, ...]) -> dict[str, Any]:
    """`memory.provision` sizes the memory's store; a knowledge base's own PostgreSQL takes only its protection."""
    provision = spec.memory.provision
    if "memory" in uses:
        return provision
    return {k: v for k, v in provision.items() if k == "deletion_protection"}


def postgres_store(spec: AgentSpec, *, uses: tuple[str, ...], provision: bool, why: str) -> PostgresStore:
    """A PostgreSQL store; sizes are filled in only when it is to be made."""
    sizes = sizes_of(spec.cloud, "postgresql")
    if not provision or sizes is None:
        return PostgresStore(uses=uses, provision=provision, why=why)
    asked = _asked(spec, uses)
    return PostgresStore(
        uses=uses,
        provision=True,
        why=why,
        instance_class=asked.get("instance_class", sizes.instance_class),
        storage_gib=asked.get("storage_gib", sizes.storage[0] if sizes.storage else 0),
        engine_version=asked.get("engine_version", sizes.engines["postgres"][0]),
        backup_days=asked.get("backup_days", sizes.backups[0] if sizes.backups else 0),
        multi_az=asked.get("multi_az", False),
        deletion_protection=asked.get("deletion_protection", False),
    )


def redis_store(spec: AgentSpec, *, uses: tuple[str, ...], provision: bool, why: str) -> RedisStore:
    """A Redis-protocol store; sizes are filled in only when it is to be made."""
    asked = _asked(spec, uses)
    product = asked.get("azure_redis", "managed") if spec.cloud == "azure" else ""
    sizes = sizes_of(spec.cloud, "redis", product)
    if not provision or sizes is None:
        return RedisStore(uses=uses, provision=provision, why=why)
    engine = asked.get("engine", next(iter(sizes.engines)))
    return RedisStore(
        uses=uses,
        provision=True,
        why=why,
        engine=engine,
        instance_class=asked.get("instance_class", sizes.instance_class),
        engine_version=asked.get("engine_version", sizes.engines.get(engine, ("",))[0]),
        backup_days=asked.get("backup_days", sizes.backups[0] if sizes.backups else 0),
        multi_az=asked.get("multi_az", False),
        tls=spec.cloud == "azure" or asked.get("tls", False),
        azure_redis=product,
    )
