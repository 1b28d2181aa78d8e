"""What moto does not know: how long things take, what still lingers, and which names are not visible yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentbreeder_core.clock import Clock

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

ACCOUNT = "123456789012"  # moto's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that each change takes. The defaults are in the range that public reports give for the smallest sizes.

    `eni_linger_s`: how long a deleted store's network interfaces still hold its security group. `visibility_lag_s`:
    how long a new security group, database or replication group stays unknown to the calls that look for it.
    """

    rds_create_s: float = 360.0
    rds_delete_s: float = 240.0
    rds_modify_s: float = 30.0
    cache_create_s: float = 420.0
    cache_delete_s: float = 180.0
    eni_linger_s: float = 60.0
    visibility_lag_s: float = 0.0

    @classmethod
    def instant(cls) -> Durations:
        """Everything is ready at the first look."""
        return cls(
            rds_create_s=0,
            rds_delete_s=0,
            rds_modify_s=0,
            cache_create_s=0,
            cache_delete_s=0,
            eni_linger_s=0,
        )

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


Key = tuple[str, str, str]
"""(service, region, name) of a resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A change whose time has come: the resource takes `status` as of `at`; the empty status means that it is gone."""

    service: str
    region: str
    name: str
    status: str
    at: datetime


@dataclass(slots=True)
class World:
    """The sandbox's memory beside moto's. `fail_next` maps `rds` or `elasticache` to the status of the next create."""

    clock: Clock
    durations: Durations
    changes: dict[Key, list[tuple[datetime, str]]] = field(default_factory=dict)
    born: dict[Key, datetime] = field(default_factory=dict)
    lingering: list[tuple[datetime, frozenset[str]]] = field(default_factory=list)
    fail_next: dict[str, str] = field(default_factory=dict)
    plane: DataPlane | None = None

    def clear(self) -> None:
        """Forget everything; moto's own state is reset apart."""
        self.changes.clear()
        self.born.clear()
        self.lingering.clear()
        self.fail_next.clear()
        self.plane = None

    def begin(self, service: str, region: str, name: str, *stages: tuple[float, str]) -> None:
        """Something is under way: after so many seconds each, counted from now, it takes these statuses.

        Whatever was under way for it before is given up.
        """
        now = self.clock.now()
        self.changes[service, region, name] = [(now + timedelta(seconds=s), status) for s, status in stages]

    def give_up(self, service: str, region: str, name: str) -> None:
        """Nothing is under way for it any more."""
        self.changes.pop((service, region, name), None)

    def hurry(self) -> None:
        """Everything that is under way is over when somebody looks next."""
        now = self.clock.now()
        for key, stages in list(self.changes.items()):
            self.changes[key] = [(now, status) for _, status in stages]

    def note_birth(self, service: str, region: str, name: str) -> None:
        """From now on the visibility lag runs for it."""
        self.born[service, region, name] = self.clock.now()

    def hidden(self, service: str, region: str, name: str) -> bool:
        """Whether describe calls do not see it yet."""
        born = self.born.get((service, region, name))
        lag = self.durations.visibility_lag_s
        return born is not None and (self.clock.now() - born).total_seconds() < lag

    def linger(self, group_ids: Iterable[str], since: datetime) -> None:
        """A store is gone since then; its interfaces hold these groups a little longer."""
        self.lingering.append((since + timedelta(seconds=self.durations.eni_linger_s), frozenset(group_ids)))

    def held(self, group_id: str) -> bool:
        """Whether interfaces of a gone store still hold the group."""
        now = self.clock.now()
        return any(group_id in groups and until > now for until, groups in self.lingering)

    def due(self) -> list[Due]:
        """Every change whose time has come, in the order of their times; each is handed out once."""
        now = self.clock.now()
        ready: list[Due] = []
        for (service, region, name), stages in list(self.changes.items()):
            passed = [stage for stage in stages if stage[0] <= now]
            ready += [Due(service=service, region=region, name=name, status=status, at=at) for at, status in passed]
            del stages[: len(passed)]
            if not stages:
                del self.changes[service, region, name]
        return sorted(ready, key=lambda due: due.at)


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
