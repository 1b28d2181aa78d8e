"""What differs between the clouds for the tests that run on all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentbreeder_sandbox.aws import world as aws
from agentbreeder_sandbox.azure import world as azure
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.gcp import world as gcp
from agentbreeder_sandbox.standin import Sandbox

from .agents import SCENARIOS, write_agent

STAND_INS_OF_TESTS = {"aws": "aws_sandbox", "gcp": "gcp_sandbox", "azure": "azure_sandbox"}
"""The fixture of each cloud's stand-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The memory part of an agent file, and its `deploy.env_vars`."""

    body: str
    env: Mapping[str, str] = field(default_factory=dict)


_RUNTIME_OF_AZURE = {"AZURE_RUNTIME_PRINCIPAL_ID": "11111111-1111-1111-1111-111111111111"}
_OF_ALL = {name: Agent(body=body) for name, body in SCENARIOS.items()}
AGENTS: dict[str, dict[str, Agent]] = {
    "aws": _OF_ALL,
    "gcp": {
        **_OF_ALL,
        "both with a reader": Agent(
            body=SCENARIOS["both"], env={"GCP_RUNTIME_SERVICE_ACCOUNT": "run@sandbox-project.iam.gserviceaccount.com"}
        ),
    },
    "azure": {
        **_OF_ALL,
        "both in a vault of its own": Agent(
            body=SCENARIOS["both"], env={"AZURE_KEY_VAULT_NAME": "", **_RUNTIME_OF_AZURE}
        ),
        "classic cache": Agent(body="memory: {backend: redis, provision: {azure_redis: cache}}", env=_RUNTIME_OF_AZURE),
    },
}
"""What the kill matrix deploys: the scenarios of every cloud, and what only this one has."""
EVERY_KIND: dict[str, tuple[str, ...]] = {
    "aws": ("both",),
    "gcp": ("both with a reader",),
    "azure": ("both in a vault of its own", "classic cache"),
}
"""Agents of `AGENTS`; together their steps have every kind that the cloud has."""


def write_scene(folder: Path, cloud: str, agent: str) -> Path:
    """The agent file of one of `AGENTS`; returns its path."""
    one = AGENTS[cloud][agent]
    return write_agent(folder, one.body, cloud=cloud, env=one.env)


def open_to_both_products(sandbox: Sandbox) -> None:
    """On Azure, a tenant that may still make the classic cache; nothing on the others."""
    if isinstance(sandbox, AzureSandbox):
        sandbox.tenant_may_create_cache = True


INSTANT: dict[str, Callable[[], Any]] = {
    "aws": aws.Durations.instant,
    "gcp": gcp.Durations.instant,
    "azure": lambda: replace(azure.Durations.instant(), kept_day_s=0.0),
}
"""Durations of a cloud in which everything is ready at the first look, and no deleted name is held."""
UNHELD: dict[str, Callable[[], Any]] = {
    "gcp": lambda: gcp.Durations(name_reserved_s=0.0),
    "azure": lambda: azure.Durations(kept_day_s=10.0),
}
"""Durations of a cloud in which a deleted name is soon free, for tests that deploy one agent hundreds of times."""
THROTTLED: dict[str, tuple[str, str, int]] = {
    "aws": ("Throttling", "Rate exceeded", 400),
    "gcp": ("RESOURCE_EXHAUSTED", "Quota exceeded", 429),
    "azure": ("TooManyRequests", "Number of requests exceeded the limit", 429),
}
"""Code, message and HTTP status of "too many requests"."""
_CLOUD_SQL = {"sql_instances": 1, "sql_databases": 2, "sql_users": 2}  # Google brings one of each, both `postgres`
_FLEXIBLE = {"pg_servers": 1, "dns_zones": 1, "dns_links": 1}
EXPECTED: dict[str, dict[str, dict[str, int]]] = {
    "aws": {
        "postgres": {"security_groups": 1, "db_subnet_groups": 1, "db_instances": 1, "secrets": 1},
        "redis": {"security_groups": 1, "cache_subnet_groups": 1, "replication_groups": 1},
        "both": {
            "security_groups": 2,
            "db_subnet_groups": 1,
            "db_instances": 1,
            "cache_subnet_groups": 1,
            "replication_groups": 1,
            "secrets": 2,
        },
        "shared": {"security_groups": 1, "db_subnet_groups": 1, "db_instances": 1, "secrets": 1},
    },
    "gcp": {
        "postgres": {**_CLOUD_SQL, "secrets": 1},
        "redis": {"redis_instances": 1},
        "both": {**_CLOUD_SQL, "redis_instances": 1, "secrets": 2},
        "both with a reader": {**_CLOUD_SQL, "redis_instances": 1, "secrets": 4},  # each with its reader
        "shared": {**_CLOUD_SQL, "secrets": 1},
    },
    "azure": {
        "postgres": {**_FLEXIBLE, "vault_secrets": 1},
        "redis": {"redis_enterprise": 1, "vault_secrets": 1},
        "both": {**_FLEXIBLE, "redis_enterprise": 1, "vault_secrets": 2},
        "both in a vault of its own": {
            **_FLEXIBLE,
            "redis_enterprise": 1,
            "vaults": 1,
            "vault_secrets": 2,
            "role_assignments": 3,
        },
        "classic cache": {"redis_caches": 1, "vault_secrets": 1, "role_assignments": 1},
        "shared": {**_FLEXIBLE, "vault_secrets": 1},
    },
}
"""What each scenario makes: one of each, never two."""
