"""What moto does not know: how long things take, what still lingers, and which names are not visible yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from agentbreeder_core.clock import Clock

ACCOUNT = "123456789012"  # moto's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that each change takes. The defaults are in the range that public reports give for the smallest sizes.

    `eni_linger_s`: how long a deleted store's network interfaces still hold its security group. `visibility_lag_s`:
    how long a new resource stays invisible to describe calls.
    """

    rds_create_s: float = 360.0
    rds_delete_s: float = 240.0
    rds_modify_s: float = 30.0
    cache_create_s: float = 420.0
    cache_delete_s: float = 180.0
    eni_linger_s: float = 60.0
    visibility_lag_s: float = 0.0

    @classmethod
    def fast(cls) -> Durations:
        """For two terminals and real time: a deploy takes well under a minute."""
        return cls(
            rds_create_s=12.0,
            rds_delete_s=8.0,
            rds_modify_s=2.0,
            cache_create_s=10.0,
            cache_delete_s=6.0,
            eni_linger_s=2.0,
        )


@dataclass(slots=True)
class World:
    """The sandbox's memory beside moto's. `fail_next` maps `rds` or `elasticache` to the status of the next create."""

    clock: Clock
    durations: Durations
    changes: dict[tuple[str, str, str], tuple[datetime, str]] = field(default_factory=dict)
    born: dict[tuple[str, str, str], datetime] = field(default_factory=dict)
    lingering: list[tuple[datetime, frozenset[str]]] = field(default_factory=list)
    fail_next: dict[str, str] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything; moto's own state is reset apart."""
        self.changes.clear()
        self.born.clear()
        self.lingering.clear()
        self.fail_next.clear()

    def begin(self, service: str, region: str, name: str, seconds: float, then: str) -> None:
        """Something is under way and becomes `then` after this long."""
        self.changes[service, region, name] = (self.clock.now() + timedelta(seconds=seconds), then)

    def note_birth(self, service: str, region: str, name: str) -> None:
        """From now on the visibility lag runs for it."""
        self.born[service, region, name] = self.clock.now()

    def hidden(self, service: str, region: str, name: str) -> bool:
        """Whether describe calls do not see it yet."""
        born = self.born.get((service, region, name))
        lag = self.durations.visibility_lag_s
        return born is not None and (self.clock.now() - born).total_seconds() < lag

    def linger(self, group_ids: list[str]) -> None:
        """A store is gone; its interfaces hold these groups a little longer."""
        until = self.clock.now() + timedelta(seconds=self.durations.eni_linger_s)
        self.lingering.append((until, frozenset(group_ids)))

    def held(self, group_id: str) -> bool:
        """Whether interfaces of a gone store still hold the group."""
        now = self.clock.now()
        return any(group_id in groups and until > now for until, groups in self.lingering)

    def due(self) -> list[tuple[str, str, str, str]]:
        """(service, region, name, new status) of every change whose time has come; each is handed out once."""
        now = self.clock.now()
        ready = [(key, then) for key, (at, then) in self.changes.items() if at <= now]
        for key, _ in ready:
            del self.changes[key]
        return [(*key, then) for key, then in ready]


class Patches:
    """Replaced attributes, put back on `restore`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> Any:
        """Set an attribute and return what stood there (None when there was none)."""
        missing = name not in vars(owner)
        before = vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: delattr(owner, name) if missing else setattr(owner, name, before))
        return before

    def restore(self) -> None:
        """Undo everything, last first."""
        while self._undo:
            self._undo.pop()()
