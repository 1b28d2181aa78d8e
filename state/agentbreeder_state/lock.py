"""One lock per agent for a whole run. The kernel holds it, so a killed process never leaves it behind."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import Interrupted, LockHeld

_POLL_S = 1.0


class AgentLock:
    """An exclusive lock file, and beside it a note that says who holds it (for messages only)."""

    def __init__(self, folder: Path, agent: str) -> None:
        name = hashlib.sha256(agent.encode()).hexdigest()[:16]
        self._agent = agent
        self._path = folder / f"{name}.lock"
        self._note = folder / f"{name}.json"

    @contextmanager
    def held(self, *, what: str, clock: Clock, wait_s: float, cancel: threading.Event | None) -> Iterator[None]:
        """Hold it. Raises `LockHeld` when another run still has it after `wait_s` seconds, `Interrupted` on cancel."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._path, mode=0o600, thread_local=False)
        self._acquire(lock, clock, wait_s, cancel or threading.Event())
        try:
            self._refuse_other_host(clock)
            self._note.write_text(json.dumps(self._holder(what, clock)))
            try:
                yield
            finally:
                self._note.unlink(missing_ok=True)
        finally:
            lock.release()

    def clear(self, *, force: bool) -> str:
        """Remove the note of a dead holder. Raises `LockHeld` for a live one, and for another host without `force`."""
        lock = FileLock(self._path, mode=0o600, thread_local=False)
        if not self._path.parent.exists():
            return f"{self._agent}: no lock"
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise LockHeld(self._message(None), hint="stop that process; a live lock is never taken away") from None
        try:
            holder = self._read()
            if holder and holder.get("host") != socket.gethostname() and not force:
                raise LockHeld(
                    self._message(None),
                    hint=f"if nothing runs there any more: agentbreeder unlock {self._agent} --force",
                )
            existed = self._note.exists()
            self._note.unlink(missing_ok=True)
        finally:
            lock.release()
        return f"{self._agent}: cleared {self._note}" if existed else f"{self._agent}: no lock"

    def _acquire(self, lock: FileLock, clock: Clock, wait_s: float, cancel: threading.Event) -> None:
        deadline = clock.monotonic() + wait_s
        while True:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                left = deadline - clock.monotonic()
                if left <= 0:
                    raise LockHeld(
                        self._message(clock.now()),
                        hint=f"wait for it, use --lock-wait, or: agentbreeder unlock {self._agent}",
                    ) from None
                if clock.wait(cancel, min(_POLL_S, left)):
                    raise Interrupted("stopped while waiting for the lock; nothing was changed") from None
            else:
                return

    def _refuse_other_host(self, clock: Clock) -> None:
        # On a shared network folder the kernel lock may not reach the other host: its note is all there is to go by.
        holder = self._read()
        if holder and holder.get("host") not in (None, socket.gethostname()):
            raise LockHeld(
                self._message(clock.now()),
                hint=f"if nothing runs there any more: agentbreeder unlock {self._agent} --force",
            )

    def _holder(self, what: str, clock: Clock) -> dict[str, Any]:
        return {
            "agent": self._agent,
            "what": what,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "user": _user(),
            "started_at": clock.now().isoformat(),
        }

    def _read(self) -> dict[str, Any]:
        """The note, or {} when it is absent, empty or unreadable (its writer may have been killed half-way)."""
        try:
            note = json.loads(self._note.read_text())
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}

    def _message(self, now: datetime | None) -> str:
        h = self._read()
        if not h:
            return f"agent {self._agent!r} is in use by another run (lock {self._path})"
        age = f", for {(now - datetime.fromisoformat(h['started_at'])).total_seconds():.0f} s" if now else ""
        return (
            f"agent {self._agent!r} is in use: {h.get('what')} by pid {h.get('pid')} of {h.get('user')} on "
            f"{h.get('host')}{age} (lock {self._path})"
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user id without a name
        return f"uid {os.getuid()}"
