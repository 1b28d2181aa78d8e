"""What differs between the clouds for the tests that run on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentbreeder_sandbox.aws import world as aws

_BOTH = "memory: {backend: redis, provision: {tls: true}}\nknowledge_bases: [{ref: kb/docs}]"
STAND_INS_OF_TESTS = {"aws": "aws_sandbox"}
"""The fixture of each cloud's stand-in."""
EVERY_KIND: dict[str, dict[str, str]] = {
    "aws": {"both": _BOTH},
}
"""Agents per cloud; together their steps have every kind that the cloud has."""
INSTANT: dict[str, Callable[[], Any]] = {"aws": aws.Durations.instant}
"""Durations of a cloud in which everything is ready at the first look."""
THROTTLED: dict[str, tuple[str, str, int]] = {"aws": ("Throttling", "Rate exceeded", 400)}
"""Code, message and HTTP status of "too many requests"."""
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
}
"""What each scenario makes: one of each, never two."""
