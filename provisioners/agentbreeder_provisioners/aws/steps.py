"""From a plan to AWS steps: pure, and what `plan` prints. Six for a PostgreSQL, three or five for a Redis."""

from __future__ import annotations

from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore, RedisStore

from ..engine.sources import EnvSource
from ..engine.steps import PREFLIGHT, Ref, Step
from .names import base_name, secret_name

USERNAME = "agentbreeder"  # 1-16 letters; `admin` and `rdsadmin` are refused, `pg_*` is reserved (facts, section 3)
DATABASE = "agentbreeder"
INSTANCE_TIMEOUT_S, CACHE_TIMEOUT_S = 2700.0, 2700.0


def steps_for(plan: MemoryPlan) -> list[Step]:
    """Everything this plan needs on AWS, each step after what it needs."""
    base = base_name(agent=plan.agent, team=plan.team, region=plan.region)
    steps: list[Step] = []
    for store in plan.provisioned():
        if isinstance(store, PostgresStore):
            steps += _postgres(plan, store, base)
        else:
            steps += _redis(plan, store, base)
    steps += [
        Step(
            id=f"aws/{url.id}/secret",
            kind="aws.secret",
            name=secret_name(base, url.id),
            inputs={"value_of": url.id},
            always=True,
            why=f"{url.source} carries a password, which belongs in the vault",
        )
        for url in plan.secret_urls
    ]
    return steps


def env_sources(plan: MemoryPlan) -> dict[str, EnvSource]:
    """Where each origin's value is found once its step is ready."""
    sources = {
        "store:postgresql": EnvSource(step="aws/postgres/url", output="secret_arn", secret=True, key="url"),
        "store:redis": EnvSource(step="aws/redis/replication-group", output="url", secret=False),
    }
    if any(isinstance(s, RedisStore) and s.tls for s in plan.provisioned()):
        sources["store:redis"] = EnvSource(step="aws/redis/url", output="secret_arn", secret=True, key="url")
    for url in plan.secret_urls:
        sources[f"url:{url.id}"] = EnvSource(step=f"aws/{url.id}/secret", output="arn", secret=True, key="url")
    return sources


def _network(plan: MemoryPlan, store: str, base: str, port: int) -> list[Step]:
    name = f"{base}-pg" if store == "postgres" else f"{base}-redis"
    group_kind = "aws.db_subnet_group" if store == "postgres" else "aws.cache_subnet_group"
    return [
        Step(
            id=f"aws/{store}/security-group",
            kind="aws.security_group",
            name=name,
            inputs={
                "vpc_id": Ref(PREFLIGHT, "vpc_id"),
                "port": port,
                "source_group_ids": list(plan.network.get("security_group_ids", ())),
            },
            why=f"opens port {port} to the agent's own security groups, and to nobody else",
        ),
        Step(
            id=f"aws/{store}/subnet-group",
            kind=group_kind,
            name=name,
            inputs={"subnet_ids": list(plan.network.get("subnet_ids", ()))},
            why="keeps the store inside the subnets you named",
        ),
    ]


def _secret(store: str, base: str, why: str) -> Step:
    return Step(
        id=f"aws/{store}/secret",
        kind="aws.secret",
        name=secret_name(base, store),
        inputs={"username": USERNAME if store == "postgres" else "default"},
        why=why,
    )


def _url(store: str, base: str, family: str, server: str) -> Step:
    return Step(
        id=f"aws/{store}/url",
        kind="aws.secret_url",
        name=secret_name(base, store),
        needs=(f"aws/{store}/secret", server),
        inputs={
            "secret_arn": Ref(f"aws/{store}/secret", "arn"),
            "host": Ref(server, "host"),
            "port": Ref(server, "port"),
            "database": DATABASE if family == "postgresql" else "0",
            "family": family,
        },
        part_of=f"aws/{store}/secret",
        why="puts the full connection URL beside the password, for the container to read",
    )


def _postgres(plan: MemoryPlan, store: PostgresStore, base: str) -> list[Step]:
    instance = Step(
        id="aws/postgres/instance",
        kind="aws.db_instance",
        name=f"{base}-pg",
        needs=("aws/postgres/security-group", "aws/postgres/subnet-group", "aws/postgres/secret"),
        inputs={
            "engine_version": store.engine_version,
            "instance_class": store.instance_class,
            "storage_gib": store.storage_gib,
            "backup_days": store.backup_days,
            "multi_az": store.multi_az,
            "deletion_protection": store.deletion_protection,
            "database": DATABASE,
            "subnet_group": Ref("aws/postgres/subnet-group", "name"),
            "security_group_id": Ref("aws/postgres/security-group", "group_id"),
            "secret_arn": Ref("aws/postgres/secret", "arn"),
        },
        timeout_s=INSTANCE_TIMEOUT_S,
        why=store.why,
    )
    secret = _secret("postgres", base, "the password is in the vault before the database that uses it")
    return [
        *_network(plan, "postgres", base, 5432),
        secret,
        instance,
        _url("postgres", base, "postgresql", instance.id),
    ]


def _redis(plan: MemoryPlan, store: RedisStore, base: str) -> list[Step]:
    needs = ["aws/redis/security-group", "aws/redis/subnet-group"]
    inputs = {
        "engine": store.engine,
        "engine_major": store.engine_version,
        "engine_version": Ref(PREFLIGHT, "cache_engine_version"),
        "instance_class": store.instance_class,
        "backup_days": store.backup_days,
        "multi_az": store.multi_az,
        "tls": store.tls,
        "subnet_group": Ref("aws/redis/subnet-group", "name"),
        "security_group_id": Ref("aws/redis/security-group", "group_id"),
    }
    steps = _network(plan, "redis", base, 6379)
    if store.tls:
        steps.append(_secret("redis", base, "the auth token is in the vault before the store that uses it"))
        inputs["secret_arn"] = Ref("aws/redis/secret", "arn")
        needs.append("aws/redis/secret")
    group = Step(
        id="aws/redis/replication-group",
        kind="aws.replication_group",
        name=f"{base}-redis",
        needs=tuple(needs),
        inputs=inputs,
        timeout_s=CACHE_TIMEOUT_S,
        why=store.why,
    )
    steps.append(group)
    if store.tls:
        steps.append(_url("redis", base, "redis", group.id))
    return steps
