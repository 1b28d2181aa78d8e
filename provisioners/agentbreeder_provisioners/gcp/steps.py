"""From a plan to Google Cloud steps: pure, and what `plan` prints. Five for a PostgreSQL, one or three for a Redis."""

from __future__ import annotations

from typing import Any

from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore, RedisStore

from ..engine.sources import EnvSource
from ..engine.steps import PREFLIGHT, Ref, Step
from .names import base_name, network_path

USERNAME = "agentbreeder"  # `postgres` exists from the start without a password; ours is a user of its own
DATABASE = "agentbreeder"
SQL_TIMEOUT_S, REDIS_TIMEOUT_S = 3600.0, 2700.0
CA_VARIABLE = "REDIS_CA_PEM_BASE64"
"""Plain variable with the certificate authorities of a TLS Redis, PEM in base64: Google signs each with its own."""


def steps_for(plan: MemoryPlan) -> list[Step]:
    """Everything this plan needs on Google Cloud, each step after what it needs."""
    base = _base(plan)
    steps: list[Step] = []
    for store in plan.provisioned():
        if isinstance(store, PostgresStore):
            steps += _postgres(plan, store, base)
        else:
            steps += _redis(plan, store, base)
    for url in plan.secret_urls:
        why = f"{url.source} carries a password, which belongs in the vault"
        steps += _secret(plan, url.id, base, why, value_of=url.id, always=True)
    return steps


def env_sources(plan: MemoryPlan) -> dict[str, EnvSource]:
    """Where each origin's value is found once its step is ready."""
    sources = {
        "store:postgresql": EnvSource(step="gcp/postgres/url", output="version", secret=True),
        "store:redis": EnvSource(step="gcp/redis/instance", output="url", secret=False),
    }
    if any(isinstance(s, RedisStore) and s.tls for s in plan.provisioned()):
        sources["store:redis"] = EnvSource(step="gcp/redis/url", output="version", secret=True)
        sources[f"env:{CA_VARIABLE}"] = EnvSource(step="gcp/redis/instance", output="ca_pem_base64", secret=False)
    for url in plan.secret_urls:
        sources[f"url:{url.id}"] = EnvSource(step=f"gcp/{url.id}/secret", output="version", secret=True)
    return sources


def _base(plan: MemoryPlan) -> str:
    return base_name(project=_project(plan), agent=plan.agent, team=plan.team, region=plan.region)


def _project(plan: MemoryPlan) -> str:
    return str(plan.network.get("project", ""))


def _network(plan: MemoryPlan) -> str:
    return network_path(_project(plan), str(plan.network.get("vpc_network", "") or "default"))


def _secret(plan: MemoryPlan, use: str, base: str, why: str, *, always: bool = False, **inputs: Any) -> list[Step]:
    """The secret, and the runtime's right to read this one secret when its service account is named."""
    secret = Step(
        id=f"gcp/{use}/secret",
        kind="gcp.secret",
        name=f"{base}-{use}",
        inputs={"project": _project(plan), **inputs},
        always=always,
        why=why,
    )
    account = str(plan.network.get("runtime_service_account", ""))
    if not account:
        return [secret]
    access = Step(
        id=f"gcp/{use}/secret-access",
        kind="gcp.secret_access",
        name=secret.name,
        needs=(secret.id,),
        inputs={"secret": Ref(secret.id, "secret"), "member": f"serviceAccount:{account}"},
        part_of=secret.id,
        why=f"lets {account} read this one secret, and no other",
    )
    return [secret, access]


def _url(use: str, base: str, needs: tuple[str, ...], **inputs: Any) -> Step:
    return Step(
        id=f"gcp/{use}/url",
        kind="gcp.secret_url",
        name=f"{base}-{use}",
        needs=(f"gcp/{use}/secret", *needs),
        inputs={"secret": Ref(f"gcp/{use}/secret", "secret"), **inputs},
        part_of=f"gcp/{use}/secret",
        why="puts the full connection URL into the secret as a version of its own, for the container to read",
    )


def _sql_instance(plan: MemoryPlan, store: PostgresStore, base: str) -> Step:
    return Step(
        id="gcp/postgres/instance",
        kind="gcp.sql_instance",
        name=f"{base}-pg",
        needs=("gcp/postgres/secret",),
        inputs={
            "project": _project(plan),
            "region": plan.region,
            "network": _network(plan),
            "engine_version": store.engine_version,
            "instance_class": store.instance_class,
            "storage_gib": store.storage_gib,
            "backup_days": store.backup_days,
            "multi_az": store.multi_az,
            "deletion_protection": store.deletion_protection,
        },
        timeout_s=SQL_TIMEOUT_S,
        why=store.why,
    )


def _postgres(plan: MemoryPlan, store: PostgresStore, base: str) -> list[Step]:
    why = "the password is in the vault before the database that uses it"
    secret = _secret(plan, "postgres", base, why, password=True)
    instance = _sql_instance(plan, store, base)
    where = {"project": _project(plan), "instance": Ref(instance.id, "name")}
    database = Step(
        id="gcp/postgres/database",
        kind="gcp.sql_database",
        name=DATABASE,
        needs=(instance.id,),
        inputs=where,
        part_of=instance.id,
        why="a database of the agent's own; Cloud SQL changes one thing at a time, so it comes before the user",
    )
    user = Step(
        id="gcp/postgres/user",
        kind="gcp.sql_user",
        name=USERNAME,
        needs=(database.id, "gcp/postgres/secret"),
        inputs={**where, "password_version": Ref("gcp/postgres/secret", "version")},
        part_of=instance.id,
        why="the user of the connection URL, with the password that is in the vault already",
    )
    url = _url(
        "postgres",
        base,
        (instance.id, user.id),
        family="postgresql",
        host=Ref(instance.id, "host"),
        port=Ref(instance.id, "port"),
        database=DATABASE,
        username=USERNAME,
        password_version=Ref("gcp/postgres/secret", "version"),
    )
    return [*secret, instance, database, user, url]


def _redis(plan: MemoryPlan, store: RedisStore, base: str) -> list[Step]:
    tier, _, size = store.instance_class.rpartition("_") if store.instance_class.endswith("GB") else (
        store.instance_class, "", "1GB",
    )  # fmt: skip
    instance = Step(
        id="gcp/redis/instance",
        kind="gcp.redis_instance",
        name=f"{base}-redis",
        inputs={
            "project": _project(plan),
            "region": plan.region,
            "network": _network(plan),
            "connect_mode": Ref(PREFLIGHT, "redis_connect_mode"),
            "engine_version": store.engine_version,
            "tier": "STANDARD_HA" if store.multi_az else tier,
            "memory_gib": int(size.removesuffix("GB")),
            "tls": store.tls,
        },
        timeout_s=REDIS_TIMEOUT_S,
        why=store.why,
    )
    if not store.tls:
        return [instance]
    secret = _secret(plan, "redis", base, "holds the connection URL, whose AUTH string Google makes", password=False)
    url = _url(
        "redis",
        base,
        (instance.id,),
        family="redis",
        host=Ref(instance.id, "host"),
        port=Ref(instance.id, "port"),
        database="0",
        auth_of=Ref(instance.id, "name"),
    )
    return [instance, *secret, url]
