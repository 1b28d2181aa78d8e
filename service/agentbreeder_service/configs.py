"""Memory configs in the service's database, the same statements for every dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from substrate.connect.engine import is_away
from substrate.kernel.codec import new_id
from substrate.kernel.retrying import persistently

from .database import Database
from .errors import Conflict, Unavailable
from .models import Config, ConfigIn
from .tables import CONFIGS


class ConfigStore:
    """Every method is one statement. Raises `Unavailable` while the database cannot be reached."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, given: ConfigIn, team: str) -> Config:
        """Raises `Conflict` for a name that the team has already."""
        now = datetime.now(UTC)
        values = {**given.model_dump(), "team": team, "id": new_id(), "created_at": now, "updated_at": now}
        try:
            await self._run(sa.insert(CONFIGS).values(values))
        except IntegrityError:
            raise Conflict("name_taken", "the team has a memory config of this name", field="name") from None
        return Config(**values)

    async def by_name(self, name: str) -> list[Config]:
        """Of every team, the oldest first."""
        wanted = sa.select(CONFIGS).where(CONFIGS.c.name == name).order_by(CONFIGS.c.created_at, CONFIGS.c.id)
        return await self._fetch(wanted)

    async def by_id(self, config_id: str) -> Config | None:
        """None when there is none."""
        found = await self._fetch(sa.select(CONFIGS).where(CONFIGS.c.id == config_id))
        return found[0] if found else None

    async def list_visible(self, team: str | None, after: str = "", limit: int = 1000) -> list[Config]:
        """The team's own and every global one, by id; of all teams with None."""
        wanted = sa.select(CONFIGS).where(CONFIGS.c.id > after)
        if team is not None:
            wanted = wanted.where(sa.or_(CONFIGS.c.team == team, CONFIGS.c.scope == "global"))
        return await self._fetch(wanted.order_by(CONFIGS.c.id).limit(limit))

    async def change(self, config: Config, changes: Mapping[str, Any]) -> Config | None:
        """None when it is gone."""
        values = {**changes, "updated_at": datetime.now(UTC)}
        found = await self._run(sa.update(CONFIGS).where(CONFIGS.c.id == config.id).values(values))
        return config.model_copy(update=values) if found.rowcount else None

    async def delete(self, config: Config) -> None:
        """It alone; its messages are another matter."""
        await self._run(sa.delete(CONFIGS).where(CONFIGS.c.id == config.id))

    async def _fetch(self, statement: Any) -> list[Config]:
        rows: Sequence[Any] = (await self._run(statement)).mappings().all()
        return [Config(**{**row, **_aware(row)}) for row in rows]

    async def _run(self, statement: Any) -> Any:
        """Tried for some three seconds while the database is away; every statement may be repeated, because a second insert
        of the same id is refused."""

        async def once(_: bool) -> Any:
            try:
                async with self._database.engine.begin() as connection:
                    return await connection.execute(statement)
            except (DBAPIError, OSError) as e:
                if _is_away(e):
                    raise Unavailable("database_unavailable", "the database cannot be reached now") from None
                raise

        return await persistently(once, (Unavailable,))


def _is_away(error: DBAPIError | OSError) -> bool:
    """Of SQLite too, whose file may be held by another process."""
    return isinstance(error, OSError | OperationalError | InterfaceError) or is_away(error)


def _aware(row: Mapping[str, Any]) -> dict[str, datetime]:
    """SQLite gives times back without their zone, which is UTC."""
    times = {name: row[name] for name in ("created_at", "updated_at")}
    return {name: t if t.tzinfo else t.replace(tzinfo=UTC) for name, t in times.items()}
