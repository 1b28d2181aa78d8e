"""Where things are: the agent file, its project folder, and the state beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentbreeder_core.clock import Clock, SystemClock
from agentbreeder_core.errors import ConfigError, StateMissing
from agentbreeder_resolver import plan_to_json, resolve_path
from agentbreeder_resolver.configs import MemoryConfigSource
from agentbreeder_resolver.plan_types import Finding, MemoryPlan
from agentbreeder_state import FileStateStore
from agentbreeder_state.record import AgentRecord, InfraState
from agentbreeder_state.store import StateStore

AGENT_FILE = "agent.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """`file` is the agent file; `folder` is where `.agentbreeder/` lives: beside the file unless said otherwise."""

    file: Path
    folder: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str], project_dir: str | os.PathLike[str] | None) -> Project:
        """From a file or a folder that holds agent.yaml. State is anchored to the file, never to the working directory."""
        file = Path(path).expanduser().absolute()
        if file.is_dir():
            file = file / AGENT_FILE
        folder = Path(project_dir).expanduser().absolute() if project_dir is not None else file.parent
        return cls(file=file, folder=folder)

    def store(self) -> StateStore:
        return store_in(self.folder)

    def resolve(
        self, *, strict: bool, network_env: Mapping[str, str] | None, configs: MemoryConfigSource | None = None
    ) -> MemoryPlan:
        """The memory plan of the agent file. `network_env` fills in network keys that the file does not give, `configs`
        named memory configs that memory.yaml does not have."""
        return resolve_path(self.file, strict=strict, network_env=network_env, configs=configs)

    def source(self) -> str:
        """The agent file relative to the project folder, as state records it."""
        return os.path.relpath(self.file, self.folder)


def store_in(folder: str | os.PathLike[str] | None) -> StateStore:
    """The state store of a project folder (the working directory when None)."""
    return FileStateStore(Path(folder or ".").expanduser().absolute())


def or_system(clock: Clock | None) -> Clock:
    """The given clock, or the machine's."""
    return clock if clock is not None else SystemClock()


def digest(plan: MemoryPlan) -> str:
    """A short fingerprint of what was asked for, without findings (line numbers move) and without secrets."""
    document: dict[str, Any] = {k: v for k, v in plan_to_json(plan).items() if k != "findings"}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def needs_agent(state: InfraState | None, store: StateStore, agent: str, hint: str) -> AgentRecord:
    """The agent's record. Raises `StateMissing` when there is no state, or no such agent in it."""
    if state is None:
        raise StateMissing(f"no state at {store.location}", hint=hint)
    record = state.agents.get(agent)
    if record is None:
        known = ", ".join(sorted(state.agents)) or "none"
        raise StateMissing(
            f"agent {agent!r} is not in {store.location}; known there: {known}",
            hint=f"check the name and --project-dir; {hint}" if hint else "check the name and --project-dir",
        )
    return record


def same_place(record: AgentRecord, plan: MemoryPlan) -> None:
    """Raises `ConfigError` when the file now names another cloud, region or team than what was made for the agent."""
    if not any(r.phase != "gone" for r in record.resources):
        return
    for what, recorded, asked in (
        ("cloud", record.cloud, plan.cloud),
        ("region", record.region, plan.region),
        ("team", record.team, plan.team),
    ):
        if recorded != asked:
            raise ConfigError(
                f"agent {record.agent!r} has resources recorded with {what} {recorded!r}, but the file now says {asked!r}",
                hint=f"agentbreeder teardown {record.agent} first, or put {what} back",
            )


def strictly(findings: tuple[Finding, ...], strict: bool) -> tuple[Finding, ...]:
    """Under --strict, raise `ConfigError` for any warning found after resolving."""
    warnings = [f for f in findings if f.severity == "warning"]
    if strict and warnings:
        raise ConfigError("; ".join(f"{f.code}: {f.message}" for f in warnings), hint="mend these or drop --strict")
    return findings
