"""A SQLAlchemy 2 engine on asyncpg from any spelling of a PostgreSQL URL."""

from __future__ import annotations

from typing import Any

from .errors import driver_missing
from .postgres_url import asyncpg_url

POOL_SIZE = 5
_RECYCLE_S = 300


def open_engine(database_url: str, *, pool_size: int = POOL_SIZE, cached: bool = True) -> Any:
    """An `AsyncEngine`; makes no connection yet, and one per process is enough.

    The URL goes to asyncpg as it is meant, not through SQLAlchemy's own reading of it, which knows neither `sslmode` nor
    sockets. Statements are committed one by one; they are not `cached` behind a pooler that loses prepared ones. Raises
    `StoreMisconfigured`, `DriverMissing`.
    """
    url = asyncpg_url(database_url)
    try:
        import asyncpg
        from sqlalchemy.ext.asyncio import create_async_engine
    except ImportError as e:
        raise driver_missing(e.name, "sqlalchemy") from e

    async def connect() -> Any:
        return await asyncpg.connect(
            url.dsn,
            timeout=url.connect_timeout_s,
            command_timeout=url.command_timeout_s,
            statement_cache_size=100 if url.cached and cached else 0,
            server_settings={"application_name": "agentbreeder"},
        )

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_recycle=_RECYCLE_S,
        hide_parameters=True,  # an error's text shows no message
    )


def sqlstate_of(error: Any) -> str:
    """Of a `DBAPIError`; "" where the server did not say one."""
    return str(getattr(error.orig, "sqlstate", "") or "")


def is_away(error: Any) -> bool:
    """Whether another try may find the server: the connection of a `DBAPIError` broke, or the server is starting, stopping or
    full (SQLSTATE classes 08, 53 and 57P)."""
    return bool(error.connection_invalidated) or sqlstate_of(error).startswith(("08", "53", "57P"))
