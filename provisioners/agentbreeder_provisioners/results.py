"""What the use-cases return: plain frozen data, ready for `--json`. None of it ever holds a secret value,
except `Environment.revealed`, which is asked for by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agentbreeder_core.secret import Secret
from agentbreeder_resolver.plan_types import Finding, MemoryPlan
from agentbreeder_state.record import Resource

Change = Literal["create", "resume", "none", "unused", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step as `plan` prints it. `change` is what deploy would do: `create`, `resume` (half made), `none`."""

    id: str
    kind: str
    name: str
    needs: tuple[str, ...]
    change: Change
    why: str

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "needs": list(self.needs),
            "change": self.change,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """`agentbreeder plan`. `steps` are in a valid order; `unused` are recorded resources the file no longer asks for."""

    plan: MemoryPlan
    steps: tuple[PlannedStep, ...]
    findings: tuple[Finding, ...]
    unused: tuple[Resource, ...] = ()
    preflighted: bool = False

    @property
    def changes(self) -> bool:
        """Whether deploy would make or resume anything."""
        return any(s.change in ("create", "resume") for s in self.steps)

    def to_json(self) -> dict[str, Any]:
        """`agent, cloud, region, stores[], env, secret_env, findings[], steps[]` and what else is known."""
        from agentbreeder_resolver import plan_to_json

        return {
            **plan_to_json(self.plan),
            "findings": [f.to_json() for f in self.findings],
            "steps": [s.to_json() for s in self.steps],
            "unused": [r.step_id for r in self.unused],
            "changes": self.changes,
        }


def resource_to_json(r: Resource) -> dict[str, Any]:
    """The public shape of one recorded resource."""
    return {
        "id": r.step_id,
        "kind": r.kind,
        "name": r.name,
        "physical_id": r.physical_id,
        "account": r.account,
        "region": r.region,
        "phase": r.phase,
        "ownership": r.ownership,
        "unused": r.unused,
        "outputs": dict(r.outputs),
        "last_error": r.last_error,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """`agentbreeder deploy`. `changed` is False when nothing was made. `secret_env` values are vault references."""

    planned: PlanResult
    changed: bool
    account: str
    env: dict[str, str]
    secret_env: dict[str, dict[str, str]]
    resources: tuple[Resource, ...]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The plan's JSON with final `env` and `secret_env`, plus `changed`, `account` and `resources[]`."""
        return {
            **self.planned.to_json(),
            "env": dict(self.env),
            "secret_env": {k: dict(v) for k, v in self.secret_env.items()},
            "findings": [f.to_json() for f in self.findings],
            "changed": self.changed,
            "account": self.account,
            "resources": [resource_to_json(r) for r in self.resources],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Teardown:
    """`agentbreeder teardown`. `planned` is what is (or would be) deleted, in order; `kept` survives on purpose
    (final snapshots); `remaining` is empty when all went well."""

    agent: str
    cloud: str
    account: str
    region: str
    planned: tuple[Resource, ...]
    deleted: tuple[str, ...] = ()
    remaining: tuple[Resource, ...] = ()
    kept: tuple[str, ...] = ()
    dry_run: bool = False
    nothing_left: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "cloud": self.cloud,
            "account": self.account,
            "region": self.region,
            "dry_run": self.dry_run,
            "nothing_left": self.nothing_left,
            "planned": [resource_to_json(r) for r in self.planned],
            "deleted": list(self.deleted),
            "remaining": [resource_to_json(r) for r in self.remaining],
            "kept": list(self.kept),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceStatus:
    """`seen` is `""` when the cloud was not asked, else `ready`, `busy`, `missing`, `drifted` or `unknown`."""

    resource: Resource
    seen: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**resource_to_json(self.resource), "seen": self.seen, "note": self.note}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """`agentbreeder status` for one agent."""

    agent: str
    team: str
    cloud: str
    account: str
    region: str
    resources: tuple[ResourceStatus, ...]
    refreshed: bool = False

    @property
    def healthy(self) -> bool:
        """All recorded resources ready, and nothing missing or drifted where the cloud was asked."""
        return all(r.resource.phase == "ready" and r.seen in ("", "ready") for r in self.resources)

    def to_json(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "team": self.team,
            "cloud": self.cloud,
            "account": self.account,
            "region": self.region,
            "refreshed": self.refreshed,
            "healthy": self.healthy,
            "resources": [r.to_json() for r in self.resources],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What to hand to the container. `secret_env` are references, by cloud:
    aws `{"ref": "<secret arn>", "key": "url"}`; with `reveal`, `revealed` holds their values."""

    agent: str
    cloud: str
    region: str
    env: dict[str, str]
    secret_env: dict[str, dict[str, str]]
    revealed: dict[str, Secret] = field(default_factory=dict, repr=False)
