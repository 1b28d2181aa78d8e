"""A record to save, and a folder with state in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentbreeder_state import AgentRecord, FileStateStore, Resource

MakeRecord = Callable[..., AgentRecord]
MakeStore = Callable[..., FileStateStore]


@pytest.fixture
def record() -> MakeRecord:
    """A function: the record of an agent with so many resources."""

    def make(name: str = "a", resources: int = 0) -> AgentRecord:
        made = tuple(
            Resource(
                step_id=f"s{i}",
                kind="k",
                name=f"n{i}",
                account="1",
                region="r",
                created_at=datetime(2026, 1, 1, tzinfo=UTC),
            )
            for i in range(resources)
        )
        return AgentRecord(agent=name, team="t", cloud="aws", account="1", region="r", plan_digest="", resources=made)

    return make


@pytest.fixture
def saved(tmp_path: Path, record: MakeRecord) -> MakeStore:
    """A function: a store in `tmp_path` after one save for each of these agents."""

    def make(*names: str) -> FileStateStore:
        store = FileStateStore(tmp_path)
        for name in names or ("a",):
            store.update(lambda s, name=name: s.with_agent(record(name, 2)))  # type: ignore[misc]
        return store

    return make
