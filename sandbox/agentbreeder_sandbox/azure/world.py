"""What stands in the subscription, what is under way there, how long things take, and what a test made go wrong."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentbreeder_core.clock import Clock

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
TENANT = "00000000-0000-0000-0000-000000000002"
CALLER = "00000000-0000-0000-0000-000000000000"
"""The object id of whoever shows a token that names nobody else."""

GROUP, VNET, USER_VAULT = "sandbox-rg", "sandbox-vnet", "sandbox-user-kv"
PROVIDERS = (
    "Microsoft.DBforPostgreSQL",
    "Microsoft.Cache",
    "Microsoft.KeyVault",
    "Microsoft.Network",
    "Microsoft.Authorization",
    "Microsoft.Resources",
)
_NAMESPACE = uuid.UUID("5ad9b0c8-6a39-4f0e-9a66-4c1f3c9d8e11")


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that each change takes. Defaults: the middle of what recordings and public reports show (facts, 4).

    `pg_visible_s`: how long a new server stays unknown to GET. `pg_settle_s`: how long a new server still refuses
    changes with ServerIsBusy. `amr_running_lag_s`: how long a Managed Redis is not Running yet though its operation
    has succeeded. `rbac_lag_s`: how long a role assignment has no effect. `secret_delete_s`, `secret_recover_s`: how
    long a secret is neither here nor there. `kept_day_s`: how long a day of the recovery window lasts. The `_hold_s`:
    how long a deleted server's or cache's name stays taken.
    """

    pg_create_s: float = 300.0
    pg_visible_s: float = 7.0
    pg_settle_s: float = 20.0
    pg_update_s: float = 60.0
    pg_delete_s: float = 60.0
    pg_hold_s: float = 0.0
    pg_config_s: float = 15.0
    pg_database_s: float = 10.0
    amr_create_s: float = 600.0
    amr_db_s: float = 60.0
    amr_running_lag_s: float = 30.0
    amr_update_s: float = 30.0
    amr_delete_s: float = 300.0
    cache_create_s: float = 800.0
    cache_delete_s: float = 240.0
    cache_hold_s: float = 600.0
    dns_s: float = 30.0
    vault_dns_s: float = 30.0
    vault_purge_s: float = 10.0
    rbac_lag_s: float = 0.0
    secret_delete_s: float = 10.0
    secret_recover_s: float = 5.0
    register_s: float = 60.0
    kept_day_s: float = 86400.0

    @classmethod
    def fast(cls) -> Durations:
        """For two terminals and real time: a deploy takes well under a minute."""
        return cls(
            pg_create_s=10.0,
            pg_visible_s=1.0,
            pg_settle_s=2.0,
            pg_update_s=3.0,
            pg_delete_s=5.0,
            pg_config_s=2.0,
            pg_database_s=2.0,
            amr_create_s=10.0,
            amr_db_s=4.0,
            amr_running_lag_s=2.0,
            amr_update_s=2.0,
            amr_delete_s=5.0,
            cache_create_s=12.0,
            cache_delete_s=5.0,
            cache_hold_s=10.0,
            dns_s=2.0,
            vault_dns_s=2.0,
            vault_purge_s=1.0,
            secret_delete_s=1.0,
            secret_recover_s=1.0,
            register_s=2.0,
        )

    @classmethod
    def instant(cls) -> Durations:
        """Everything is over when somebody looks next."""
        return cls(**{f.name: 0.0 for f in fields(cls) if f.name != "kept_day_s"})


