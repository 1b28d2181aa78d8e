"""`status`, `environment` and `unlock`: what is recorded, what the container gets, and a stuck lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import ConfigError, StateMissing
from agentbreeder_core.secret import Secret
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.configs import MemoryConfigSource
from agentbreeder_state.record import AgentRecord, Resource

from .checking import refuse_other_account
from .clouds import CLOUDS, cloud_named
from .engine.graph import run_graph
from .engine.kinds import Found, Kind, target_of
from .engine.ownership import Owner, whose
from .engine.run import Run, Shared
from .injecting import AGENT_FILE_REFERENCE
from .project import needs_agent, or_system, store_in
from .results import AgentStatus, Environment, ResourceStatus

_LOOK_TIMEOUT_S = 60.0


def status(
    agent: str | None = None,
    *,
    project_dir: str | os.PathLike[str] | None = None,
    refresh: bool = False,
    clock: Clock | None = None,
) -> tuple[AgentStatus, ...]:
    """What is recorded, for one agent or all. With `refresh` the cloud is asked (seconds, read-only).

    Raises `StateMissing` when there is no state or no such agent; with `refresh` also `AuthError` and `CloudError`.
    """
    store = store_in(project_dir)
    state = store.read()
    if agent is not None:
        records: Sequence[AgentRecord] = [needs_agent(state, store, agent, "")]
    elif state is None:
        raise StateMissing(f"no state at {store.location}", hint="agentbreeder deploy, or --project-dir")
    else:
        records = [state.agents[name] for name in sorted(state.agents)]
    lineage = state.lineage if state else ""
    return tuple(_status(r, lineage, refresh, or_system(clock)) for r in records)


def _status(record: AgentRecord, lineage: str, refresh: bool, clock: Clock) -> AgentStatus:
    seen: dict[str, ResourceStatus] = {r.step_id: ResourceStatus(resource=r) for r in record.resources}
    cloud = cloud_named(record.cloud) if refresh and record.resources else None
    if cloud is not None:
        shared = Shared.begin(clock)
        provider = cloud.open(
            account=record.account, region=record.region, clock=clock, cancel=shared.cancel, secrets={}
        )
        refuse_other_account(record, provider.account())
        kinds, owner = provider.kinds(), Owner(agent=record.agent, team=record.team, lineage=lineage)

        def look(step_id: str) -> None:
            seen[step_id] = _look(kinds[seen[step_id].resource.kind], seen[step_id].resource, owner, shared)

        outcome = run_graph(dict.fromkeys(seen, ()), look, clock=clock, cancel=shared.cancel, stop_on_failure=True)
        for error in outcome.failed.values():
            raise error
    return AgentStatus(
        agent=record.agent,
        team=record.team,
        cloud=record.cloud,
        account=record.account,
        region=record.region,
        resources=tuple(seen[r.step_id] for r in record.resources),
        refreshed=cloud is not None,
    )


def _look(kind: Kind, resource: Resource, owner: Owner, shared: Shared) -> ResourceStatus:
    run = Run(shared, step=resource.step_id, name=resource.name, timeout_s=_LOOK_TIMEOUT_S)
    target = target_of(resource, owner)
    found = kind.find(target, run)
    return _judge(resource, found, owner, kind.drift(target, run) if found and found.state == "present" else "")


def _judge(resource: Resource, found: Found | None, owner: Owner, drift: str) -> ResourceStatus:
    if found is None and resource.phase == "intent":
        return ResourceStatus(resource=resource, seen="unknown", note="asked for, and not seen in the cloud")
    if found is None:
        return ResourceStatus(resource=resource, seen="missing", note="not in the cloud")
    if found.state != "present":
        note = "being deleted" if found.state == "deleting" else "deleted, can be restored for some days"
        return ResourceStatus(resource=resource, seen="missing", note=note)
    if not owner.owns(found.tags):
        return ResourceStatus(resource=resource, seen="drifted", note=whose(found.tags))
    if drift:
        return ResourceStatus(resource=resource, seen="drifted", note=drift)
    return ResourceStatus(resource=resource, seen="ready" if resource.phase == "ready" else "busy")


def environment(
    agent: str,
    *,
    project_dir: str | os.PathLike[str] | None = None,
    reveal: bool = False,
    clock: Clock | None = None,
    configs: MemoryConfigSource | None = None,
) -> Environment:
    """What to hand to the agent's container, from state. With `reveal` the vault is read (seconds), and for URLs that are the
    user's own the agent's file, with the named `configs` that deploy was given.

    Raises `StateMissing`, and `ConfigError` when the last deploy did not finish, so that values are not known.
    """
    store = store_in(project_dir)
    record = needs_agent(store.read(), store, agent, "agentbreeder deploy")
    if not record.plan_digest:
        raise ConfigError(f"agent {agent!r} has no finished deploy", hint="agentbreeder deploy")
    answer = Environment(
        agent=agent, cloud=record.cloud, region=record.region, env=record.env, secret_env=record.secret_env
    )
    if not reveal or not record.secret_env:
        return answer
    folder = Path(project_dir or ".").expanduser().absolute()
    return replace(answer, revealed=_revealed(record, folder, or_system(clock), configs))


def _revealed(record: AgentRecord, folder: Path, clock: Clock, configs: MemoryConfigSource | None) -> dict[str, Secret]:
    values: dict[str, Secret] = {}
    cloud = CLOUDS.get(record.cloud)
    provider = (
        cloud.open(account=record.account, region=record.region, clock=clock, cancel=threading.Event(), secrets={})
        if cloud
        else None
    )
    for name, reference in record.secret_env.items():
        if reference["ref"] == AGENT_FILE_REFERENCE or provider is None:
            plan = resolve_path(folder / record.source, configs=configs)
            values[name] = next(u.value for u in plan.secret_urls if u.id == reference["key"])
        else:
            values[name] = provider.reveal(reference)
    return values


def unlock(agent: str, *, project_dir: str | os.PathLike[str] | None = None, force: bool = False) -> str:
    """Remove a lock that nobody holds any more, and say what was removed. Never steals a live lock."""
    return store_in(project_dir).unlock(agent, force=force)
