"""One small pool of asyncpg connections per process and URL, with a broken connection told apart from everything else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from agentbreeder_core.url import BackendUrl

from ..kernel.retrying import again_after, mark_unsent, persistently, was_unsent
from .cloud_sql import CloudSqlDialer, CloudSqlInstance
from .errors import StoreError, StoreRefused, StoreUnavailable, driver_missing, reason
from .postgres_url import AsyncpgUrl, asyncpg_url

T = TypeVar("T")
POOL_SIZE = 10
LOCK = 4_837_201_955  # one number for every table this project makes
# SQLSTATEs that say that nothing was done: read only, no connection left, starting, rolled back for somebody else's sake.
_NOT_DONE = ("25006", "53300", "57P03", "40001", "40P01")
_LASTING = ("21", "22", "23", "54")  # SQLSTATE classes that are about the values: nothing will make them fit
_LIFETIME_S = 300.0  # an idle connection is let go before a firewall does it silently


class PostgresPool:
    """Made at the first call, bound to the event loop that is running then. `prepare` runs once per connection.

    A pooler that loses prepared statements (PgBouncer in transaction mode) is noticed by its error, and from then on
    none are used.
    """

    def __init__(self, url: str, *, size: int = POOL_SIZE, instance: CloudSqlInstance | None = None) -> None:
        """With an `instance` of Cloud SQL, connections are opened by Google's connector, not to the URL's address."""
        self._url = asyncpg_url(url)
        self._dialer = CloudSqlDialer(instance, BackendUrl.parse(url)) if instance else None
        self._cached = self._url.cached
        self._size = size
        self._pool: Any = None
        self._transient: tuple[type[BaseException], ...] = ()
        self._lost_statement: tuple[type[BaseException], ...] = ()
        self._answered: tuple[type[BaseException], ...] = ()
        self._making = asyncio.Lock()

    async def connect(self) -> None:
        """Make the pool with one connection. Raises `StoreUnavailable`, `DriverMissing`, and `StoreError` when the server
        says no."""
        async with self._making:
            if self._pool is None:
                try:
                    self._pool = await self._made()
                except BaseException:
                    await self._close_dialer()
                    raise

    async def close(self) -> None:
        """Let go of every connection, waiting for the queries that run. A later call connects anew."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
        await self._close_dialer()

    async def _close_dialer(self) -> None:
        if self._dialer is not None:
            await self._dialer.close()

    async def create(self, table: str, script: str) -> None:
        """Run the script, whose statements all say IF NOT EXISTS or OR REPLACE, when the table is not there: under a lock,
        so that many processes may start at once. The usual start changes nothing and needs no right to make tables."""

        async def make(connection: Any) -> None:
            if await connection.fetchval("SELECT to_regclass($1)", table) is not None:
                return
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                await connection.execute(script)

        await self.run(make)

    async def run(self, call: Callable[[Any], Awaitable[T]]) -> T:
        """`call(connection)`, which may be repeated without harm."""
        return await self.persistently(lambda connection, _: call(connection))

    async def persistently(self, call: Callable[[Any, bool], Awaitable[T]]) -> T:
        """`call(connection, again)`; `again` says that an earlier attempt may have been carried out.

        Raises `StoreUnavailable` when the server cannot be reached for some seconds, `StoreRefused` when it says no.
        """
        if self._pool is None:
            await self.connect()
        try:
            try:
                return await self._borrow(call, False)
            except self._transient as e:
                retried = lambda again: self._borrow(call, again)  # noqa: E731
                return await again_after(e, retried, self._transient, unsent=_unsent)
        except self._transient as e:
            raise StoreUnavailable(f"PostgreSQL could not be reached ({reason(e)})") from e
        except self._answered as e:
            lasting = str(getattr(e, "sqlstate", "")).startswith(_LASTING)
            raise StoreRefused(f"PostgreSQL does not take it ({reason(e)})", lasting=lasting) from e

    async def _borrow(self, call: Callable[[Any, bool], Awaitable[T]], again: bool) -> T:
        pool = self._pool
        if pool is None:
            raise StoreUnavailable("it was closed in the meantime")
        try:
            return await self._on_one(pool, call, again)
        except self._lost_statement:
            # Not carried out: the server did not know what it was asked to run.
            if not await self._without_statements(pool):
                raise
            return await self._on_one(self._pool, call, again)

    async def _without_statements(self, pool: Any) -> bool:
        """Put a pool that prepares nothing in place of this one, unless it is one already. Of many calls that meet the
        error together, one makes it."""
        async with self._making:
            if self._pool is not pool:
                return self._pool is not None
            if not self._cached:
                return False
            self._cached = False
            self._pool = await self._made()
        await pool.close()
        return True

    async def _on_one(self, pool: Any, call: Callable[[Any, bool], Awaitable[T]], again: bool) -> T:
        sent = False
        try:
            async with pool.acquire() as connection:
                sent = True
                try:
                    return await call(connection, again)
                except BaseException as e:
                    # A server that refused leaves the connection as good as before. Otherwise it is broken, left in the
                    # middle of something by a timeout or a cancellation, or leads to what is a replica since a failover.
                    if not isinstance(e, self._answered) or isinstance(e, self._transient):
                        connection.terminate()
                    raise
        except self._transient as e:
            if not sent:
                mark_unsent(e)
            raise

    async def _made(self) -> Any:
        try:
            import asyncpg
            from asyncpg import exceptions as e
        except ImportError as missing:
            raise driver_missing(missing.name, "postgres") from missing
        self._transient = (
            *(e.PostgresConnectionError, e.InterfaceError, e.CannotConnectNowError, e.AdminShutdownError),
            *(e.CrashShutdownError, e.TooManyConnectionsError, e.ReadOnlySQLTransactionError),
            *(e.SerializationError, e.DeadlockDetectedError),
            *(e.InternalClientError, OSError, asyncio.TimeoutError),
        )
        self._answered = (e.PostgresError,)
        self._lost_statement = (e.InvalidSQLStatementNameError, e.DuplicatePreparedStatementError)
        options = self._options(self._url)

        async def made(again: bool) -> Any:
            pool = await asyncpg.create_pool(**options)
            try:
                await pool.fetchval("SELECT 1")
            except BaseException:
                pool.terminate()
                raise
            return pool

        try:
            return await persistently(made, self._transient)
        except self._lost_statement:
            if not self._cached:
                raise
            self._cached = False
            return await self._made()
        except self._transient as error:
            raise StoreUnavailable(f"PostgreSQL could not be reached ({reason(error)})") from error
        except e.PostgresError as error:
            raise StoreError(f"PostgreSQL refused the connection ({reason(error)})") from error

    def _options(self, url: AsyncpgUrl) -> dict[str, Any]:
        where = {"connect": self._dialer.connect} if self._dialer else {"dsn": url.dsn}
        return {
            **where,
            "min_size": 0,
            "max_size": int(os.environ.get("AGENTBREEDER_POOL_SIZE", self._size)),
            "timeout": url.connect_timeout_s,
            "command_timeout": url.command_timeout_s,
            "max_inactive_connection_lifetime": _LIFETIME_S,
            "statement_cache_size": 100 if self._cached else 0,
            # Nothing here changes a connection's state, so there is nothing to set back, and a round trip to save.
            "reset": _nothing_to_reset,
            "server_settings": {"application_name": "agentbreeder"},
        }


def _unsent(error: BaseException) -> bool:
    return was_unsent(error) or str(getattr(error, "sqlstate", "")) in _NOT_DONE


async def _nothing_to_reset(connection: Any) -> None:
    """Every statement of ours stands alone or in a transaction that ends with its block."""
