"""The part of agent.yaml this product reads, as plain records with positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentbreeder_core.url import BackendUrl

from .plan_types import Cloud


@dataclass(frozen=True, slots=True)
class Located:
    """A text and where it stands: `file:line:column`."""

    text: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlSpec:
    """A `backend_url` as written. `url` is None for a scheme that is not ours (knowledge bases may name any store)."""

    url: BackendUrl | None
    scheme: str
    key: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySpec:
    """`memory:`. `backend` "" when not given. `provision` holds only what was written."""

    backend: str = ""
    backend_where: str = ""
    backend_url: UrlSpec | None = None
    stores: tuple[Located, ...] = ()
    provision: dict[str, Any] = field(default_factory=dict)
    provision_where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """One entry of `knowledge_bases`."""

    ref: str
    where: str
    backend_url: UrlSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """What was read. `env_vars` keep the user's exact text; `secrets` are names only."""

    file: str
    name: str
    version: str
    team: str
    cloud: Cloud
    region: str
    memory: MemorySpec
    memory_config: Located | None
    knowledge_bases: tuple[KnowledgeBase, ...]
    env_vars: dict[str, Located]
    secrets: dict[str, Located]
    adk_database: str = ""
    """Where `google_adk.session_backend: database` stands, which is ADK's own to read; "" when it does not."""
