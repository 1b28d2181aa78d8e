"""`deploy`: make it so. Intent before every call, state saved at each phase change, resumable at every point."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import ConfirmationNeeded, Drifted, Interrupted, PreflightFailed
from agentbreeder_core.events import EventSink, Note
from agentbreeder_resolver.configs import MemoryConfigSource
from agentbreeder_resolver.plan_types import MemoryPlan
from agentbreeder_state.record import AgentRecord
from agentbreeder_state.store import StateStore

from .adopting import lineage_to_use, settle_lineage
from .checking import Preflight, preflight_for
from .engine.apply import Applier
from .engine.graph import Outcome
from .engine.ownership import Owner
from .engine.recorder import Recorder
from .engine.run import Shared
from .engine.run_steps import run_steps
from .engine.steps import Step
from .injecting import final_env
from .planning import planned, secrets_of, steps_of, unused_of
from .project import Project, digest, or_system, strictly
from .recreating import forget_missing
from .results import Deployment, PlanResult


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    strict: bool
    adopt: bool
    recreate_missing: bool
    approve: Callable[[PlanResult], bool] | None


def deploy(
    path: str | os.PathLike[str],
    *,
    on_event: EventSink | None = None,
    clock: Clock | None = None,
    strict: bool = False,
    project_dir: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    adopt: bool = False,
    recreate_missing: bool = False,
    lock_wait_s: float = 0.0,
    cancel: threading.Event | None = None,
    approve: Callable[[PlanResult], bool] | None = None,
    network_env: Mapping[str, str] | None = None,
    configs: MemoryConfigSource | None = None,
) -> Deployment:
    """Bring the cloud to what the agent file asks for, and record it. Run again after any failure: it resumes.

    Blocks for as long as the cloud takes (a database: 5 to 20 minutes), at most `timeout_s` when given. `approve` is
    asked once, before the first change, when there is one; None means yes. `adopt` takes over what another state of
    the same agent and team made; `recreate_missing` makes anew what somebody deleted. Setting `cancel`, or Ctrl-C,
    saves and stops.

    Raises `ConfigError`, `StateError` (`LockHeld` when another run works on this agent), `AuthError`,
    `PreflightFailed` and `NameTaken` before anything is made; `CloudError` and `Interrupted` with state kept.
    """
    project = Project.of(path, project_dir)
    memory_plan = project.resolve(strict=strict, network_env=network_env, configs=configs)
    time = or_system(clock)
    shared = Shared.begin(time, on_event=on_event, cancel=cancel, timeout_s=timeout_s, secrets=secrets_of(memory_plan))
    options = _Options(strict=strict, adopt=adopt, recreate_missing=recreate_missing, approve=approve)
    store = project.store()
    store.check_writable()
    with store.lock(
        memory_plan.agent,
        what="deploy",
        wait_s=lock_wait_s,
        clock=time,
        cancel=shared.cancel,
        on_note=lambda text: shared.emit(Note, level="info", message=text),
    ):
        return _locked(project, store, memory_plan, shared, options)


def _locked(
    project: Project, store: StateStore, memory_plan: MemoryPlan, shared: Shared, options: _Options
) -> Deployment:
    state = store.read()
    record = state.agents.get(memory_plan.agent) if state else None
    result = planned(memory_plan, record)
    steps = steps_of(memory_plan)
    lineage = lineage_to_use(state)
    checked = preflight_for(memory_plan, steps, record, shared, lineage) if steps else None
    adopting = bool(checked and options.adopt and checked.seen.lineages)
    if checked and adopting:
        lineage = lineage_to_use(state, adopt_from=checked.seen.lineages)
        checked = preflight_for(memory_plan, steps, record, shared, lineage)
    if checked:
        result = _judged(result, checked, options)
        steps = [replace(s, name=checked.seen.renamed.get(s.id, s.name)) for s in steps]
    if result.changes and options.approve and not options.approve(result):
        raise ConfirmationNeeded("not approved; nothing was changed")
    if state is None or state.lineage != lineage:
        lineage = settle_lineage(store, lineage, adopted=adopting)
    recorder = Recorder(store, _base_record(project, memory_plan, record, checked), lineage, shared.clock)
    if checked and checked.seen.missing:
        forget_missing(recorder, steps, checked.seen.missing, options.recreate_missing)
    changed = _run(memory_plan, steps, recorder, shared, checked, lineage, adopting) if checked else False
    return _finish(memory_plan, steps, recorder, result, shared, changed)


def _judged(result: PlanResult, checked: Preflight, options: _Options) -> PlanResult:
    if checked.problems:
        hint = ""
        if checked.seen.lineages and not options.adopt:
            hint = "if the state file was lost and these are yours: agentbreeder deploy --adopt"
        raise PreflightFailed(problems=checked.problems, hint=hint)
    if checked.seen.missing and not options.recreate_missing:
        names = ", ".join(f"{s.id} ({s.name})" for s in checked.seen.missing)
        raise Drifted(
            f"recorded as made, but not in the cloud any more: {names}; nothing was changed",
            hint="agentbreeder deploy --recreate-missing makes them anew, empty",
        )
    findings = strictly((*result.findings, *checked.findings), options.strict)
    return replace(result, findings=findings, preflighted=True)


def _base_record(
    project: Project, plan: MemoryPlan, record: AgentRecord | None, checked: Preflight | None
) -> AgentRecord:
    fresh = AgentRecord(
        agent=plan.agent,
        team=plan.team,
        cloud=plan.cloud,
        account=checked.account if checked else "",
        region=plan.region,
        plan_digest="",
        source=project.source(),
    )
    if record is None:
        return fresh
    account = fresh.account or record.account
    return replace(record, team=plan.team, cloud=plan.cloud, region=plan.region, account=account, source=fresh.source)


def _run(
    plan: MemoryPlan,
    steps: list[Step],
    recorder: Recorder,
    shared: Shared,
    checked: Preflight,
    lineage: str,
    adopting: bool,
) -> bool:
    applier = Applier(
        kinds=checked.kinds,
        recorder=recorder,
        shared=shared,
        owner=Owner(agent=plan.agent, team=plan.team, lineage=lineage),
        account=checked.account,
        region=plan.region,
        facts=checked.facts,
        absent=checked.seen.absent,
        adopting=adopting,
    )
    by_id = {s.id: s for s in steps}
    needs = {s.id: s.needs for s in steps}
    outcome = run_steps("deploy", plan.agent, needs, lambda i: applier.apply(by_id[i]), shared, stop_on_failure=True)
    if len(outcome.done) != len(steps):
        _raise_failure(outcome, recorder.record)
    return applier.changed


def _raise_failure(outcome: Outcome, record: AgentRecord) -> None:
    failures = [e for e in outcome.failed.values() if not isinstance(e, Interrupted)]
    if failures and not outcome.interrupted:
        first = failures[0]
        for other in failures[1:]:
            first.add_note(f"also: {other}")
        raise first
    exists = [f"{r.step_id} ({r.name})" for r in record.resources if r.phase in ("created", "ready")]
    maybe = [f"{r.step_id} ({r.name})" for r in record.resources if r.phase == "intent"]
    parts = [f"made so far: {', '.join(exists) or 'nothing'}"]
    if maybe:
        parts.append(f"may still be created by the cloud: {', '.join(maybe)}")
    raise Interrupted(
        "; ".join(parts) + ". All of it is recorded",
        hint=f"agentbreeder deploy to go on, or agentbreeder teardown {record.agent}",
    )


def _finish(
    plan: MemoryPlan, steps: list[Step], recorder: Recorder, result: PlanResult, shared: Shared, changed: bool
) -> Deployment:
    env, secret_env = final_env(plan, recorder.outputs())
    record = recorder.record
    unused = unused_of(steps, record)
    for resource in unused:
        if not resource.unused:
            recorder.move(resource.step_id, resource.phase, unused=True)
            message = (
                f"{resource.step_id} ({resource.name}) is not asked for any more; it stays until teardown --unused"
            )
            shared.emit(Note, level="warning", message=message)
    wanted = {"env": env, "secret_env": secret_env, "plan_digest": digest(plan)}
    record = recorder.record
    if (record.env, record.secret_env, record.plan_digest) != tuple(wanted.values()) or not record.updated_at:
        recorder.finish(**wanted)
    return Deployment(
        planned=result,
        changed=changed,
        account=recorder.record.account,
        env=env,
        secret_env=secret_env,
        resources=recorder.record.resources,
        findings=result.findings,
    )
