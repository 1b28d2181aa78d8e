"""What was made, as plain frozen records. No I/O here; `format` turns them into JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

Phase = Literal["intent", "created", "ready", "deleting", "gone"]
Ownership = Literal["owned", "adopted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One cloud resource. `intent` without a `physical_id` means "may exist": ask the cloud by name and tags.

    `inputs` and `outputs` are JSON and never hold a secret (secrets appear only as references, such as an ARN).
    `needs` are step ids, as they were at creation; teardown follows them backwards.
    """

    step_id: str
    kind: str
    name: str
    account: str
    region: str
    needs: tuple[str, ...] = ()
    physical_id: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    phase: Phase = "intent"
    ownership: Ownership = "owned"
    unused: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """Everything recorded for one agent. `secret_env` values are references: {"ref": ..., "key": "url", ...}."""

    agent: str
    team: str
    cloud: str
    account: str
    region: str
    plan_digest: str
    source: str = ""  # the agent file, relative to the project folder
    env: dict[str, str] = field(default_factory=dict)
    secret_env: dict[str, dict[str, str]] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()  # unique by step_id
    kept: tuple[str, ...] = ()  # what teardown left on purpose, such as final snapshots
    updated_at: datetime | None = None

    def resource(self, step_id: str) -> Resource | None:
        return next((r for r in self.resources if r.step_id == step_id), None)

    def with_resource(self, resource: Resource) -> AgentRecord:
        """A copy with this resource put in place of the one with the same step id, or added at the end."""
        kept = [resource if r.step_id == resource.step_id else r for r in self.resources]
        if all(r.step_id != resource.step_id for r in self.resources):
            kept.append(resource)
        return replace(self, resources=tuple(kept))

    def without_resource(self, step_id: str) -> AgentRecord:
        return replace(self, resources=tuple(r for r in self.resources if r.step_id != step_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class InfraState:
    """The whole file. `lineage` is the identity of one state history; `serial` counts its saves (0: never saved)."""

    lineage: str
    serial: int
    tool_version: str
    agents: dict[str, AgentRecord] = field(default_factory=dict)

    def with_agent(self, record: AgentRecord) -> InfraState:
        return replace(self, agents={**self.agents, record.agent: record})

    def without_agent(self, agent: str) -> InfraState:
        return replace(self, agents={k: v for k, v in self.agents.items() if k != agent})
