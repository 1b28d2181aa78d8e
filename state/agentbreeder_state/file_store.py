"""State as one file beside agent.yaml, replaced whole at each save: a reader sees the old one or the new one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import LockHeld, StateConflict, StateError
from agentbreeder_core.version import __version__

from .format import decode, encode
from .record import InfraState

FOLDER, FILE = ".agentbreeder", "infra-state.json"
SAVE_LOCK_TIMEOUT_S = 30.0


class SaveFailed(StateError):
    """A save did not reach the disk. `record_json` is the whole state to recover by hand; the old file is in place."""

    def __init__(self, detail: str, *, hint: str, record_json: str) -> None:
        super().__init__(detail, hint=hint)
        self.record_json = record_json


class FileStateStore:
    """`<project_dir>/.agentbreeder/infra-state.json`, mode 0600, the previous one kept as `.bak`.

    `fault` is called with the name of each point of a save, so that tests can die there; it does nothing by default.
    """

    def __init__(self, project_dir: Path, *, fault: Callable[[str], None] | None = None) -> None:
        self._folder = project_dir.absolute() / FOLDER
        self._path = self._folder / FILE
        self._backup = self._folder / f"{FILE}.bak"
        self._fault = fault or (lambda point: None)

    @property
    def location(self) -> str:
        return str(self._path)

    def read(self) -> InfraState | None:
        """See `StateStore.read`. A missing file beside an existing backup is refused: something removed it."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            if self._backup.exists():
                raise StateError(
                    f"{self._path} is gone, but its backup {self._backup.name} is there",
                    hint=f"cp {self._backup} {self._path}",
                ) from None
            return None
        except NotADirectoryError:
            raise StateError(f"{self._folder} is a file, not a folder", hint=f"move {self._folder} away") from None
        except IsADirectoryError:
            raise StateError(f"{self._path} is a folder, not a file", hint=f"move {self._path} away") from None
        except OSError as e:
            raise StateError(f"{self._path} cannot be read: {e.strerror}") from e
        return decode(data, location=self.location)

    def write_if(self, state: InfraState, *, serial: int) -> InfraState:
        """See `StateStore.write_if`."""
        with self._exclusive():
            current = self.read()
            found = current.serial if current else 0
            if found != serial:
                raise StateConflict(f"{self._path}: expected serial {serial}, found {found}")
            if current is not None and current.lineage != state.lineage:
                raise StateConflict(f"{self._path}: belongs to another lineage, {current.lineage}")
            return self._save(replace(state, serial=serial + 1, tool_version=__version__))

    def update(self, change: Callable[[InfraState], InfraState]) -> InfraState:
        """See `StateStore.update`. Waits at most 30 s for another process's save."""
        with self._exclusive():
            current = self.read() or InfraState(lineage=str(uuid4()), serial=0, tool_version=__version__)
            changed = change(current)
            return self._save(replace(changed, serial=current.serial + 1, tool_version=__version__))

    def check_writable(self) -> None:
        """Create the folder, write and remove a file in it, and read the state once."""
        self._prepare()
        if self._path.exists() and not os.access(self._path, os.W_OK):
            raise StateError(f"{self._path} is not writable by this user", hint=f"sudo chown $USER {self._path}")
        self.read()
        probe = self._folder / f".probe-{os.getpid()}-{uuid4().hex}"
        try:
            probe.write_bytes(b"x")
            probe.unlink()
        except OSError as e:
            raise StateError(f"{self._folder} is not writable: {e.strerror}", hint=f"chmod u+w {self._folder}") from e

    def lock(
        self, agent: str, *, what: str, clock: Clock, wait_s: float = 0.0, cancel: threading.Event | None = None
    ) -> AbstractContextManager[None]:
        """See `StateStore.lock`: an operating-system lock, released by the kernel when its holder dies."""
        from .lock import AgentLock

        self._prepare()
        return AgentLock(self._folder / "locks", agent).held(what=what, clock=clock, wait_s=wait_s, cancel=cancel)

    def unlock(self, agent: str, *, force: bool) -> str:
        """See `StateStore.unlock`."""
        from .lock import AgentLock

        return AgentLock(self._folder / "locks", agent).clear(force=force)

    def _prepare(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            ignore = self._folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# what is made in the cloud; share it on purpose or not at all\n*\n")
        except FileExistsError:
            raise StateError(f"{self._folder} is a file, not a folder", hint=f"move {self._folder} away") from None
        except OSError as e:
            raise StateError(
                f"{self._folder} cannot be made: {e.strerror}", hint="check the folder's permissions"
            ) from e

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        from filelock import FileLock, Timeout  # here: a plan reads state and locks nothing

        self._prepare()
        lock = FileLock(self._folder / f"{FILE}.lock", mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=SAVE_LOCK_TIMEOUT_S, poll_interval=0.005)
        except Timeout:
            raise LockHeld(f"{self._path} is being saved by another process for {SAVE_LOCK_TIMEOUT_S:.0f} s") from None
        except OSError as e:
            raise StateError(f"{self._folder} cannot be locked: {e.strerror}") from e
        try:
            yield
        finally:
            lock.release()

    def _save(self, state: InfraState) -> InfraState:
        data = encode(state)
        temporary = self._folder / f".{FILE}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            self._replace(temporary, data)
        except OSError as e:
            raise SaveFailed(
                f"{self._path} could not be saved: {e.strerror}; the previous one is in place. This is what it should say",
                hint=f"make room, then put the printed JSON into {self._path}",
                record_json=data.decode(),
            ) from e
        finally:
            temporary.unlink(missing_ok=True)
        return state

    def _replace(self, temporary: Path, data: bytes) -> None:
        self._fault("before write")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            self._fault("before fsync")
            os.fsync(file.fileno())
        self._fault("before backup")
        if self._path.exists():
            spare = temporary.with_suffix(".bak-tmp")
            spare.unlink(missing_ok=True)
            os.link(self._path, spare)
            os.replace(spare, self._backup)
        self._fault("before replace")
        os.replace(temporary, self._path)
        self._fault("before folder fsync")
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._fault("after")
