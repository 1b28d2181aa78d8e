"""Bringing a database to this version's schema, and seeing whether it is there. Nothing is migrated unasked."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from agentbreeder_core.errors import ConfigError

from .database import Database

_FOLDER = Path(__file__).parent / "migrations"


async def upgrade(database: Database) -> tuple[str, str]:
    """To the newest revision, under a lock; returns the revisions before and after. Raises what the database raises."""
    async with database.migrating.connect() as connection:
        before = await connection.run_sync(_current)
        if before > head():
            return before, before  # by a later version, whose it is
        await connection.run_sync(_upgrade)
        await connection.commit()
        after = await connection.run_sync(_current)
    return before, after


async def check(database: Database) -> None:
    """Raises `ConfigError` unless the database is at the newest revision."""
    async with database.migrating.connect() as connection:
        found = await connection.run_sync(_current)
    newest = head()
    if found > newest:
        raise ConfigError(
            f"the database is at revision {found}, and this version knows {newest} as the newest",
            hint="install the version that upgraded it, or a later one",
        )
    if found != newest:
        raise ConfigError(
            f"the database is at revision {found or 'none'}, this version needs {newest}",
            hint="agentbreeder db upgrade",
        )


@cache
def head() -> str:
    """The newest revision."""
    from alembic.script import ScriptDirectory

    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _config(connection: Any = None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _current(connection: Any) -> str:
    from alembic.runtime.migration import MigrationContext

    options = {"version_table": "memory_service_version"}
    return MigrationContext.configure(connection, opts=options).get_current_revision() or ""


def _upgrade(connection: Any) -> None:
    from alembic import command

    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_lock(4837201956)")
    try:
        command.upgrade(_config(connection), "head")
        connection.commit()
    finally:
        if connection.dialect.name == "postgresql":
            connection.rollback()
            connection.exec_driver_sql("SELECT pg_advisory_unlock(4837201956)")
