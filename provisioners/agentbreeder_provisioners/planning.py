"""`plan`: what will be made, why, and what will be injected. Offline unless `preflight` is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import ConfigError, PreflightFailed
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.configs import MemoryConfigSource
from agentbreeder_resolver.plan_types import MemoryPlan
from agentbreeder_state.record import AgentRecord, Resource

from .clouds import CLOUDS
from .engine.steps import Step, changed_inputs, in_order
from .project import Project, or_system, same_place, strictly
from .results import Change, PlannedStep, PlanResult


def plan(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    preflight: bool = False,
    project_dir: str | os.PathLike[str] | None = None,
    clock: Clock | None = None,
    network_env: Mapping[str, str] | None = None,
    configs: MemoryConfigSource | None = None,
) -> PlanResult:
    """What `deploy` would do for the agent file at `path` (a file, or a folder with agent.yaml).

    Reads the file, `memory.yaml` beside it and the state; touches no network unless `preflight`, which adds the
    read-only checks (seconds). `network_env` gives defaults for network keys the file leaves out, and `configs` named memory
    configs that memory.yaml does not have.

    Raises `ConfigError` (all problems of the file), `StateError`, and with `preflight` also `AuthError` and
    `PreflightFailed` (every finding at once).
    """
    project = Project.of(path, project_dir)
    memory_plan = project.resolve(strict=strict, network_env=network_env, configs=configs)
    state = project.store().read()
    record = state.agents.get(memory_plan.agent) if state else None
    result = planned(memory_plan, record)
    if not preflight or not result.steps:
        return result
    from .checking import preflight_for
    from .engine.run import Shared

    time = or_system(clock)
    shared = Shared.begin(time, secrets=secrets_of(memory_plan))
    lineage = state.lineage if state else ""
    checked = preflight_for(memory_plan, steps_of(memory_plan), record, shared, lineage)
    if checked.problems:
        raise PreflightFailed(problems=checked.problems)
    findings = strictly((*result.findings, *checked.findings), strict)
    return replace(result, findings=findings, preflighted=True)


def steps_of(memory_plan: MemoryPlan) -> list[Step]:
    """The ordered steps of a plan; empty where this product makes nothing."""
    cloud = CLOUDS.get(memory_plan.cloud)
    return in_order(cloud.steps_for(memory_plan)) if cloud else []


def secrets_of(memory_plan: MemoryPlan) -> dict[str, Secret]:
    """The secrets that steps refer to by id."""
    return {u.id: u.value for u in memory_plan.secret_urls}


def planned(memory_plan: MemoryPlan, record: AgentRecord | None) -> PlanResult:
    """Compare what is asked for with what is recorded. Pure.

    Raises `ConfigError` when the request differs from what was made: nothing recorded is changed in place.
    """
    steps = steps_of(memory_plan)
    if record is not None:
        same_place(record, memory_plan)
        _refuse_changes(steps, record)
    return PlanResult(
        plan=memory_plan,
        steps=tuple(_planned_step(s, record.resource(s.id) if record else None) for s in steps),
        findings=memory_plan.findings,
        unused=unused_of(steps, record),
    )


def unused_of(steps: Sequence[Step], record: AgentRecord | None) -> tuple[Resource, ...]:
    """Recorded resources that no step asks for any more. Deploy never deletes them."""
    wanted = {s.id for s in steps}
    return tuple(r for r in record.resources if r.step_id not in wanted) if record else ()


def _planned_step(step: Step, recorded: Resource | None) -> PlannedStep:
    change: Change = "create"
    if recorded is not None:
        change = "none" if recorded.phase == "ready" else "resume"
    name = recorded.name if recorded else step.name
    return PlannedStep(id=step.id, kind=step.kind, name=name, needs=step.needs, change=change, why=step.why)


def _refuse_changes(steps: Sequence[Step], record: AgentRecord) -> None:
    lines = []
    for step in steps:
        recorded = record.resource(step.id)
        if recorded is None or recorded.phase not in ("created", "ready"):
            continue
        for key, (was, asked) in changed_inputs(step, recorded.inputs).items():
            lines.append(f"{step.id} was made with {key} {was!r}, the file now asks for {asked!r}")
    if lines:
        raise ConfigError(
            "; ".join(lines) + ". Deploy does not change what exists",
            hint=f"put the old values back, or: agentbreeder teardown {record.agent}, then deploy (its data is lost)",
        )
