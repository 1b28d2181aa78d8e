"""What differs between the clouds for the tests that run on all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentbreeder_sandbox.aws import world as aws
from agentbreeder_sandbox.gcp import world as gcp

_BOTH = "memory: {backend: redis, provision: {tls: true}}\nknowledge_bases: [{ref: kb/docs}]"
STAND_INS_OF_TESTS = {"aws": "aws_sandbox", "gcp": "gcp_sandbox"}
"""The fixture of each cloud's stand-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The memory part of an agent file, and its `deploy.env_vars`."""

    body: str
    env: Mapping[str, str] = field(default_factory=dict)


EVERY_KIND: dict[str, dict[str, Agent]] = {
    "aws": {"both": Agent(body=_BOTH)},
    "gcp": {
        "both": Agent(body=_BOTH, env={"GCP_RUNTIME_SERVICE_ACCOUNT": "run@sandbox-project.iam.gserviceaccount.com"})
    },
}
"""Agents per cloud; together their steps have every kind that the cloud has."""
INSTANT: dict[str, Callable[[], Any]] = {"aws": aws.Durations.instant, "gcp": gcp.Durations.instant}
"""Durations of a cloud in which everything is ready at the first look."""
UNHELD: dict[str, Callable[[], Any]] = {"gcp": lambda: gcp.Durations(name_reserved_s=0.0)}
"""Durations of a cloud in which a deleted name is free at once, for tests that deploy one agent hundreds of times."""
THROTTLED: dict[str, tuple[str, str, int]] = {
    "aws": ("Throttling", "Rate exceeded", 400),
    "gcp": ("RESOURCE_EXHAUSTED", "Quota exceeded", 429),
}
"""Code, message and HTTP status of "too many requests"."""
_CLOUD_SQL = {"sql_instances": 1, "sql_databases": 2, "sql_users": 2}  # Google brings one of each, both `postgres`
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
        "shared": {**_CLOUD_SQL, "secrets": 1},
    },
}
"""What each scenario makes: one of each, never two."""