@dataclass(slots=True, kw_only=True)
class Resource:
    """One ARM resource. `document` is what GET answers, `hidden` what it never does (passwords, keys, busy times)."""

    id: str
    document: dict[str, Any]
    born: datetime
    hidden: dict[str, Any] = field(default_factory=dict, repr=False)
    visible_at: datetime | None = None
    old_tags: tuple[datetime, Any] | None = None

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]

    @property
    def properties(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document.setdefault("properties", {})
        return found


@dataclass(slots=True, kw_only=True)
class Operation:
    """One long-running operation. `location` as its URL spells it; `result` is what its result URL answers at the end,
    the id of the resource or "" for an empty body."""

    id: str
    kind: str
    location: str
    started: datetime
    ended: datetime | None = None
    error: dict[str, str] | None = None
    result: str = ""

    @property
    def status(self) -> str:
        if self.ended is None:
            return "InProgress"
        return "Failed" if self.error else "Succeeded"


@dataclass(slots=True, kw_only=True)
class Switches:
    """What a test turned. Each one is explained at the public switch of `AzureSandbox` that sets it."""

    retry_after: str | None = None
    tag_lag_s: float = 0.0
    tags_hidden_until: datetime | None = None
    tenant_may_create_cache: bool = False
    principal_is_new: bool = False
    location_actions_denied: bool = False
    location_restricted: bool = False
    html_answers: int = 0
    vaults_denied: dict[str, str] = field(default_factory=dict)
    fail_next: dict[str, str] = field(default_factory=dict)
    server_names: set[str] = field(default_factory=set)


@dataclass(slots=True)
class World:
    """The stand-in's memory. Every id is looked up without regard to case, as ARM does."""

    clock: Clock
    durations: Durations
    region: str
    switches: Switches = field(default_factory=Switches)
    plane: DataPlane | None = None
    providers: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PROVIDERS, "Registered"))
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    deleted_vaults: dict[str, Resource] = field(default_factory=dict)
    held: dict[str, datetime] = field(default_factory=dict)
    _resources: dict[str, Resource] = field(default_factory=dict)
    _changes: list[tuple[datetime, int, Callable[[], None]]] = field(default_factory=list)
    _counted: int = 0
    _at: datetime | None = None

    def now(self) -> datetime:
        """The clock's time; while a change is applied that was due earlier, its time."""
        return self._at or self.clock.now()

    def seconds_ago(self, since: datetime) -> float:
        """How many seconds have passed since then."""
        return (self.now() - since).total_seconds()

    def after(self, seconds: float) -> datetime:
        """The time in so many seconds."""
        return self.now() + timedelta(seconds=seconds)

    def later(self, seconds: float, change: Callable[[], None]) -> None:
        """Let `change` be applied in so many seconds; with 0, before the next call is answered."""
        heapq.heappush(self._changes, (self.after(seconds), self.number(), change))

    def pass_time(self) -> None:
        """Apply every change whose time has come, in the order of their times."""
        now = self.clock.now()
        while self._changes and self._changes[0][0] <= now:
            at, _, change = heapq.heappop(self._changes)
            self._at = at
            try:
                change()
            finally:
                self._at = None
        for name in [n for n, until in self.held.items() if until <= now]:
            del self.held[name]

    def number(self) -> int:
        """A number that no one had before."""
        self._counted += 1
        return self._counted

    def uuid(self) -> str:
        """An id that no one had before, the same in every run."""
        return str(uuid.uuid5(_NAMESPACE, str(self.number())))

    def find(self, resource_id: str) -> Resource | None:
        """The resource of that id, None when there is none."""
        return self._resources.get(resource_id.casefold())

    def put(self, resource: Resource) -> None:
        """It stands from now on."""
        self._resources[resource.id.casefold()] = resource

    def remove(self, resource_id: str) -> None:
        """It and everything inside it is gone, role assignments included."""
        key = resource_id.casefold()
        for found in [k for k in self._resources if k == key or k.startswith(f"{key}/")]:
            del self._resources[found]

    def of_type(self, kind: str, under: str = "") -> list[Resource]:
        """Every resource of this type (`Microsoft.Cache/redis`), in the order of their ids."""
        start = under.casefold()
        found = (r for key, r in sorted(self._resources.items()) if key.startswith(start))
        return [r for r in found if type_of(r.id).casefold() == kind.casefold()]

    def visible(self, resource: Resource) -> bool:
        """Whether GET and lists know it already."""
        return resource.visible_at is None or self.now() >= resource.visible_at

    def standing(self) -> Iterator[Resource]:
        """Every resource, in the order of their ids."""
        return (r for _, r in sorted(self._resources.items()))

    def hold(self, kind: str, name: str, seconds: float) -> None:
        """A name stays taken for a while after what bore it is gone."""
        if seconds > 0:
            self.held[f"{kind}/{name}".casefold()] = self.after(seconds)

    def is_held(self, kind: str, name: str) -> bool:
        """Whether the name of something gone is still taken."""
        return f"{kind}/{name}".casefold() in self.held

    def failure_of(self, kind: str) -> str:
        """How the next create of this kind is to fail, "" when it is not; each is handed out once."""
        return self.switches.fail_next.pop(kind, "")

    def set_tags(self, resource: Resource, tags: Mapping[str, str] | None) -> None:
        """Replace the tags; reads show them once `tag_lag_s` has passed."""
        if self.switches.tag_lag_s > 0:
            resource.old_tags = (self.after(self.switches.tag_lag_s), resource.document.get("tags"))
        if tags is not None:
            resource.document["tags"] = dict(tags)


def type_of(resource_id: str) -> str:
    """`Microsoft.Network/privateDnsZones/virtualNetworkLinks`, of the last provider in an ARM id."""
    provider, *rest = resource_id.rsplit("/providers/", maxsplit=1)[-1].split("/")
    return "/".join([provider, *rest[::2]])


def group_id(group: str) -> str:
    """The ARM id of a resource group of this subscription."""
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"
