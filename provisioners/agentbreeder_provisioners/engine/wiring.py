"""What a cloud must offer: its steps, its checks, its kinds. The seam between the use-cases and each cloud's folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import Problem
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.plan_types import Finding, MemoryPlan

from .kinds import Kind
from .sources import EnvSource
from .steps import Step


@dataclass(slots=True, kw_only=True)
class Checks:
    """What read-only preflight found. `facts` feed `Ref(PREFLIGHT, ...)`; `findings` are not fatal."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Provider(Protocol):
    """One open connection to one cloud: credentials, region and clients. Everything may block on the network."""

    def account(self) -> str:
        """The account, project or subscription of the credentials. Raises `AuthError`."""
        ...

    def kinds(self) -> Mapping[str, Kind]:
        """The code for each resource type, by name."""
        ...

    def check(self, plan: MemoryPlan) -> Checks:
        """Network, versions, sizes: every problem at once. Read-only."""
        ...

    def reveal(self, reference: Mapping[str, str]) -> Secret:
        """The value behind a vault reference as recorded in `secret_env`."""
        ...


class Cloud(Protocol):
    """A cloud's folder as the use-cases see it. `steps_for` and `env_sources` are pure and load no SDK."""

    def steps_for(self, plan: MemoryPlan) -> Sequence[Step]: ...

    def env_sources(self, plan: MemoryPlan) -> Mapping[str, EnvSource]: ...

    def open(
        self, *, region: str, clock: Clock, cancel: threading.Event, secrets: Mapping[str, Secret]
    ) -> Provider: ...

    def orphan_hint(self, agent: str, region: str) -> str:
        """A command that lists what carries our tags, for somebody who lost the state file."""
        ...
