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
    """A cloud's folder as the use-cases see it. Everything but what `open` gives is pure and loads no SDK."""

    sign_in_hint: str
    """How to come back with the credentials of the recorded account."""
    no_final_snapshot: str
    """Why a deleted database can leave no snapshot here; "" where it can."""

    def account_in(self, plan: MemoryPlan) -> str:
        """The project or subscription that the plan names; "" where only the credentials tell."""
        ...

    def steps_for(self, plan: MemoryPlan) -> Sequence[Step]: ...

    def env_sources(self, plan: MemoryPlan) -> Mapping[str, EnvSource]:
        """By origin (`store:redis`, `url:<id>`); `env:<VARIABLE>` adds a plain variable that the plan does not know."""
        ...

    def open(
        self, *, account: str, region: str, clock: Clock, cancel: threading.Event, secrets: Mapping[str, Secret]
    ) -> Provider:
        """`account` is the plan's or the recorded one; a cloud whose credentials tell may ignore it.

        Raises `ConfigError` when the cloud cannot be reached without one.
        """
        ...

    def orphan_hint(self, agent: str, account: str, region: str) -> str:
        """A command that lists what carries our tags, for somebody who lost the state file."""
        ...
