"""The steps of a PostgreSQL and of the two Redis products. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore, RedisStore

from ..engine.steps import PREFLIGHT, Ref, Step
from .names import secret_name, zone_name
from .vault_steps import VAULT_TIMEOUT_S, Place, access_steps, secret_step

USERNAME = "agentbreeder"  # not azure_superuser, admin, root and their like, nor pg_* (facts, section 6)
DATABASE = "agentbreeder"
SERVER_TIMEOUT_S, MANAGED_TIMEOUT_S, CACHE_TIMEOUT_S = 3600.0, 2700.0, 5400.0  # facts, section 8
DNS_TIMEOUT_S, PART_TIMEOUT_S = 900.0, 1800.0


def tier_of(sku: str) -> str:
    """The tier that PostgreSQL wants beside a SKU's name, and that must fit it (facts, section 6)."""
    family = sku.removeprefix("Standard_")[:1].upper()
    return {"B": "Burstable", "E": "MemoryOptimized", "M": "MemoryOptimized"}.get(family, "GeneralPurpose")


def _zone(place: Place) -> list[Step]:
    zone = Step(
        id="azure/postgres/dns-zone",
        kind="azure.dns_zone",
        name=zone_name(place.base),
        inputs={**place.inputs(), "existing_zone_id": Ref(PREFLIGHT, "dns_zone_id")},
        timeout_s=DNS_TIMEOUT_S,
        why="a private server needs a private DNS zone; one of yours that fits and is linked is used as it is",
    )
    link = Step(
        id="azure/postgres/dns-link",
        kind="azure.dns_link",
        name=f"{place.base}-link",
        needs=(zone.id,),
        inputs={
            **place.inputs(),
            "zone_id": Ref(zone.id, "zone_id"),
            "zone_made": Ref(zone.id, "made"),
            "vnet_id": Ref(PREFLIGHT, "vnet_id"),
        },
        timeout_s=DNS_TIMEOUT_S,
        part_of=zone.id,
        why="the network must know the zone before the server is made",
    )
    return [zone, link]


def _server(plan: MemoryPlan, store: PostgresStore, place: Place) -> Step:
    return Step(
        id="azure/postgres/server",
        kind="azure.postgres_server",
        name=f"{place.base}-pg",
        needs=("azure/postgres/dns-link", "azure/postgres/secret"),
        inputs={
            **place.inputs(),
            "engine_version": store.engine_version,
            "instance_class": store.instance_class,
            "tier": tier_of(store.instance_class),
            "storage_gib": store.storage_gib,
            "backup_days": store.backup_days,
            "multi_az": store.multi_az,
            "username": USERNAME,
            "subnet_id": str(plan.network.get("db_subnet_id", "")),
            "zone_id": Ref("azure/postgres/dns-zone", "zone_id"),
            "vault_uri": Ref("azure/postgres/secret", "vault_uri"),
            "password_id": Ref("azure/postgres/secret", "secret_id"),
        },
        timeout_s=SERVER_TIMEOUT_S,
        why=store.why,
    )


def _part(step_id: str, kind: str, name: str, needs: str, parent: str, inputs: Mapping[str, Any], why: str) -> Step:
    return Step(
        id=step_id,
        kind=kind,
        name=name,
        needs=(needs,),
        inputs=inputs,
        part_of=parent,
        timeout_s=PART_TIMEOUT_S,
        why=why,
    )


