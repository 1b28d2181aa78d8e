"""The only writer of state during a run: one agent's record, saved whole at each phase change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import StateConflict
from agentbreeder_state.record import AgentRecord, InfraState, Phase, Resource
from agentbreeder_state.store import StateStore


class Recorder:
    """Thread-safe. Each method returns when the change is on disk; it raises `StateError` when it is not."""

    def __init__(self, store: StateStore, record: AgentRecord, lineage: str, clock: Clock) -> None:
        self._store, self._record, self._lineage, self._clock = store, record, lineage, clock
        self._saved = self._read_saved()
        self._lock = threading.Lock()

    @property
    def record(self) -> AgentRecord:
        """The record as it stands now, saved or about to be."""
        return self._record

    def resource(self, step_id: str) -> Resource | None:
        """The recorded resource of a step, or None."""
        return self._record.resource(step_id)

    def outputs(self) -> dict[str, dict[str, Any]]:
        """Outputs of every recorded resource, by step id."""
        return {r.step_id: dict(r.outputs) for r in self._record.resources}

    def put(self, resource: Resource) -> Resource:
        """Add or replace a resource."""
        stamped = replace(resource, updated_at=self._clock.now())
        self._change(lambda r: r.with_resource(stamped))
        return stamped

    def move(self, step_id: str, phase: Phase, **changes: Any) -> Resource:
        """Change the phase, and other fields, of a recorded resource."""
        current = self.resource(step_id)
        if current is None:
            raise StateConflict(f"{step_id} is not recorded any more in {self._store.location}")
        return self.put(replace(current, phase=phase, **changes))

    def remove(self, step_id: str) -> None:
        """Forget a resource that is surely gone."""
        self._change(lambda r: r.without_resource(step_id))

    def finish(self, **changes: Any) -> None:
        """Save changes to the agent's own fields (env, secret references, digest)."""
        self._change(lambda r: replace(r, **changes))

    def _change(self, change: Callable[[AgentRecord], AgentRecord]) -> None:
        with self._lock:
            record = replace(change(self._record), updated_at=self._clock.now())
            self._record = record
            self._store.update(lambda state: self._merge(state, record))
            self._saved = record

    def _merge(self, state: InfraState, record: AgentRecord) -> InfraState:
        if state.lineage != self._lineage:
            raise StateConflict(f"{self._store.location}: the lineage changed during this run")
        if state.agents.get(record.agent) != self._saved:
            raise StateConflict(
                f"{self._store.location}: agent {record.agent!r} was changed by another run during this one"
            )
        return state.with_agent(record)

    def _read_saved(self) -> AgentRecord | None:
        state = self._store.read()
        return state.agents.get(self._record.agent) if state else None
