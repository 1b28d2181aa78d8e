"""Field cases D: the state file is refused when it cannot be trusted, and never lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentbreeder_core.clock import SystemClock
from agentbreeder_core.errors import LockHeld, StateConflict, StateError, StateTooNew
from agentbreeder_state import AgentRecord, FileStateStore, InfraState, Resource, decode, encode

FIXTURE = Path(__file__).parents[2] / "fixtures" / "state" / "v1.json"
FORK = multiprocessing.get_context("forkserver")


def record(name: str = "a", resources: int = 0) -> AgentRecord:
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


def saved(folder: Path, *names: str) -> FileStateStore:
    store = FileStateStore(folder)
    for name in names or ("a",):
        store.update(lambda s, name=name: s.with_agent(record(name, 2)))  # type: ignore[misc]
    return store


def broken(whole: bytes) -> dict[str, bytes]:
    document = json.loads(whole)
    twice = json.loads(whole)
    twice["agents"]["a"]["resources"] *= 2
    return {
        "0 bytes": b"",
        "no format_version": b"{}",
        "null": b"null",
        "complete JSON": whole[: len(whole) // 2],
        "zero bytes": b"\0" * 100,
        "line 2": whole.replace(b'  "agents"', b'<<<<<<< HEAD\n  "agents"', 1),
        "twice": json.dumps(twice).encode(),
        "stands twice": whole.replace(b'"lineage"', b'"serial": 1, "lineage"', 1),
        "does not know": json.dumps({**document, "extra": 1}).encode(),
        "unversioned": json.dumps({"cloud": "aws", "region": "r", "provisioned_by": "x", "resources": {}}).encode(),
        "whole number": json.dumps({**document, "format_version": "1"}).encode(),
        "UTF-8": b"\xff\xfe{}",
    }


@pytest.mark.parametrize("reason", list(broken(FIXTURE.read_bytes()) if FIXTURE.exists() else ["fixture"]))
def test_d01_d10_a_file_that_cannot_be_trusted_is_refused_with_path_and_reason_and_left_as_it_is(
    tmp_path: Path, reason: str
) -> None:
    store = saved(tmp_path)
    path = Path(store.location)
    path.write_bytes(broken(path.read_bytes())[reason])
    data = path.read_bytes()
    for work in (store.read, lambda: store.update(lambda s: s), store.check_writable):
        with pytest.raises(StateError) as caught:
            work()
        assert str(path) in caught.value.detail
        assert reason in caught.value.detail
    assert path.read_bytes() == data


def test_d01_a_file_that_vanished_beside_its_backup_is_refused(tmp_path: Path) -> None:
    store = saved(tmp_path, "a", "b")
    Path(store.location).unlink()
    with pytest.raises(StateError, match="backup"):
        store.read()


def test_d01_no_file_at_all_is_no_state(tmp_path: Path) -> None:
    assert FileStateStore(tmp_path).read() is None


def _add(folder: Path, name: str) -> None:
    FileStateStore(folder).update(lambda s: s.with_agent(record(name)))


def test_d03_twenty_processes_at_once_all_land(tmp_path: Path) -> None:
    processes = [FORK.Process(target=_add, args=(tmp_path, f"agent-{n}")) for n in range(20)]
    for p in processes:
        p.start()
    for p in processes:
        p.join(60)
    state = FileStateStore(tmp_path).read()
    assert state is not None
    assert (len(state.agents), state.serial) == (20, 20)


def test_d03_a_save_on_top_of_something_unread_is_refused(tmp_path: Path) -> None:
    store = saved(tmp_path)
    state = store.read()
    assert state is not None
    store.update(lambda s: s)
    with pytest.raises(StateConflict):
        store.write_if(state, serial=state.serial)
    with pytest.raises(StateConflict):
        store.write_if(replace(state, lineage="other"), serial=state.serial + 1)


def _hold(folder: Path, held: object) -> None:
    with FileStateStore(folder).lock("a", what="deploy", clock=SystemClock()):
        held.set()  # type: ignore[attr-defined]
        signal.pause()


def test_d04_a_live_holder_is_named_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    held = FORK.Event()
    process = FORK.Process(target=_hold, args=(tmp_path, held))
    process.start()
    assert held.wait(30)
    store = FileStateStore(tmp_path)
    with pytest.raises(LockHeld) as caught, store.lock("a", what="teardown", clock=SystemClock()):
        pass
    assert str(process.pid) in caught.value.detail
    assert "unlock" in caught.value.hint
    with pytest.raises(LockHeld):
        store.unlock("a", force=True)
    with store.lock("b", what="deploy", clock=SystemClock()):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    with store.lock("a", what="teardown", clock=SystemClock()):
        pass


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": 1}'])
def test_d04_an_empty_or_broken_note_of_a_dead_holder_is_no_obstacle(tmp_path: Path, note: str) -> None:
    store = saved(tmp_path)
    with store.lock("a", what="deploy", clock=SystemClock()):
        (path,) = (tmp_path / ".agentbreeder" / "locks").glob("*.json")
    path.write_text(note)
    with store.lock("a", what="deploy", clock=SystemClock()):
        pass


def test_d04_a_lock_of_another_host_needs_an_explicit_word(tmp_path: Path) -> None:
    store = saved(tmp_path)
    with store.lock("a", what="deploy", clock=SystemClock()):
        (path,) = (tmp_path / ".agentbreeder" / "locks").glob("*.json")
        text = path.read_text()
    path.write_text(json.dumps({**json.loads(text), "host": "elsewhere"}))
    with pytest.raises(LockHeld, match="elsewhere"), store.lock("a", what="deploy", clock=SystemClock()):
        pass
    with pytest.raises(LockHeld):
        store.unlock("a", force=False)
    assert "cleared" in store.unlock("a", force=True)


def test_d04_two_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    store, seen = saved(tmp_path), []

    def other() -> None:
        try:
            with store.lock("a", what="deploy", clock=SystemClock()):
                seen.append("in")
        except LockHeld:
            seen.append("held")

    with store.lock("a", what="deploy", clock=SystemClock()):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["held"]


@pytest.mark.parametrize("make", ["folder is a file", "file is a folder"])
def test_d05_a_place_that_cannot_be_written_is_found_before_anything_is_made(tmp_path: Path, make: str) -> None:
    if make == "folder is a file":
        (tmp_path / ".agentbreeder").write_text("x")
    else:
        (tmp_path / ".agentbreeder" / "infra-state.json").mkdir(parents=True)
    with pytest.raises(StateError, match=r"\.agentbreeder"):
        FileStateStore(tmp_path).check_writable()


def test_d05_a_read_only_folder_is_found_before_anything_is_made(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from agentbreeder_state import FileStateStore\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "FileStateStore(Path(sys.argv[1])).check_writable()\n"
    )
    folder = tmp_path / "p" / ".agentbreeder"
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    for part in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in part.parents:
            part.chmod(part.stat().st_mode | 0o055)  # another user must be able to come this far
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "p")], env=env, capture_output=True, text=True)
    assert "StateError" in done.stderr


def _full_disk(folder: Path, result: object) -> None:
    store = FileStateStore(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        store.update(lambda s: s.with_agent(record("big", 50)))
    except StateError as e:
        result.put((e.detail, e.record_json))  # type: ignore[attr-defined]


def test_d05_a_full_disk_keeps_the_old_file_and_hands_out_the_record(tmp_path: Path) -> None:
    store = saved(tmp_path)
    before = Path(store.location).read_bytes()
    result = FORK.Queue()
    process = FORK.Process(target=_full_disk, args=(tmp_path, result))
    process.start()
    detail, text = result.get(timeout=30)
    process.join(30)
    assert "could not be saved" in detail
    assert "big" in decode(text.encode(), location="x").agents
    assert Path(store.location).read_bytes() == before
    assert [p.name for p in (tmp_path / ".agentbreeder").iterdir() if p.name.endswith("tmp")] == []


def test_d07_a_newer_file_is_refused_byte_for_byte(tmp_path: Path) -> None:
    store = saved(tmp_path)
    path = Path(store.location)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99, "new": 1}))
    data = path.read_bytes()
    with pytest.raises(StateTooNew, match="99"):
        store.update(lambda s: s)
    assert path.read_bytes() == data


def test_every_format_ever_released_is_read_and_written_back_to_the_same_bytes() -> None:
    data = FIXTURE.read_bytes()
    assert encode(decode(data, location="x")) == data


def test_the_file_is_private_and_its_folder_ignores_itself(tmp_path: Path) -> None:
    store = saved(tmp_path, "a", "b")
    path = Path(store.location)
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / "infra-state.json.bak").stat().st_mode & 0o777 == 0o600
    assert "*" in (path.parent / ".gitignore").read_text().splitlines()


POINTS = ["before write", "before fsync", "before backup", "before replace", "before folder fsync", "after"]


def _die(folder: Path, point: str) -> None:
    store = FileStateStore(folder, fault=lambda p: os._exit(9) if p == point else None)
    store.update(lambda s: s.with_agent(record("b", 3)))


@pytest.mark.parametrize("point", POINTS)
def test_a_save_that_dies_anywhere_leaves_the_old_file_or_the_new_one_whole(tmp_path: Path, point: str) -> None:
    store = saved(tmp_path)
    process = FORK.Process(target=_die, args=(tmp_path, point))
    process.start()
    process.join(30)
    assert process.exitcode == 9
    state = store.read()
    assert state is not None
    assert set(state.agents) in ({"a"}, {"a", "b"})
    assert ("b" in state.agents) is (point in ("before folder fsync", "after"))
    store.update(lambda s: s.with_agent(record("c")))


def test_state_has_no_place_for_a_secret() -> None:
    from agentbreeder_core.secret import Secret

    state = InfraState(lineage="l", serial=1, tool_version="x").with_agent(
        replace(record(), env={"X": Secret("canary")})  # type: ignore[dict-item]
    )
    with pytest.raises(TypeError):
        encode(state)
