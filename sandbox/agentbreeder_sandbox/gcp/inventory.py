"""Everything that stands in the stand-in, as plain sorted data: equal before and after means that nothing was left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..standin import Inventory
from .network import Networks
from .redis import RedisApi
from .secrets import Secrets
from .sql_state import SqlState
from .world import World

RESERVED = "sql_names_reserved"


class Contents:
    """The stores of all APIs, and what to show of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.networks = Networks(world)
        self.sql = SqlState(world)
        self.redis = RedisApi(world, self.networks)
        self.secrets = Secrets(world)

    def clear(self) -> None:
        """An empty project with its two networks."""
        self.world.clear()
        self.networks.clear()
        self.sql.clear()
        self.redis.clear()
        self.secrets.by_id.clear()

    def take(self) -> Inventory:
        """By kind: instances with their databases and users, secrets with their bindings, names that are still taken."""
        now = self.world.now()
        found = {
            "sql_instances": self.sql.instances,
            "sql_databases": self._inside(lambda instance: instance.databases),
            "sql_users": self._inside(lambda instance: instance.users),
            "sql_final_backups": self.sql.final_backups,
            RESERVED: (name for name, until in self.sql.reserved.items() if until > now),
            "redis_instances": (name.partition("/locations/")[2] for name in self.redis.instances),
            "secrets": self._secrets(),
        }
        return {kind: sorted(names) for kind, names in found.items()}

    def _inside(self, names: Callable[[Any], Iterable[str]]) -> Iterator[str]:
        for instance in self.sql.instances.values():
            yield from (f"{instance.name}/{name}" for name in names(instance))

    def _secrets(self) -> Iterator[str]:
        """Not how many versions: a secret that stays keeps those that were added."""
        for secret in self.secrets.by_id.values():
            yield secret.id
            yield from (f"{secret.id}/{binding}" for binding in secret.policy.members())
