"""State as one file beside agent.yaml, replaced whole at each save: a reader sees the old one or the new one."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import LockHeld, StateConflict, StateError
from agentbreeder_core.version import __version__

from . import places
from .format import decode, encode
from .places import FILE, FOLDER
from .record import InfraState

if TYPE_CHECKING:
    from filelock import BaseFileLock

SAVE_LOCK_TIMEOUT_S = 30.0


class SaveFailed(StateError):
    """A save did not reach the disk. `record_json` is the whole state to recover by hand.

    The same JSON is the exception's last note, so that whatever shows the error shows it too.
    """

    def __init__(self, detail: str, *, hint: str, record_json: str) -> None:
        super().__init__(detail, hint=hint)
        self.record_json = record_json
        self.add_note("what the file should say now:")
        self.add_note(record_json)


class FileStateStore:
    """`<project_dir>/.agentbreeder/infra-state.json`, mode 0600, the previous one kept as `.bak`.

    `fault` is called with the name of each point of a save, so that tests can die there; it does nothing by default.
    """

    def __init__(self, project_dir: Path, *, fault: Callable[[str], None] | None = None) -> None:
        self._folder = project_dir.absolute() / FOLDER
        self._path = self._folder / FILE
        self._backup = self._folder / f"{FILE}.bak"
        self._save_lock = self._folder / f"{FILE}.lock"
        self._locks = self._folder / "locks"
        self._fault = fault or (lambda point: None)

    @property
    def location(self) -> str:
        return str(self._path)

    def read(self) -> InfraState | None:
        """See `StateStore.read`. A missing file beside an existing backup is refused: something removed it."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            self._refuse_if_lost()
            return None
        except NotADirectoryError:
            places.refuse_no_folder(self._folder)
        except IsADirectoryError:
            raise StateError(f"{self._path} is a folder, not a file", hint=f"move {self._path} away") from None
        except OSError as e:
            raise places.refused(self._path, "cannot be read", e) from e
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
        try:
            lock = self._acquire()
        except LockHeld:
            raise
        except StateError as e:  # such as a disk that turned read-only: what was to be saved must not be lost with it
            raise self._failed(self._changed(change), e.detail, e.hint) from e
        try:
            return self._save(self._changed(change))
        finally:
            lock.release()

    def check_writable(self) -> None:
        """Try, in the folder, what a run will do there, and read the state once. Clears what dead saves left."""
        places.prepare(self._folder)
        for path in (self._path, self._backup, self._save_lock):
            places.must_be_usable(path)
        places.make_folder(self._locks)
        for folder in (self._folder, self._locks):
            places.probe(folder)
        with self._exclusive():
            self.read()
            self._sweep()

    def lock(
        self,
        agent: str,
        *,
        what: str,
        clock: Clock,
        wait_s: float = 0.0,
        cancel: threading.Event | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> AbstractContextManager[None]:
        """See `StateStore.lock`: an operating-system lock, released by the kernel when its holder dies."""
        from .lock import AgentLock  # here: a plan reads state and locks nothing

        places.prepare(self._folder)
        lock = AgentLock(self._locks, agent)
        return lock.held(what=what, clock=clock, wait_s=wait_s, cancel=cancel, on_note=on_note)

    def unlock(self, agent: str, *, force: bool) -> str:
        """See `StateStore.unlock`."""
        from .lock import AgentLock

        return AgentLock(self._locks, agent).clear(force=force)

    def _refuse_if_lost(self) -> None:
        """Tell "there is none" from "it cannot be reached" and from "somebody removed it"."""
        for path in (self._folder, self._path):
            places.refuse_dead_link(path)
        if self._backup.exists():
            raise StateError(
                f"{self._path} is gone, but its backup {self._backup.name} is there",
                hint=f"cp -p {self._backup} {self._path}",
            ) from None

    def _changed(self, change: Callable[[InfraState], InfraState]) -> InfraState:
        current = self.read() or InfraState(lineage=str(uuid4()), serial=0, tool_version=__version__)
        return replace(change(current), serial=current.serial + 1, tool_version=__version__)

    def _sweep(self) -> None:
        # Under the save lock: whoever wrote a save's temporary file is dead. What cannot be removed does no harm.
        for left in self._folder.glob(f".{FILE}.*tmp"):
            with suppress(OSError):
                left.unlink()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        lock = self._acquire()
        try:
            yield
        finally:
            lock.release()

    def _acquire(self) -> BaseFileLock:
        from filelock import FileLock, Timeout  # here: a plan reads state and locks nothing

        places.prepare(self._folder)
        lock = FileLock(self._save_lock, mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=SAVE_LOCK_TIMEOUT_S, poll_interval=0.005)
        except Timeout:
            raise LockHeld(
                f"{self._path} is being saved by another process for {SAVE_LOCK_TIMEOUT_S:.0f} s",
                hint=f"see which process hangs with {self._save_lock} open",
            ) from None
        except OSError as e:
            raise places.refused(self._save_lock, "cannot be locked", e) from e
        except NotImplementedError as e:  # a file system without flock
            raise places.no_locks(self._save_lock) from e
        return lock

    def _save(self, state: InfraState) -> InfraState:
        data = encode(state)
        temporary = self._folder / f".{FILE}.{os.getpid()}.{threading.get_ident()}.tmp"
        spare = temporary.with_suffix(".bak-tmp")
        try:
            places.must_be_file(self._path)
            self._write(temporary, data)
            self._keep_previous(spare)
            self._fault("before replace")
            os.replace(temporary, self._path)
        except StateError as e:
            raise self._failed(state, e.detail, e.hint) from e
        except OSError as e:
            raise self._failed(state, e.strerror or str(e), places.mend(self._path, e)) from e
        finally:
            for left in (temporary, spare):
                with suppress(OSError):  # on a disk that turned read-only even this fails; the save's error counts
                    left.unlink(missing_ok=True)
        self._sync_folder(state)
        return state

    def _failed(
        self, state: InfraState, reason: str, hint: str, now: str = "the previous one is in place"
    ) -> SaveFailed:
        return SaveFailed(
            f"{self._path} could not be saved: {reason}; {now}",
            hint=f"{hint or 'mend that'}; then put the JSON into {self._path}, if nothing else has saved there since",
            record_json=encode(state).decode(),
        )

    def _write(self, path: Path, data: bytes) -> None:
        self._fault("before write")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            self._fault("file made")
            file.write(data)
            file.flush()
            self._fault("before fsync")
            os.fsync(file.fileno())

    def _keep_previous(self, spare: Path) -> None:
        self._fault("before backup")
        if not self._path.exists():
            return
        spare.unlink(missing_ok=True)
        try:
            os.link(self._path, spare)
        except OSError:
            # exFAT, some network and container mounts know no hard links, and Linux may refuse one to another's file.
            self._copy(spare)
        self._fault("before backup replace")
        os.replace(spare, self._backup)

    def _copy(self, spare: Path) -> None:
        descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(self._path.read_bytes())
            file.flush()
            os.fsync(file.fileno())

    def _sync_folder(self, state: InfraState) -> None:
        self._fault("before folder fsync")
        try:
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that have no such thing for folders
                raise self._failed(state, f"its folder: {e.strerror}", "", "it may be lost if the machine stops") from e
        self._fault("after")
