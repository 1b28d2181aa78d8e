"""One database of the service: PostgreSQL, or a file of SQLite for trying it out and for configs without a server."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from substrate.connect.engine import open_engine

BUSY_S = 10.0
"""How long a writer of SQLite waits for another process."""


class Database:
    """Where it is, and an engine for it. Makes no connection before it is used; one per process."""

    def __init__(
        self, *, url: str = "", read_url: str = "", sqlite_path: Path | None = None, pool_size: int = 5
    ) -> None:
        """Either a PostgreSQL `url`, or a `sqlite_path`. `read_url` is a replica for searches and counts."""
        self.url, self.read_url, self.sqlite_path = url, read_url, sqlite_path
        self.pool_size = pool_size
        self._engine: AsyncEngine | None = None

    @property
    def engine(self) -> AsyncEngine:
        """For configs: statements commit one by one."""
        if self._engine is None:
            self._engine = self._made()
        return self._engine

    @property
    def migrating(self) -> AsyncEngine:
        """The same connections with transactions, because in PostgreSQL a revision is applied whole or not at all."""
        return self.engine if self.sqlite_path else self.engine.execution_options(isolation_level="READ COMMITTED")

    async def close(self) -> None:
        """Let go of every connection."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.dispose()

    def _made(self) -> AsyncEngine:
        if self.sqlite_path is None:
            return cast("AsyncEngine", open_engine(self.url, pool_size=self.pool_size))
        self.sqlite_path.parent.mkdir(parents=True, exist_ok=True)
        self.sqlite_path.touch(mode=0o600)  # conversations are for their owner
        return create_async_engine(
            f"sqlite+aiosqlite:///{self.sqlite_path}", connect_args={"timeout": BUSY_S}, hide_parameters=True
        )
