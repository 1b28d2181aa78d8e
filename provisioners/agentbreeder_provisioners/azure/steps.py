"""From a plan to Azure steps: pure, and what `plan` prints. Six for a PostgreSQL, three for a Redis, two for a vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore, RedisStore

from ..engine.sources import EnvSource
from ..engine.steps import PREFLIGHT, Ref, Step
from .names import base_name, secret_name, vault_name, zone_name

USERNAME = "agentbreeder"  # not azure_superuser, admin, root and their like, nor pg_* (facts, section 6)
DATABASE = "agentbreeder"
SERVER_TIMEOUT_S, MANAGED_TIMEOUT_S, CACHE_TIMEOUT_S = 3600.0, 2700.0, 5400.0  # facts, section 8
VAULT_TIMEOUT_S, DNS_TIMEOUT_S, PART_TIMEOUT_S = 900.0, 900.0, 1800.0

SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"

VAULT, VAULT_ACCESS = "azure/vault", "azure/vault-access"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What every step of one agent repeats. `vault` names the user's vault or the one to make."""

    base: str
    group: str
    location: str
    vault: str
    own_vault: bool
    runtime_principal: str

    @classmethod
    def of(cls, plan: MemoryPlan) -> _Place:
        given = str(plan.network.get("key_vault_name", ""))
        return cls(
            base=base_name(plan),
            group=str(plan.network.get("resource_group", "")),
            location=plan.region,
            vault=given or vault_name(plan),
            own_vault=not given,
            runtime_principal=str(plan.network.get("runtime_principal_id", "")),
        )

    def inputs(self) -> dict[str, Any]:
        """Where a resource lives. Teardown has nothing but the record, so each one holds it."""
        return {"resource_group": self.group, "location": self.location}

    def vault_inputs(self) -> dict[str, Any]:
        """Where a secret lives. `vault_name` is the user's, so that naming another one later is seen as a change."""
        if not self.own_vault:
            ids = {k: Ref(PREFLIGHT, k) for k in ("vault_id", "vault_uri")}
            return {"vault_name": self.vault, **ids, "granted_at": ""}
        ids = {k: Ref(VAULT, k) for k in ("vault_id", "vault_uri")}
        return {"vault_name": "", **ids, "granted_at": Ref(VAULT_ACCESS, "granted_at")}

    def vault_needs(self) -> tuple[str, ...]:
        return (VAULT, VAULT_ACCESS) if self.own_vault else ()


def steps_for(plan: MemoryPlan) -> list[Step]:
    """Everything this plan needs on Azure, each step after what it needs."""
    place = _Place.of(plan)
    stores = plan.provisioned()
    steps: list[Step] = _vault(place) if place.own_vault and (stores or plan.secret_urls) else []
    for store in stores:
        steps += _postgres(plan, store, place) if isinstance(store, PostgresStore) else _redis(store, place)
    for url in plan.secret_urls:
        step_id = f"azure/{url.id}/secret"
        why = f"{url.source} carries a password, which belongs in the vault"
        steps.append(_secret(step_id, url.id, place, why, extra={"value_of": url.id}, always=True))
        steps += _access(url.id, step_id, place)
    return steps


def env_sources(plan: MemoryPlan) -> dict[str, EnvSource]:
    """Where each origin's value is found once its step is ready: the whole secret is the URL, so there is no key."""
    sources = {
        "store:postgresql": EnvSource(step="azure/postgres/url", output="secret_id", secret=True),
        "store:redis": EnvSource(step="azure/redis/url", output="secret_id", secret=True),
    }
    for url in plan.secret_urls:
        sources[f"url:{url.id}"] = EnvSource(step=f"azure/{url.id}/secret", output="secret_id", secret=True)
    return sources


def _vault(place: _Place) -> list[Step]:
    return [
        Step(
            id=VAULT,
            kind="azure.key_vault",
            name=place.vault,
            inputs={**place.inputs(), "tenant_id": Ref(PREFLIGHT, "tenant_id")},
            timeout_s=VAULT_TIMEOUT_S,
            why="no AZURE_KEY_VAULT_NAME is given, and secrets live nowhere else",
        ),
        Step(
            id=VAULT_ACCESS,
            kind="azure.role_assignment",
            name=f"{place.vault}-deployer",
            needs=(VAULT,),
            inputs={
                "scope": Ref(VAULT, "vault_id"),
                "role": SECRETS_OFFICER,
                "principal_id": Ref(PREFLIGHT, "deployer_id"),
                "principal_type": Ref(PREFLIGHT, "deployer_type"),
            },
            part_of=VAULT,
            why="who makes a vault may not put secrets into it: Key Vault Secrets Officer, on this vault only",
        ),
    ]


def _access(use: str, secret: str, place: _Place) -> list[Step]:
    if not place.runtime_principal:
        return []
    return [
        Step(
            id=f"azure/{use}/access",
            kind="azure.role_assignment",
            name=f"{secret_name(place.base, use)}-reader",
            needs=(secret,),
            inputs={
                "scope": Ref(secret, "scope"),
                "role": SECRETS_USER,
                "principal_id": place.runtime_principal,
                "principal_type": "ServicePrincipal",  # what a managed identity is; without it a new one is not found
            },
            part_of=secret,
            why="lets the agent's own identity read this one secret: Key Vault Secrets User",
        )
    ]


def _secret(
    step_id: str,
    use: str,
    place: _Place,
    why: str,
    *,
    extra: Mapping[str, Any],
    always: bool = False,
) -> Step:
    return Step(
        id=step_id,
        kind="azure.secret",
        name=secret_name(place.base, use),
        needs=place.vault_needs(),
        inputs={**place.vault_inputs(), **extra},
        timeout_s=VAULT_TIMEOUT_S,
        always=always,
        why=why,
    )


def tier_of(sku: str) -> str:
    """The tier that PostgreSQL wants beside a SKU's name, and that must fit it (facts, section 6)."""
    family = sku.removeprefix("Standard_")[:1].upper()
    return {"B": "Burstable", "E": "MemoryOptimized", "M": "MemoryOptimized"}.get(family, "GeneralPurpose")


def _zone(place: _Place) -> list[Step]:
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


def _server(plan: MemoryPlan, store: PostgresStore, place: _Place) -> Step:
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


def _postgres(plan: MemoryPlan, store: PostgresStore, place: _Place) -> list[Step]:
    why = "the password is in the vault before the server that uses it"
    secret = _secret("azure/postgres/secret", "postgres", place, why, extra={"value_of": ""})
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
    return [*steps, *_access("postgres", "azure/postgres/url", place)]


def _postgres_url(secret: Step, server: Step, last: str, place: _Place) -> Step:
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


def _redis(store: RedisStore, place: _Place) -> list[Step]:
    if store.azure_redis == "cache":
        servers = _classic_cache(store, place)
    else:
        servers = _managed_redis(store, place)
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
    return [*servers, url, *_access("redis", url.id, place)]


def _managed_redis(store: RedisStore, place: _Place) -> list[Step]:
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


def _classic_cache(store: RedisStore, place: _Place) -> list[Step]:
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
