"""What the agent asks for. Pure: no network, no clock, no cloud SDK, and nothing read from the environment."""

from __future__ import annotations

from agentbreeder_core.url import BackendUrl, BadUrl

from .configs import FileMemoryConfigs, MemoryConfig, MemoryConfigSource
from .plan_json import plan_to_json
from .plan_types import Finding, MemoryPlan, PostgresStore, RedisStore
from .read_agent import load_agent_spec
from .resolve import resolve, resolve_path
from .schema import agent_schema
from .spec import AgentSpec

__all__ = [
    "AgentSpec",
    "BackendUrl",
    "BadUrl",
    "FileMemoryConfigs",
    "Finding",
    "MemoryConfig",
    "MemoryConfigSource",
    "MemoryPlan",
    "PostgresStore",
    "RedisStore",
    "agent_schema",
    "load_agent_spec",
    "plan_to_json",
    "resolve",
    "resolve_path",
]
