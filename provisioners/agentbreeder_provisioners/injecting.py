"""From a plan and recorded outputs to what the container gets: plain values, and references into the vault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentbreeder_resolver.plan_types import KNOWN_AFTER_DEPLOY, MemoryPlan

from .clouds import CLOUDS

EXTRA = "env:"
AGENT_FILE_REFERENCE = "agent-file"
"""`ref` of a secret that lives only in the agent file: targets without a vault of ours (local, kubernetes)."""


def final_env(
    plan: MemoryPlan, outputs: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """`(env, secret_env)` with every value known. Raises `KeyError` for a step list that lacks a promised output."""
    cloud = CLOUDS.get(plan.cloud)
    sources = cloud.env_sources(plan) if cloud else {}
    env: dict[str, str] = {}
    secret_env: dict[str, dict[str, str]] = {}
    for name, value in plan.env.items():
        if value == KNOWN_AFTER_DEPLOY:
            source = sources["store:redis"]
            env[name] = str(outputs[source.step][source.output])
        else:
            env[name] = value
    for origin, source in sources.items():
        if origin.startswith(EXTRA):
            env[origin.removeprefix(EXTRA)] = str(outputs[source.step][source.output])
    for name, wanted in plan.secret_env.items():
        if wanted.origin in sources:
            source = sources[wanted.origin]
            secret_env[name] = {"ref": str(outputs[source.step][source.output]), "key": source.key}
        else:
            secret_env[name] = {"ref": AGENT_FILE_REFERENCE, "key": wanted.origin.removeprefix("url:")}
    return dict(sorted(env.items())), secret_env
