"""One lock per agent for a whole run. The kernel holds it, so a killed process never leaves it behind."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import Interrupted, LockHeld

from . import places

_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds, or last held, a lock. For messages only: the kernel decides who holds it on this machine."""

    agent: str
    what: str
    pid: str
    host: str
    user: str
    started_at: str  # ISO, UTC

    @classmethod
    def read(cls, path: Path) -> Holder | None:
        """The holder noted at `path`; None when it is absent, empty or no note (its writer may have died half-way)."""
        try:
            note = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(note, dict) or not isinstance(note.get("host"), str):
            return None
        return cls(**{field.name: str(note.get(field.name, "(unknown)")) for field in fields(cls)})

    @property
    def elsewhere(self) -> bool:
        """Whether it ran on another host."""
        return self.host != socket.gethostname()

    def words(self, now: datetime) -> str:
        """`deploy by pid 12 of ann on box, for 90 s`."""
        try:
            started = datetime.fromisoformat(self.started_at)
            age = f", for {(now - started).total_seconds():.0f} s"
        except (ValueError, TypeError):  # not a time, or one without a zone
            age = ""
        return f"{self.what} by pid {self.pid} of {self.user} on {self.host}{age}"


class AgentLock:
    """An exclusive lock file, and beside it a note that says who holds it."""

    def __init__(self, folder: Path, agent: str) -> None:
        name = hashlib.sha256(agent.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._agent = agent
        self._path = folder / f"{name}.lock"
        self._note = folder / f"{name}.json"

    @contextmanager
    def held(
        self,
        *,
        what: str,
        clock: Clock,
        wait_s: float,
        cancel: threading.Event | None,
        on_note: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Hold it. `on_note` is told, in one sentence, when it was taken over from a process that died.

        Raises `LockHeld` when another run still has it after `wait_s` seconds, `Interrupted` on cancel, `StateError`
        when the lock's files cannot be used.
        """
        places.make_folder(self._path.parent)
        lock = FileLock(self._path, mode=0o600, thread_local=False)
        self._acquire(lock, clock, wait_s, cancel or threading.Event())
        try:
            dead = Holder.read(self._note)
            self._write_note(what, clock)
            if dead is not None and on_note is not None:
                on_note(
                    f"took over the lock of dead pid {dead.pid} ({dead.what} of {dead.user}, started {dead.started_at})"
                )
            yield
        finally:
            # A note that stays is harmless here: the kernel's lock decides. A failure must not hide how the run ended.
            with suppress(OSError):
                self._note.unlink(missing_ok=True)
            lock.release()

    def clear(self, *, force: bool) -> str:
        """Remove the note of a dead holder. Raises `LockHeld` for a live one, and for another host without `force`."""
        if not places.folder_exists(self._path.parent):
            return f"{self._agent}: no lock"
        lock = FileLock(self._path, mode=0o600, thread_local=False)
        if not self._try(lock):
            holder = Holder.read(self._note)
            process = f"process {holder.pid} on {holder.host}" if holder else f"the process that has {self._path} open"
            raise LockHeld(
                self._message(datetime.now(UTC)),
                hint=f"stop {process}; a live lock is never taken away, not even with --force",
            )
        try:
            holder = Holder.read(self._note)
            if holder is not None and holder.elsewhere and not force:
                raise LockHeld(self._message(datetime.now(UTC)), hint=self._forced())
            existed = self._note.exists()
            self._note.unlink(missing_ok=True)
        except OSError as e:
            raise places.refused(self._note, "cannot be removed", e) from e
        finally:
            lock.release()
        return f"{self._agent}: cleared {self._note}" if existed else f"{self._agent}: no lock"

    def _acquire(self, lock: FileLock, clock: Clock, wait_s: float, cancel: threading.Event) -> None:
        deadline = clock.monotonic() + wait_s
        while True:
            if self._try(lock):
                # On a shared network folder the kernel's lock may not reach the other host: its note is all there is.
                holder = Holder.read(self._note)
                if holder is None or not holder.elsewhere:
                    return
                lock.release()
                hint = self._forced()
            else:
                hint = f"wait for it, use --lock-wait, or: agentbreeder unlock {self._agent}"
            left = deadline - clock.monotonic()
            if left <= 0:
                raise LockHeld(self._message(clock.now()), hint=hint)
            if clock.wait(cancel, min(_POLL_S, left)):
                raise Interrupted("stopped while waiting for the lock; nothing was changed")

    def _try(self, lock: FileLock) -> bool:
        places.must_be_file(self._path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as e:
            raise places.refused(self._path, "cannot be locked", e) from e
        except NotImplementedError as e:  # a file system without flock
            raise places.no_locks(self._path) from e
        return True

    def _write_note(self, what: str, clock: Clock) -> None:
        holder = Holder(
            agent=self._agent,
            what=what,
            pid=str(os.getpid()),
            host=socket.gethostname(),
            user=_user(),
            started_at=clock.now().isoformat(),
        )
        temporary = self._note.with_suffix(".json-tmp")
        try:
            places.must_be_file(self._note)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(asdict(holder), file)
            os.replace(temporary, self._note)
        except OSError as e:
            raise places.refused(self._note, "cannot be written", e) from e

    def _forced(self) -> str:
        return f"if nothing runs there any more: agentbreeder unlock {self._agent} --force"

    def _message(self, now: datetime) -> str:
        holder = Holder.read(self._note)
        who = f"in use: {holder.words(now)}" if holder else "in use by another run"
        return f"agent {self._agent!r} is {who} (lock {self._path})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user id without a name
        return f"uid {os.getuid()}"