def postgres_steps(plan: MemoryPlan, store: PostgresStore, place: Place) -> list[Step]:
    """Zone and link, secret, server, what is inside it, and the URL."""
    why = "the password is in the vault before the server that uses it"
    secret = secret_step("azure/postgres/secret", "postgres", place, why, extra={"value_of": ""})
    server = _server(plan, store, place)
    # The server takes one change at a time (facts, section 6), so what is inside it comes one after the other.
    where = {**place.inputs(), "server": Ref(server.id, "name")}
    database_id, last = "azure/postgres/database", "azure/postgres/database"
    why = "the agent's own database"
    steps = [*_zone(place), secret, server]
    steps.append(_part(database_id, "azure.postgres_database", DATABASE, server.id, server.id, where, why))
    if any(use != "memory" for use in store.uses):
        last = "azure/postgres/extensions"
        why = "a knowledge base stores vectors, and an extension must be on the server's list before it can be created"
        inputs = {**where, "extensions": ["vector"]}
        name = "azure.extensions"
        steps.append(_part(last, "azure.postgres_extensions", name, database_id, server.id, inputs, why))
    steps.append(_postgres_url(secret, server, last, place))
    return [*steps, *access_steps("postgres", "azure/postgres/url", place)]


def _postgres_url(secret: Step, server: Step, last: str, place: Place) -> Step:
    return Step(
        id="azure/postgres/url",
        kind="azure.secret_url",
        name=secret.name,
        needs=tuple(dict.fromkeys((*place.vault_needs(), secret.id, server.id, last))),
        inputs={
            **place.vault_inputs(),
            "secret": Ref(secret.id, "name"),
            "password_id": Ref(secret.id, "secret_id"),
            "username": USERNAME,
            "host": Ref(server.id, "host"),
            "port": Ref(server.id, "port"),
            "database": DATABASE,
        },
        part_of=secret.id,
        timeout_s=VAULT_TIMEOUT_S,
        why="puts the full connection URL into the vault as the secret's new version, for the container to read",
    )


def redis_steps(store: RedisStore, place: Place) -> list[Step]:
    """One of the two products, and the URL with its key."""
    servers = _classic_cache(store, place) if store.azure_redis == "cache" else _managed_redis(store, place)
    url = Step(
        id="azure/redis/url",
        kind="azure.redis_url",
        name=secret_name(place.base, "redis"),
        needs=(*place.vault_needs(), *(s.id for s in servers)),
        inputs={
            **place.vault_inputs(),
            "product": store.azure_redis or "managed",
            "cache_id": Ref(servers[-1].id, "cache_id"),
            "host": Ref(servers[0].id, "host"),
            "port": Ref(servers[-1].id, "port"),
        },
        timeout_s=VAULT_TIMEOUT_S,
        why="the full connection URL with its key goes into the vault, for the container to read",
    )
    return [*servers, url, *access_steps("redis", url.id, place)]


def _managed_redis(store: RedisStore, place: Place) -> list[Step]:
    cluster = Step(
        id="azure/redis/cluster",
        kind="azure.managed_redis",
        name=f"{place.base}-redis",
        inputs={**place.inputs(), "instance_class": store.instance_class, "multi_az": store.multi_az},
        timeout_s=MANAGED_TIMEOUT_S,
        why=store.why,
    )
    database = Step(
        id="azure/redis/database",
        kind="azure.managed_redis_database",
        name="default",  # the only name the service allows (facts, section 2)
        needs=(cluster.id,),
        inputs={
            **place.inputs(),
            "cluster": Ref(cluster.id, "name"),
            "clustering_policy": clustering_policy(store.instance_class),
        },
        part_of=cluster.id,
        timeout_s=MANAGED_TIMEOUT_S,
        why="Azure Managed Redis is two resources: the cluster, and the one database in it",
    )
    return [cluster, database]


def clustering_policy(sku: str) -> str:
    """One plain endpoint for ordinary clients: not clustered up to 24 GB, which the size's number follows, else one
    proxy in front. The service's default would need a cluster client (facts, section 2)."""
    size = "".join(c for c in sku.rpartition("_")[2] if c.isdigit())
    return "NoCluster" if size and int(size) <= 20 else "EnterpriseCluster"


def _classic_cache(store: RedisStore, place: Place) -> list[Step]:
    return [
        Step(
            id="azure/redis/cache",
            kind="azure.redis_cache",
            name=f"{place.base}-redis",
            inputs={**place.inputs(), "instance_class": store.instance_class},
            timeout_s=CACHE_TIMEOUT_S,
            why=store.why,
        )
    ]
