"""What stands in the project and what time does to it: one clock, one list of changes to come."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentbreeder_core.clock import Clock

from .discovery import APIS, document

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

PROJECT, NUMBER, REGION = "sandbox-project", "123456789012", "us-central1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that each change takes. The defaults are in the range that public reports and recordings give.

    Facts, section 3: creates of 2 to 7 minutes for Cloud SQL, 4m57s for Memorystore, deletes of 89 s and 2m38s.
    `name_reserved_s`: how long a deleted Cloud SQL name stays taken; Google's own sources disagree between "at once"
    and a week, so the default is the hard case (facts, section 4.1). `latest_lag_s`: how long `versions/latest`,
    lists of versions and newly changed secrets may still show what was (section 4.4). `label_lag_s`: how long a new
    resource's labels are not shown.
    """

    sql_create_s: float = 420.0
    sql_update_s: float = 30.0
    sql_delete_s: float = 90.0
    sql_database_s: float = 5.0
    redis_create_s: float = 300.0
    redis_update_s: float = 300.0
    redis_delete_s: float = 160.0
    name_reserved_s: float = 7 * 24 * 3600.0
    latest_lag_s: float = 0.0
    label_lag_s: float = 0.0

    @classmethod
    def fast(cls) -> Durations:
        """For two terminals and real time: a deploy takes well under a minute."""
        return cls(
            sql_create_s=12.0,
            sql_update_s=2.0,
            sql_delete_s=6.0,
            sql_database_s=1.0,
            redis_create_s=10.0,
            redis_update_s=4.0,
            redis_delete_s=5.0,
        )

    @classmethod
    def instant(cls) -> Durations:
        """Every change is over when somebody looks next, and names are free at once."""
        return cls(
            sql_create_s=0.0,
            sql_update_s=0.0,
            sql_delete_s=0.0,
            sql_database_s=0.0,
            redis_create_s=0.0,
            redis_update_s=0.0,
            redis_delete_s=0.0,
            name_reserved_s=0.0,
        )


@dataclass(slots=True, kw_only=True)
class Switches:
    """What a test has asked to go wrong. `fail_next` maps `sql` or `redis` to how the next create ends.

    `lost_operations`: the HTTP status that reading an operation gives, 0 for none. `page_next`: the status of the web
    page that the next call gets, 0 for none.
    """

    fail_next: dict[str, str] = field(default_factory=dict)
    lost_operations: int = 0
    page_next: int = 0
    unknown_metadata: bool = False


Change = Callable[[datetime], None]


class World:
    """The project, its clock, and the changes under way. Everything else hangs on it."""

    def __init__(self, clock: Clock, durations: Durations, region: str = REGION) -> None:
        self.clock, self.durations, self.region = clock, durations, region
        self.switches = Switches()
        self.disabled: set[str] = set()
        self.labels_hidden_until: datetime | None = None
        self.plane: DataPlane | None = None
        self._coming: list[tuple[datetime, int, Change]] = []
        self._order = itertools.count()

    def clear(self) -> None:
        """Nothing under way, every API enabled, no switch set."""
        self.switches = Switches()
        self.disabled.clear()
        self.labels_hidden_until = None
        self.plane = None
        self._coming.clear()

    def is_ours(self, project: str) -> bool:
        """Whether this is the project, by id or by number."""
        return project in (PROJECT, NUMBER)

    def enabled(self, host: str) -> bool:
        """Whether an API of ours, such as `redis.googleapis.com`, is enabled."""
        return host not in self.disabled and any(document(*api).host == host for api in APIS)

    def shows_labels(self, created: datetime) -> bool:
        """Whether an answer shows the labels of what was created then."""
        now = self.now()
        hidden = self.labels_hidden_until is not None and now < self.labels_hidden_until
        return not hidden and (now - created).total_seconds() >= self.durations.label_lag_s

    def now(self) -> datetime:
        """The clock's time."""
        return self.clock.now()

    def later(self, seconds: float, change: Change) -> None:
        """Apply `change` once so many seconds have passed; it is told the time at which it was due."""
        due = self.now() + timedelta(seconds=seconds)
        heapq.heappush(self._coming, (due, next(self._order), change))

    def pass_time(self) -> None:
        """Apply everything that is due, in order. What is begun by a change waits for the next look."""
        now = self.now()
        due: list[tuple[datetime, int, Change]] = []
        while self._coming and self._coming[0][0] <= now:
            due.append(heapq.heappop(self._coming))
        for at, _, change in due:
            change(at)


def stamp(at: datetime) -> str:
    """RFC 3339 as Google writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` put in, message by message; lists and values are replaced."""
    found = dict(base)
    for name, value in changes.items():
        old = found.get(name)
        found[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found
