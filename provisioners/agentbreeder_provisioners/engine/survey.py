"""Read-only look at the cloud before the first change: which of our names are free, ours, or taken."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentbreeder_core.errors import Interrupted, Problem
from agentbreeder_state.record import AgentRecord, Resource

from .graph import run_graph
from .kinds import Found, Kind, Target
from .naming import next_generation
from .ownership import Owner, same_agent, unreadable, whose
from .run import NotYet, Run, Shared
from .steps import PREFLIGHT, Ref, Step

CHECK_TIMEOUT_S = 900.0


@dataclass(slots=True)
class Survey:
    """`absent`: surely not there. `missing`: recorded as made, and not there. `lineages`: of other states of this agent.

    `renamed`: step id -> the next free generation of a name that a deleted resource of somebody else still holds.
    """

    absent: set[str] = field(default_factory=set)
    missing: list[Step] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lineages: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)


class _Look:
    def __init__(
        self,
        kinds: Mapping[str, Kind],
        owner: Owner,
        record: AgentRecord | None,
        shared: Shared,
        facts: Mapping[str, Any],
    ) -> None:
        self._kinds, self._owner, self._record, self._shared, self._facts = kinds, owner, record, shared, facts
        self._lock = threading.Lock()
        self.survey = Survey()

    def one(self, step: Step) -> None:
        recorded = self._record.resource(step.id) if self._record else None
        since = recorded.updated_at if recorded and recorded.phase == "intent" else None
        run = Run(self._shared, step=step.id, name=step.name, timeout_s=CHECK_TIMEOUT_S, since=since)
        kind, target = self._kinds[step.kind], target_for(step, recorded, self._owner, self._facts)
        first = target.name
        found = run.until(lambda: self._find(kind, target, run, intended=since is not None))
        while found and found.state == "scheduled" and not self._owner.owns(found.tags):
            target = replace(target, name=next_generation(target.name))
            found = kind.find(target, run)
        with self._lock:
            if target.name != first:
                self.survey.renamed[step.id] = target.name
            self._judge(step, recorded, found)

    def _find(self, kind: Kind, target: Target, run: Run, *, intended: bool) -> Found | NotYet | None:
        found = kind.find(target, run)
        if intended and found and found.state == "present" and unreadable(found.tags) and run.in_grace():
            return NotYet("it exists; waiting until its tags can be read")
        return found

    def _judge(self, step: Step, recorded: Resource | None, found: Found | None) -> None:
        made = recorded is not None and recorded.phase in ("created", "ready")
        if found is None or (made and found.state != "present"):
            if made and recorded is not None and recorded.phase == "ready":
                self.survey.missing.append(step)
            elif not made and found is None:
                self.survey.absent.add(step.id)
        elif found.state == "deleting" and not found.tags:
            return  # tags of a dying resource cannot be read; nothing is done to it but waiting until it is gone
        elif found.state != "scheduled" and not self._owner.owns(found.tags):
            lineage = same_agent(self._owner, found.tags)
            if lineage:
                self.survey.lineages.add(lineage)
            self.survey.problems.append(
                Problem(
                    code="NAME_TAKEN",
                    message=f"{step.kind} {step.name!r} ({found.physical_id}) exists: {whose(found.tags)}",
                )
            )


def target_for(step: Step, recorded: Resource | None, owner: Owner, facts: Mapping[str, Any]) -> Target:
    """The target of a read-only look: recorded inputs where there are some, else the plain ones and known facts."""
    known: dict[str, Any] = dict(recorded.inputs) if recorded and recorded.inputs else {}
    for key, value in step.inputs.items():
        if isinstance(value, Ref):
            if value.step == PREFLIGHT and value.output in facts:
                known.setdefault(key, facts[value.output])
        else:
            known.setdefault(key, value)
    name = recorded.name if recorded else step.name
    physical_id = recorded.physical_id if recorded else ""
    outputs = recorded.outputs if recorded else {}
    return Target(step_id=step.id, name=name, owner=owner, physical_id=physical_id, inputs=known, outputs=outputs)


def survey(
    steps: Sequence[Step],
    kinds: Mapping[str, Kind],
    owner: Owner,
    record: AgentRecord | None,
    shared: Shared,
    facts: Mapping[str, Any],
) -> Survey:
    """Look at every step's resource, several at once. Raises the first cloud error met; changes nothing."""
    look = _Look(kinds, owner, record, shared, facts)
    # A part of another resource (a value inside a secret) has no name of its own to be taken.
    whole = {s.id: s for s in steps if not s.part_of}
    outcome = run_graph(
        dict.fromkeys(whole, ()),
        lambda i: look.one(whole[i]),
        clock=shared.clock,
        cancel=shared.cancel,
        stop_on_failure=True,
    )
    for error in outcome.failed.values():
        raise error
    if outcome.interrupted or shared.cancel.is_set():
        raise Interrupted("stopped during the checks; nothing was changed")
    order = {s.id: n for n, s in enumerate(steps)}
    look.survey.missing.sort(key=lambda s: order[s.id])
    look.survey.problems.sort(key=lambda p: p.message)
    look.survey.absent |= {s.id for s in steps if s.part_of in look.survey.absent}
    return look.survey
