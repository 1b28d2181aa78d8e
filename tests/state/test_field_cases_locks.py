"""Field case D04: a killed run's lock is no obstacle, a live one's is never taken."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_core.clock import SystemClock
from agentbreeder_core.errors import LockHeld, StateError
from agentbreeder_sandbox.clocks import VirtualClock
from agentbreeder_state import FileStateStore

FORK = multiprocessing.get_context("forkserver")


def lock(store: FileStateStore, agent: str = "a", **more: Any) -> Any:
    return store.lock(agent, what="deploy", clock=SystemClock(), **more)


def _hold(folder: Path, held: Any) -> None:
    with lock(FileStateStore(folder)):
        held.set()
        signal.pause()


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[int]:
    """Another process holds the lock of agent `a` until it is killed; its pid."""
    held = FORK.Event()
    process = FORK.Process(target=_hold, args=(folder, held))
    process.start()
    assert held.wait(30)
    assert process.pid is not None
    try:
        yield process.pid
    finally:
        process.kill()
        process.join(30)


@pytest.fixture
def store(tmp_path: Path) -> FileStateStore:
    return FileStateStore(tmp_path)


@pytest.fixture
def note(store: FileStateStore) -> Path:
    """Where the note of agent `a`'s holder goes."""
    with lock(store):
        (path,) = (Path(store.location).parent / "locks").glob("*.json")
    return path


def noted(**changes: Any) -> str:
    whole = {
        "agent": "a",
        "what": "deploy",
        "pid": 99999,
        "host": socket.gethostname(),
        "user": "ann",
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    return json.dumps({**whole, **changes})


def test_d04_a_live_holder_is_named_with_path_age_and_the_unlock_command(store: FileStateStore, tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as pid:
        with pytest.raises(LockHeld) as caught, lock(store):
            pass
        detail = caught.value.detail
        assert all(word in detail for word in (str(pid), socket.gethostname(), "deploy", " s", str(tmp_path)))
        assert "agentbreeder unlock a" in caught.value.hint
        with lock(store, "b"):
            pass


@pytest.mark.parametrize("force", [False, True])
def test_d04_unlock_names_the_process_to_stop_and_takes_nothing_from_it(
    store: FileStateStore, tmp_path: Path, force: bool
) -> None:
    with held_elsewhere(tmp_path) as pid:
        with pytest.raises(LockHeld) as caught:
            store.unlock("a", force=force)
        assert str(pid) in caught.value.hint
        with pytest.raises(LockHeld), lock(store):
            pass


def test_d04_the_lock_of_a_killed_run_is_taken_over_with_a_note(store: FileStateStore, tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as pid:
        os.kill(pid, signal.SIGKILL)
    notes: list[str] = []
    with lock(store, on_note=notes.append):
        pass
    assert len(notes) == 1
    assert f"took over the lock of dead pid {pid}" in notes[0]
    with lock(store, on_note=notes.append):
        pass
    assert len(notes) == 1, "a lock that was given back is taken over from nobody"


def test_d04_a_pid_that_another_program_has_now_does_not_count(store: FileStateStore, note: Path) -> None:
    note.write_text(noted(pid=os.getppid()))
    with lock(store):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": 1}', '{"host": ["x"]}', "\0\0", "\x80"])
def test_d04_an_empty_or_broken_note_of_a_dead_holder_is_no_obstacle(
    store: FileStateStore, note: Path, text: str
) -> None:
    note.write_bytes(text.encode("latin-1"))
    with lock(store):
        with pytest.raises(LockHeld), lock(store):
            pass
        note.write_bytes(text.encode("latin-1"))
        with pytest.raises(LockHeld, match="in use"), lock(store):
            pass


@pytest.mark.parametrize(
    "changes", [{}, {"started_at": "x"}, {"started_at": "2026-01-01T00:00:00"}, {"started_at": None}, {"pid": {}}]
)
def test_d04_a_run_on_another_host_is_believed_until_an_explicit_word(
    store: FileStateStore, note: Path, changes: dict[str, Any]
) -> None:
    note.write_text(noted(host="elsewhere", **changes))
    with pytest.raises(LockHeld, match="elsewhere") as caught, lock(store):
        pass
    assert "--force" in caught.value.hint
    with pytest.raises(LockHeld, match="elsewhere"):
        store.unlock("a", force=False)
    assert "cleared" in store.unlock("a", force=True)
    with lock(store):
        pass


def test_d04_a_run_on_another_host_is_waited_for_as_long_as_asked(store: FileStateStore, note: Path) -> None:
    note.write_text(noted(host="elsewhere"))
    clock = VirtualClock()
    with pytest.raises(LockHeld), store.lock("a", what="deploy", clock=clock, wait_s=60):
        pass
    assert clock.monotonic() == pytest.approx(60)

    class Elsewhere(VirtualClock):
        """The other host's run ends while we wait."""

        def wait(self, cancel: threading.Event, seconds: float) -> bool:
            note.unlink(missing_ok=True)
            return super().wait(cancel, seconds)

    with store.lock("a", what="deploy", clock=Elsewhere(), wait_s=60):
        pass


def test_d04_unlock_clears_the_note_of_a_dead_holder_on_this_host(store: FileStateStore, note: Path) -> None:
    note.write_text(noted())
    assert "cleared" in store.unlock("a", force=False)
    assert not note.exists()


def test_d04_unlock_makes_nothing_where_nothing_is(store: FileStateStore, tmp_path: Path) -> None:
    assert "no lock" in store.unlock("a", force=False)
    assert list(tmp_path.iterdir()) == []


def test_d04_two_threads_of_one_process_exclude_each_other(store: FileStateStore) -> None:
    seen: list[str] = []

    def other() -> None:
        try:
            with lock(store):
                seen.append("in")
        except LockHeld:
            seen.append("held")

    with lock(store):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == ["held"]


def test_d04_the_note_is_private_and_goes_with_the_lock(store: FileStateStore, note: Path) -> None:
    with lock(store):
        assert note.stat().st_mode & 0o777 == 0o600
        assert json.loads(note.read_text())["pid"] == str(os.getpid())
    assert not note.exists()


def test_d04_a_note_that_cannot_be_removed_does_not_hide_how_the_run_ended(store: FileStateStore, note: Path) -> None:
    with lock(store):
        note.unlink()
        note.mkdir()
    with pytest.raises(StateError, match="is a folder"), lock(store):
        pass
