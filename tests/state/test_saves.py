"""One save: whole or not at all, wherever it dies, and private."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbreeder_core.errors import StateError
from agentbreeder_state import AgentRecord, FileStateStore, InfraState, SaveFailed, decode

FORK = multiprocessing.get_context("forkserver")
MakeRecord = Callable[..., AgentRecord]
MakeStore = Callable[..., FileStateStore]

POINTS = [
    "before write",
    "file made",
    "before fsync",
    "before backup",
    "before backup replace",
    "before replace",
    "before folder fsync",
    "after",
]


def names(store: FileStateStore) -> set[str]:
    return {p.name for p in Path(store.location).parent.iterdir()}


def bak(store: FileStateStore) -> Path:
    return Path(f"{store.location}.bak")


def _save(folder: Path, point: str, record: AgentRecord, hard: bool, links: bool) -> None:
    def die(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL) if hard else os._exit(9)

    if not links:
        os.link = _no_links
    FileStateStore(folder, fault=die).update(lambda s: s.with_agent(record))


def _no_links(*args: object, **more: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize(("links", "hard"), [(True, False), (False, True)], ids=["links, _exit", "no links, SIGKILL"])
@pytest.mark.parametrize("point", POINTS)
def test_a_save_that_dies_anywhere_leaves_the_old_file_or_the_new_one_whole(
    saved: MakeStore, record: MakeRecord, point: str, hard: bool, links: bool
) -> None:
    store = saved("x", "a")
    before = Path(store.location).read_bytes()
    process = FORK.Process(target=_save, args=(Path(store.location).parents[1], point, record("b", 3), hard, links))
    process.start()
    process.join(30)
    assert process.exitcode == (-signal.SIGKILL if hard else 9)
    state = store.read()
    assert state is not None
    landed = point in ("before folder fsync", "after")
    assert set(state.agents) == ({"x", "a", "b"} if landed else {"x", "a"})
    assert landed or Path(store.location).read_bytes() == before
    previous = decode(bak(store).read_bytes(), location="bak")
    assert previous.serial in (state.serial - 1, state.serial)
    store.check_writable()
    assert not [n for n in names(store) if n.endswith("tmp")], "what the dead save left is cleared"
    assert "c" in store.update(lambda s: s.with_agent(record("c"))).agents


@pytest.mark.parametrize("point", [p for p in POINTS if p != "before backup replace"])
def test_a_first_save_that_dies_anywhere_leaves_no_state_or_a_whole_one(
    tmp_path: Path, record: MakeRecord, point: str
) -> None:
    process = FORK.Process(target=_save, args=(tmp_path, point, record("a"), False, True))
    process.start()
    process.join(30)
    state = FileStateStore(tmp_path).read()
    assert (state is not None) is (point in ("before folder fsync", "after"))


def test_the_file_before_stays_as_the_backup(saved: MakeStore, record: MakeRecord) -> None:
    store = saved("a")
    assert not bak(store).exists()
    before = Path(store.location).read_bytes()
    store.update(lambda s: s.with_agent(record("b")))
    assert bak(store).read_bytes() == before


def test_a_file_system_without_hard_links_gets_a_copy(
    saved: MakeStore, record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = saved("a")
    before = Path(store.location).read_bytes()
    monkeypatch.setattr(os, "link", _no_links)
    store.update(lambda s: s.with_agent(record("b")))
    assert bak(store).read_bytes() == before
    assert bak(store).stat().st_mode & 0o777 == 0o600


def test_everything_is_private_and_the_folder_ignores_itself(saved: MakeStore) -> None:
    previous = os.umask(0o022)
    try:
        store = saved("a", "b")
    finally:
        os.umask(previous)
    folder = Path(store.location).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [p.stat().st_mode & 0o777 for p in (Path(store.location), bak(store))] == [0o600, 0o600]
    assert "*" in (folder / ".gitignore").read_text().splitlines()


def test_the_text_is_sorted_indented_and_ends_with_a_line_break(saved: MakeStore) -> None:
    text = Path(saved("b", "a").location).read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_a_state_file_that_is_a_link_is_not_replaced(saved: MakeStore, tmp_path: Path) -> None:
    store = saved("a")
    path, shared = Path(store.location), tmp_path / "shared.json"
    path.rename(shared)
    path.symlink_to(shared)
    before = shared.read_bytes()
    assert store.read() is not None
    with pytest.raises(StateError, match="symbolic link"):
        store.check_writable()
    with pytest.raises(SaveFailed, match="symbolic link"):
        store.update(lambda s: s)
    assert path.is_symlink()
    assert shared.read_bytes() == before


def test_a_linked_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".agentbreeder").symlink_to(tmp_path / "elsewhere")
    FileStateStore(tmp_path / "project").update(lambda s: s)
    assert (tmp_path / "elsewhere" / "infra-state.json").is_file()


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_folder_that_cannot_be_synced_fails_the_save_only_when_that_means_something(
    saved: MakeStore, record: MakeRecord, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store, real = saved("a"), os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if code != errno.EIO:
        assert "b" in store.update(lambda s: s.with_agent(record("b"))).agents
        return
    with pytest.raises(SaveFailed, match="may be lost") as caught:
        store.update(lambda s: s.with_agent(record("b")))
    assert "b" in decode(caught.value.record_json.encode(), location="x").agents


def test_a_failed_save_carries_the_whole_record_as_its_last_note(saved: MakeStore, record: MakeRecord) -> None:
    store = saved("a")
    bak(store).mkdir()
    with pytest.raises(SaveFailed) as caught:
        store.update(lambda s: s.with_agent(record("b")))
    recovered = decode(caught.value.record_json.encode(), location="x")
    assert set(recovered.agents) == {"a", "b"}
    assert caught.value.__notes__[-1] == caught.value.record_json
    assert store.location in caught.value.detail
    assert store.location in caught.value.hint


def test_a_save_that_cannot_even_lock_carries_the_whole_record(saved: MakeStore, record: MakeRecord) -> None:
    store = saved("a")
    lock = Path(f"{store.location}.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    with pytest.raises(SaveFailed) as caught:
        store.update(lambda s: s.with_agent(record("b")))
    assert "b" in decode(caught.value.record_json.encode(), location="x").agents


def test_a_recovered_record_put_in_place_goes_on_counting(saved: MakeStore, record: MakeRecord) -> None:
    store = saved("a")
    bak(store).mkdir()
    with pytest.raises(SaveFailed) as caught:
        store.update(lambda s: s.with_agent(record("b")))
    bak(store).rmdir()
    Path(store.location).write_text(caught.value.record_json)
    state: InfraState = store.update(lambda s: s)
    assert (set(state.agents), state.serial) == ({"a", "b"}, 3)
