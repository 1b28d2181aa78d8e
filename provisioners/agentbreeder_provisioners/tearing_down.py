"""`teardown`: delete exactly what is recorded as ours, in reverse, from state alone. agent.yaml is never read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from graphlib import TopologicalSorter

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import ConfigError, ConfirmationNeeded, Interrupted, ProtectionOn, TeardownIncomplete
from agentbreeder_core.events import EventSink, Note
from agentbreeder_state import SaveFailed
from agentbreeder_state.record import AgentRecord, InfraState, Resource
from agentbreeder_state.store import StateStore

from .checking import refuse_other_account
from .clouds import cloud_named, orphan_hints
from .engine.destroy import Destroyer
from .engine.graph import Outcome
from .engine.ownership import Owner
from .engine.recorder import Recorder
from .engine.run import Shared
from .engine.run_steps import run_steps
from .project import needs_agent, or_system, store_in
from .results import Teardown


def teardown(
    agent: str,
    *,
    project_dir: str | os.PathLike[str] | None = None,
    on_event: EventSink | None = None,
    clock: Clock | None = None,
    timeout_s: float | None = None,
    final_snapshot: bool = False,
    purge: bool = False,
    unused_only: bool = False,
    dry_run: bool = False,
    lock_wait_s: float = 0.0,
    cancel: threading.Event | None = None,
    approve: Callable[[Teardown], bool] | None = None,
) -> Teardown:
    """Delete everything recorded for `agent` in the project folder (default: the working directory).

    Blocks until the cloud says it is gone (minutes), at most `timeout_s` when given. Goes on past failures; what
    remains stays recorded. `dry_run` only lists. `unused_only` deletes only what the agent file stopped asking for.
    `purge` also gives up the recovery time of a vault that was made for the agent, so that its name is free at once.
    A torn-down agent answers `nothing_left`.

    Raises `ConfigError` for `final_snapshot` on a cloud that keeps none, `StateMissing` (no state, or an agent never
    deployed from here), `LockHeld`, `AuthError` (also for another account), `ProtectionOn` before the first delete,
    `TeardownIncomplete` and `Interrupted` with state kept.
    """
    store = store_in(project_dir)
    state = store.read()
    record = needs_agent(state, store, agent, orphan_hints(agent))
    report = _report(record, unused_only, dry_run)
    if final_snapshot:
        _refuse_without_snapshots(record)
    if dry_run or report.nothing_left:
        return report
    time = or_system(clock)
    shared = Shared.begin(
        time, on_event=on_event, cancel=cancel, timeout_s=timeout_s, final_snapshot=final_snapshot, purge=purge
    )
    store.check_writable()
    with store.lock(
        agent,
        what="teardown",
        wait_s=lock_wait_s,
        clock=time,
        cancel=shared.cancel,
        on_note=lambda text: shared.emit(Note, level="info", message=text),
    ):
        # Read again: what was shown before may have changed while waiting for the lock.
        state = store.read()
        record = needs_agent(state, store, agent, "")
        report = _report(record, unused_only, dry_run=False)
        if approve is not None and not approve(report):
            raise ConfirmationNeeded("not approved; nothing was deleted")
        return _locked(store, state, record, report, shared)


def _refuse_without_snapshots(record: AgentRecord) -> None:
    cloud = cloud_named(record.cloud)
    if cloud is not None and cloud.no_final_snapshot:
        raise ConfigError(
            f"{cloud.no_final_snapshot}. Nothing was deleted",
            hint="copy the data first (pg_dump), then run teardown without --final-snapshot",
        )


def _report(record: AgentRecord, unused_only: bool, dry_run: bool) -> Teardown:
    chosen = [r for r in record.resources if r.unused or not unused_only]
    by_id = {r.step_id: r for r in chosen}
    dependants = _dependants(chosen)
    order = [by_id[i] for i in TopologicalSorter(dependants).static_order()]
    return Teardown(
        agent=record.agent,
        cloud=record.cloud,
        account=record.account,
        region=record.region,
        planned=tuple(order),
        dry_run=dry_run,
        nothing_left=not order,
    )


def _dependants(resources: list[Resource]) -> dict[str, list[str]]:
    """For each resource, those that must go first: the recorded edges, reversed."""
    return {r.step_id: [o.step_id for o in resources if r.step_id in o.needs] for r in resources}


def _locked(
    store: StateStore, state: InfraState | None, record: AgentRecord, report: Teardown, shared: Shared
) -> Teardown:
    lineage = state.lineage if state else ""
    recorder = Recorder(store, record, lineage, shared.clock)
    cloud = cloud_named(record.cloud)
    outcome = Outcome()
    kept: list[str] = []
    if cloud is not None and report.planned:
        provider = cloud.open(
            account=record.account, region=record.region, clock=shared.clock, cancel=shared.cancel, secrets={}
        )
        refuse_other_account(record, provider.account())
        owner = Owner(agent=record.agent, team=record.team, lineage=lineage)
        destroyer = Destroyer(kinds=provider.kinds(), recorder=recorder, shared=shared, owner=owner, kept=kept)
        _refuse_protected(destroyer, report)
        needs = _dependants(list(report.planned))
        outcome = run_steps("teardown", report.agent, needs, destroyer.destroy, shared, stop_on_failure=False)
    done = replace(
        report,
        deleted=tuple(r.step_id for r in report.planned if r.step_id in outcome.done),
        remaining=tuple(r for r in recorder.record.resources if r.step_id in {p.step_id for p in report.planned}),
        kept=tuple(sorted(kept)),
    )
    if kept:
        recorder.finish(kept=(*recorder.record.kept, *sorted(kept)))
    if done.remaining:
        _raise_incomplete(done, outcome)
    if not recorder.record.resources:
        # The agent's name stays, so that a second teardown is no error while a misspelt name is one.
        recorder.finish(env={}, secret_env={}, plan_digest="")
    return done


def _refuse_protected(destroyer: Destroyer, report: Teardown) -> None:
    reasons = [why for r in report.planned if (why := destroyer.protection(r))]
    if reasons:
        raise ProtectionOn("; ".join(reasons) + ". Nothing was deleted")


def _raise_incomplete(done: Teardown, outcome: Outcome) -> None:
    names = ", ".join(f"{r.step_id} ({r.name})" for r in done.remaining)
    hint = f"agentbreeder teardown {done.agent}"
    if outcome.interrupted or any(isinstance(e, Interrupted) for e in outcome.failed.values()):
        raise Interrupted(f"still recorded: {names}", hint=f"{hint} to go on")
    reasons = [str(e) for e in outcome.failed.values()]
    error = TeardownIncomplete(f"still there and recorded: {names}. {'; '.join(reasons)}", hint=f"{hint} to go on")
    for failure in outcome.failed.values():
        if isinstance(failure, SaveFailed):  # its notes hold the record to recover
            error.__notes__ = list(failure.__notes__)
    first = next(iter(outcome.failed.values()), None)
    raise error from first
