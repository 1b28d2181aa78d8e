"""`db upgrade` for whoever has no event loop, with one line for what goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agentbreeder_core.errors import ConfigError
from substrate.connect.errors import StoreError

from . import migrate
from .database import Database
from .settings import postgres_url


def upgrade_now(url: str, file: Path | None) -> tuple[str, str]:
    """The revisions before and after. Blocks until it is done. Raises `ConfigError`, which holds no part of the URL."""
    checked = "" if file else postgres_url({"DATABASE_URL": url}, "DATABASE_URL")
    try:
        return asyncio.run(_upgrade(Database(url=checked, sqlite_path=file)))
    except DBAPIError as e:
        cause = e.orig.__cause__ or e.orig if e.orig else e
        raise ConfigError(
            f"the database refused the upgrade ({type(cause).__name__})",
            hint="the user must own the tables, and may create",
        ) from e
    except (SQLAlchemyError, StoreError, OSError) as e:
        raise ConfigError(
            f"the database cannot be reached ({type(e).__name__})", hint="check the URL and the server"
        ) from e
    except Exception as e:
        if type(e).__module__.startswith("asyncpg"):
            raise ConfigError(
                f"PostgreSQL refused ({type(e).__name__})", hint="check user, password and database"
            ) from e
        raise


async def _upgrade(database: Database) -> tuple[str, str]:
    try:
        return await migrate.upgrade(database)
    finally:
        await database.close()
