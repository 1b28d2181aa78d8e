"""Field case D05: a place that cannot be written is found before anything is made; a disk that fills up loses nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock  # noqa: F401  loaded before a child gives up the right to read it
import pytest

import agentbreeder_state.lock  # noqa: F401  the same
from agentbreeder_core.clock import SystemClock
from agentbreeder_core.errors import StateError
from agentbreeder_provisioners import teardown
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.clocks import VirtualClock
from agentbreeder_state import AgentRecord, FileStateStore, decode
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, made, standing

FORK = multiprocessing.get_context("forkserver")
MakeRecord = Callable[..., AgentRecord]
MakeStore = Callable[..., FileStateStore]
NOBODY = 65534
AT_ONCE = Durations(rds_create_s=0, rds_delete_s=0, cache_create_s=0, cache_delete_s=0, eni_linger_s=0)
FOLDER, FILE = ".agentbreeder", "infra-state.json"

IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    f"{FOLDER} is a file": lambda project: (project / FOLDER).write_text("x"),
    f"{FILE} is a folder": lambda project: (project / FOLDER / FILE).mkdir(parents=True),
    f"{FILE}.bak is a folder": lambda project: (project / FOLDER / f"{FILE}.bak").mkdir(parents=True),
    f"{FILE}.lock is a folder": lambda project: (project / FOLDER / f"{FILE}.lock").mkdir(parents=True),
    "locks is a file": lambda project: ((project / FOLDER).mkdir(), (project / FOLDER / "locks").write_text("x")),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_d05_something_in_the_way_is_found_before_anything_is_made(tmp_path: Path, what: str) -> None:
    IN_THE_WAY[what](tmp_path)
    with pytest.raises(StateError) as caught:
        FileStateStore(tmp_path).check_writable()
    assert str(tmp_path) in caught.value.detail
    assert what in caught.value.detail
    assert "move" in caught.value.hint


def test_d05_a_project_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "project").write_text("x")
    with pytest.raises(StateError, match="project is a file"):
        FileStateStore(tmp_path / "project").check_writable()


Met = dict[str, tuple[str, str, str]]
"""For each thing tried: what it ended in, the detail and the hint."""


def _check(store: FileStateStore) -> None:
    store.check_writable()


def _lock(store: FileStateStore) -> None:
    with store.lock("a", what="deploy", clock=SystemClock()):
        pass


def _unlock(store: FileStateStore) -> None:
    store.unlock("a", force=True)


def _read(store: FileStateStore) -> None:
    store.read()


WORK: dict[str, Callable[[FileStateStore], None]] = {
    "check": _check,
    "lock": _lock,
    "unlock": _unlock,
    "read": _read,
}


def _as_another_user(project: Path, result: Any) -> None:
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    met: Met = {}
    for name, work in WORK.items():
        try:
            work(FileStateStore(project))
            met[name] = ("fine", "", "")
        except StateError as e:
            met[name] = (type(e).__name__, e.detail, e.hint)
        except OSError as e:
            met[name] = (f"raw {type(e).__name__}", str(e), "")
    result.put(met)


def as_another_user(project: Path) -> Met:
    """What a user meets for whom what is now without mode bits belongs to somebody else."""
    for part in (project, *project.parents):
        if Path(tempfile.gettempdir()) in part.parents:
            part.chmod(part.stat().st_mode | 0o055)  # another user must be able to come this far
    result = FORK.Queue()
    process = FORK.Process(target=_as_another_user, args=(project, result))
    process.start()
    met: Met = result.get(timeout=30)
    process.join(30)
    return met


@pytest.mark.parametrize(
    ("closed", "refused"),
    [
        (".", {"check", "lock", "unlock", "read"}),
        (FILE, {"check", "read"}),
        (f"{FILE}.lock", {"check"}),
        ("locks", {"check", "lock", "unlock"}),
        ("locks/*", {"lock", "unlock"}),
    ],
)
def test_d05_what_a_run_under_sudo_left_is_named_with_the_way_to_mend_it(
    tmp_path: Path, saved: MakeStore, closed: str, refused: set[str]
) -> None:
    store = saved()
    _lock(store)
    folder = Path(store.location).parent
    everything = (folder, *folder.rglob("*"))
    for path in everything:
        path.chmod(0o777)
    for path in list(folder.glob(closed)) if closed != "." else [folder]:
        path.chmod(0)
    met = as_another_user(tmp_path)
    for path in everything:
        path.chmod(0o700)
    assert {work: ended for work, (ended, _, _) in met.items()} == {
        work: "StateError" if work in refused else "fine" for work in WORK
    }
    for work in refused:
        _, detail, hint = met[work]
        assert str(folder) in detail
        assert "chown" in hint


def test_d05_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    project.chmod(0o555)
    ended, detail, hint = as_another_user(project)["check"]
    assert ended == "StateError"
    assert str(project / FOLDER) in detail
    assert "--project-dir" in hint


def _full_disk(folder: Path, record: AgentRecord, result: Any) -> None:
    _limit_files(2000)
    try:
        FileStateStore(folder).update(lambda s: s.with_agent(record))
    except StateError as e:
        result.put((e.detail, e.hint, e.__notes__[-1]))


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_d05_a_full_disk_keeps_the_old_file_and_hands_out_the_record(
    tmp_path: Path, saved: MakeStore, record: MakeRecord
) -> None:
    store = saved()
    before = Path(store.location).read_bytes()
    result = FORK.Queue()
    process = FORK.Process(target=_full_disk, args=(tmp_path, record("big", 50), result))
    process.start()
    detail, hint, text = result.get(timeout=30)
    process.join(30)
    assert "could not be saved" in detail
    assert "make room" in hint
    assert "big" in decode(text.encode(), location="x").agents
    assert Path(store.location).read_bytes() == before
    assert [p.name for p in (tmp_path / FOLDER).iterdir() if p.name.endswith("tmp")] == []


def command(sandbox: AwsSandbox, *args: str | Path, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own that can write files of `limit` bytes at most."""
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-m", "agentbreeder_cli", *map(str, args)],
        env={**os.environ, **sandbox.env(), **sandbox.network_env(), "PYTHONPATH": path},
        preexec_fn=(lambda: _limit_files(limit)) if limit else None,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_d05_a_disk_that_fills_up_late_in_a_deploy_prints_the_record_from_which_a_teardown_leaves_nothing(
    aws_sandbox: AwsSandbox, tmp_path: Path
) -> None:
    aws_sandbox.reset(clock=SystemClock(), durations=AT_ONCE)
    before = standing(aws_sandbox)
    agent = write_agent(tmp_path, SCENARIOS["redis"])
    done = command(aws_sandbox, "deploy", agent, "--yes", limit=3000)
    assert done.returncode == 5
    assert made(before, standing(aws_sandbox))
    intro = "what the file should say now:\n"
    assert intro in done.stderr
    printed, _ = json.JSONDecoder().raw_decode(done.stderr.partition(intro)[2].lstrip())
    file = tmp_path / FOLDER / FILE
    assert len(printed["agents"]["support"]["resources"]) > len(
        json.loads(file.read_text())["agents"]["support"]["resources"]
    )
    file.write_text(json.dumps(printed))
    teardown("support", project_dir=tmp_path, clock=VirtualClock())
    assert standing(aws_sandbox) == before


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_d05_something_in_the_way_ends_a_deploy_before_the_first_call_that_makes_anything(
    aws_sandbox: AwsSandbox, tmp_path: Path, what: str
) -> None:
    aws_sandbox.reset(clock=VirtualClock())
    before = aws_sandbox.inventory()
    agent = write_agent(tmp_path, SCENARIOS["redis"])
    IN_THE_WAY[what](tmp_path)
    with pytest.raises(StateError):
        do_deploy(aws_sandbox, agent)
    assert aws_sandbox.inventory() == before
