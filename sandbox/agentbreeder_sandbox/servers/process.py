"""One server process: a free port, a log to quote when it does not start, and an end that is certain."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agentbreeder_core.errors import ConfigError, MissingExtra

START_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 10.0
_POLL_S = 0.02
_LONGEST_FOLDER = 50  # a Unix socket's path has some hundred bytes
_UNPRIVILEGED = "nobody"


class ServerProcess:
    """A child in the foreground, in a folder of its own that goes with it. Not shared between threads.

    `as_user` is "" for the caller's own user; PostgreSQL refuses to run as root.
    """

    def __init__(self, name: str, *, as_user: str = "") -> None:
        self.name, self.as_user = name, as_user
        self.folder = Path(tempfile.mkdtemp(prefix=f"agentbreeder-{name}-", dir=_short_folder(bool(as_user))))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if as_user:
            entry = pwd.getpwnam(as_user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)

    @property
    def pid(self) -> int:
        """Of the running process. Raises `RuntimeError` when it is not running."""
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process.pid

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a command to its end as the server's user. Raises `ConfigError` with what it said when it fails."""
        done = subprocess.run(
            [str(c) for c in command],
            check=False,
            cwd=self.folder,
            user=self.as_user or None,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ConfigError(f"{self.name} could not be set up: {(done.stderr or done.stdout).strip()[-400:]}")

    def start(self, command: Sequence[str | Path], ready: Callable[[], bool]) -> None:
        """Start and wait until it answers. Raises `ConfigError` with the end of its log when it does not in time."""
        with self._log().open("ab") as log:
            self._process = subprocess.Popen(
                [str(c) for c in command], cwd=self.folder, user=self.as_user or None, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = self._log().read_text(errors="replace").strip()[-400:]
                self.stop()
                raise ConfigError(f"{self.name} did not start: {said}")
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """As a crash does it: nothing is written any more, by it or by the processes that it started."""
        if self._process is not None:
            helpers = _children_of(self._process.pid)
            self._process.kill()
            self._process.wait()
            for helper in helpers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(helper, signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, insist after ten seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log(self) -> Path:
        return self.folder / "server.log"


def _children_of(pid: int) -> list[int]:
    """Process ids, where the system shows them in /proc; elsewhere they end by themselves, a moment later."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(entry.parent.name))
    return found


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def answers(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something listens there."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1.0):
        return True
    return False


def package_folder(package: str, what: str) -> Path:
    """Where an installed package is, without importing it. Raises `MissingExtra`."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise MissingExtra(f"{what} on this machine needs {package}", hint="pip install 'agentbreeder-memory[sandbox]'")
    return Path(found.origin).parent


def reachable(folder: Path) -> bool:
    """Whether everybody may go down to it."""
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in [folder, *folder.parents])


def _short_folder(for_another_user: bool) -> str:
    """A folder for temporary things, short enough for the path of a Unix socket inside one of them, and open to another
    user where one is to go down to it. Raises `ConfigError`."""
    for found in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if len(found) < _LONGEST_FOLDER and (not for_another_user or reachable(Path(found).resolve())):
            return found
    raise ConfigError("no temporary folder is short enough and open to the server", hint="set TMPDIR to another one")


def unprivileged_user() -> str:
    """Who a server runs as that refuses root: "" for everybody else."""
    return _UNPRIVILEGED if os.geteuid() == 0 else ""
