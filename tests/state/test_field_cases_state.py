"""Field cases D about the file itself: it is refused when it cannot be trusted, and never lost."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_core.errors import StateConflict, StateError, StateTooNew
from agentbreeder_core.secret import Secret
from agentbreeder_state import AgentRecord, FileStateStore, InfraState, encode
from agentbreeder_state import format as state_format

MakeRecord = Callable[..., AgentRecord]
MakeStore = Callable[..., FileStateStore]

FIXTURE = Path(__file__).parents[2] / "fixtures" / "state" / "v1.json"
FORK = multiprocessing.get_context("forkserver")


def broken(whole: bytes) -> dict[str, bytes]:
    document = json.loads(whole)
    twice = json.loads(whole)
    twice["agents"]["a"]["resources"] *= 2
    both = whole.replace(b'"agents": {', b'"agents": {"a": 1,', 1)
    return {
        "0 bytes": b"",
        "no format_version": b"{}",
        "null": b"null",
        "complete JSON": whole[: len(whole) // 2],
        "zero bytes": b"\0" * 100,
        "line 2": whole.replace(b'  "agents"', b'<<<<<<< HEAD\n  "agents"', 1),
        "twice": json.dumps(twice).encode(),
        "'a' stands twice": both,
        "stands twice": whole.replace(b'"lineage"', b'"serial": 1, "lineage"', 1),
        "does not know": json.dumps({**document, "extra": 1}).encode(),
        "unversioned": json.dumps({"cloud": "aws", "region": "r", "provisioned_by": "x", "resources": {}}).encode(),
        "whole number": json.dumps({**document, "format_version": "1"}).encode(),
        "UTF-8": b"\xff\xfe{}",
    }


@pytest.mark.parametrize("reason", list(broken(FIXTURE.read_bytes()) if FIXTURE.exists() else ["fixture"]))
def test_d01_d10_a_file_that_cannot_be_trusted_is_refused_with_path_and_reason_and_left_as_it_is(
    saved: MakeStore, reason: str
) -> None:
    store = saved()
    path = Path(store.location)
    path.write_bytes(broken(path.read_bytes())[reason])
    data = path.read_bytes()
    for work in (store.read, lambda: store.update(lambda s: s), store.check_writable):
        with pytest.raises(StateError) as caught:
            work()
        assert str(path) in caught.value.detail
        assert reason in caught.value.detail
    assert path.read_bytes() == data


def test_d01_a_file_that_vanished_beside_its_backup_is_refused(saved: MakeStore) -> None:
    store = saved("a", "b")
    Path(store.location).unlink()
    with pytest.raises(StateError, match="backup"):
        store.read()


def test_d01_no_file_at_all_is_no_state(tmp_path: Path) -> None:
    assert FileStateStore(tmp_path).read() is None


def test_d01_a_link_that_leads_nowhere_is_not_an_absent_state(tmp_path: Path) -> None:
    store = FileStateStore(tmp_path)
    Path(store.location).parent.symlink_to(tmp_path / "not mounted")
    with pytest.raises(StateError, match="not mounted"):
        store.read()
    with pytest.raises(StateError, match="not mounted"):
        store.check_writable()


def _add(folder: Path, record: AgentRecord) -> None:
    FileStateStore(folder).update(lambda s: s.with_agent(record))


def _remove(folder: Path, name: str) -> None:
    FileStateStore(folder).update(lambda s: s.without_agent(name))


def _run_at_once(*work: tuple[Callable[..., None], tuple[Any, ...]]) -> None:
    processes = [FORK.Process(target=target, args=args) for target, args in work]
    for p in processes:
        p.start()
    for p in processes:
        p.join(60)
    assert [p.exitcode for p in processes] == [0] * len(processes)


def test_d03_twenty_processes_at_once_all_land(tmp_path: Path, record: MakeRecord) -> None:
    _run_at_once(*((_add, (tmp_path, record(f"agent-{n}"))) for n in range(20)))
    state = FileStateStore(tmp_path).read()
    assert state is not None
    assert (len(state.agents), state.serial) == (20, 20)


def test_d03_deploys_beside_teardowns_lose_nothing_and_revive_nothing(saved: MakeStore, record: MakeRecord) -> None:
    store = saved(*(f"old-{n}" for n in range(6)))
    folder = Path(store.location).parents[1]
    _run_at_once(
        *((_remove, (folder, f"old-{n}")) for n in range(6)), *((_add, (folder, record(f"new-{n}"))) for n in range(6))
    )
    state = store.read()
    assert state is not None
    assert set(state.agents) == {f"new-{n}" for n in range(6)}
    assert state.serial == 18


def test_d03_a_save_on_top_of_something_unread_is_refused(saved: MakeStore) -> None:
    store = saved()
    state = store.read()
    assert state is not None
    store.update(lambda s: s)
    with pytest.raises(StateConflict):
        store.write_if(state, serial=state.serial)
    with pytest.raises(StateConflict):
        store.write_if(replace(state, lineage="other"), serial=state.serial + 1)


def test_d07_a_newer_file_is_refused_byte_for_byte(saved: MakeStore) -> None:
    store = saved()
    path = Path(store.location)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99, "new": 1}))
    data = path.read_bytes()
    with pytest.raises(StateTooNew, match="99"):
        store.update(lambda s: s)
    assert path.read_bytes() == data


def test_d07_an_older_known_format_is_migrated_and_the_file_before_is_the_backup(
    saved: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = saved()
    path = Path(store.location)
    old = json.loads(path.read_bytes())
    old["agent_records"] = old.pop("agents")
    path.write_text(json.dumps(old))
    before = path.read_bytes()

    def migrate(document: dict[str, Any]) -> dict[str, Any]:
        return {("agents" if k == "agent_records" else k): v for k, v in document.items()}

    monkeypatch.setattr(state_format, "FORMAT_VERSION", 2)
    monkeypatch.setitem(state_format.MIGRATIONS, 1, migrate)
    store.update(lambda s: s)
    assert json.loads(path.read_bytes())["format_version"] == 2
    assert "a" in json.loads(path.read_bytes())["agents"]
    assert path.with_name(path.name + ".bak").read_bytes() == before


def test_d08_state_has_no_place_for_a_secret(record: MakeRecord) -> None:
    state = InfraState(lineage="l", serial=1, tool_version="x").with_agent(
        replace(record(), env={"X": Secret("canary")})  # type: ignore[dict-item]
    )
    with pytest.raises(TypeError) as caught:
        encode(state)
    assert "canary" not in str(caught.value)
