"""The log in PostgreSQL: one call of a function per turn; numbers from the session's own counter."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from substrate.connect.cloud_sql import CloudSqlInstance
from substrate.connect.errors import StoreError, StoreMisconfigured, StoreUnavailable
from substrate.connect.postgres_pool import PostgresPool

from . import postgres_sql as sql
from .log import ANSWER_LOST

_NO_RIGHT = (
    "the memory's tables are not there and may not be made by this user, or may not be used by it: have the SQL of "
    "`agentbreeder db init --print` run by somebody who may, with the rights that stand at its end"
)
SWEEP_EVERY_S, SWEEP_BATCH = 60.0, 200
_log = logging.getLogger("agentbreeder.memory")


class PostgresLog:
    """See `SessionLog`. `window` 0 keeps all; `ttl_s` 0 keeps for ever.

    What outlived its TTL is not read from that moment on, and deleted in the background, 200 sessions at a time.
    """

    def __init__(
        self, url: str, *, window: int, ttl_s: int, instance: CloudSqlInstance | None = None, vectors: bool = False
    ) -> None:
        self._pool = PostgresPool(url, instance=instance)
        self._vectors = vectors
        self._window, self._ttl_s = window, ttl_s
        self._migrated: set[bool] = set()  # shared with what is made by `unbounded`
        self._sweeper: asyncio.Task[None] | None = None

    def unbounded(self) -> PostgresLog:
        """Shares everything but the window."""
        made = copy.copy(self)
        made._window = 0
        return made

    async def connect(self) -> None:
        """Connect, and bring the tables to this version under a lock: ten containers may start at once. With `vectors`
        the extension of a knowledge base in the same database is added too.

        Raises `StoreMisconfigured` when they are missing and may not be made, or are of a later version.
        """
        await self._pool.connect()
        await self._pool.run(migrate)
        if self._vectors:
            await self._pool.run(add_vectors)
        self._migrated.add(True)
        if self._ttl_s and self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep(), name="agentbreeder-memory-expiry")

    async def close(self) -> None:
        """Every connection."""
        sweeper, self._sweeper = self._sweeper, None
        if sweeper is not None:
            sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeper
        await self._pool.close()

    async def load(self, session: str, limit: int) -> bytes:
        """One call."""
        return await self._turn(session, (), (), limit)

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        if ids:
            await self._turn(session, ids, messages, -1)

    async def append_and_load(self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int) -> bytes:
        """One call."""
        return await self._turn(session, ids, messages, limit)

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        payloads = [m.decode() for m in messages]
        values = (session, list(ids), payloads, self._ttl_s, self._window, -1, True)
        await self._once(lambda connection: connection.fetchval(sql.TURN, *values))

    async def pop(self, session: str) -> bytes | None:
        """One call."""

        message = await self._once(lambda connection: connection.fetchval(sql.POP, session, self._window))
        return None if message is None else str(message).encode()

    async def clear(self, session: str) -> None:
        """The session's row, and its messages with it."""
        await self._once(lambda connection: connection.execute(sql.CLEAR, session))

    async def delete_expired(self) -> int:
        """Remove at most one batch of what outlived its TTL, and return how many sessions."""
        done = await self._pool.run(lambda connection: connection.execute(sql.EXPIRED, SWEEP_BATCH))
        return int(str(done).rpartition(" ")[2])

    async def _once(self, call: Callable[[Any], Awaitable[Any]]) -> Any:
        """What a second time may take from what others added since the first."""

        async def take(connection: Any, again: bool) -> Any:
            if again:
                raise StoreUnavailable(ANSWER_LOST)
            return await call(connection)

        if not self._migrated:
            await self.connect()
        return await self._pool.persistently(take)

    async def _turn(self, session: str, ids: Sequence[str], messages: Sequence[bytes], answer: int) -> bytes:
        payloads = [m.decode() for m in messages]
        values = (session, list(ids), payloads, self._ttl_s, self._window, answer, False)
        if not self._migrated:
            await self.connect()
        # An id is added once, so a repeated call does no harm.
        found = await self._pool.run(lambda connection: connection.fetchval(sql.TURN, *values))
        return b"[" + (found or "").encode() + b"]"

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            try:
                while await self.delete_expired() == SWEEP_BATCH:
                    await asyncio.sleep(0.1)
            except StoreError as e:
                _log.info("expired sessions could not be deleted now and are tried again in a minute: %s", e)


async def migrate(connection: Any) -> None:
    """Bring the tables to this version. The usual start finds them and changes nothing, and needs no right to."""
    from asyncpg import exceptions as e

    wanted = len(sql.MIGRATIONS)
    try:
        version = await _version(connection)
    except e.InsufficientPrivilegeError as error:
        raise StoreMisconfigured(_NO_RIGHT) from error
    if version > wanted:
        raise StoreMisconfigured(f"the tables are of version {version}, this program knows {wanted}: use a newer one")
    if version == wanted:
        return
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", sql.LOCK)
            for script in sql.MIGRATIONS[await _version(connection) :]:
                await connection.execute(script)
    except e.InsufficientPrivilegeError as error:
        raise StoreMisconfigured(_NO_RIGHT) from error


async def add_vectors(connection: Any) -> None:
    """Add the extension `vector` when it is not there; finding it needs no right.

    Raises `StoreMisconfigured` when it may not be added, or the server does not have it.
    """
    from asyncpg import exceptions as e

    if await connection.fetchval(sql.HAS_VECTOR):
        return
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", sql.LOCK)
            await connection.execute(sql.ADD_VECTOR)
    except (e.InsufficientPrivilegeError, e.FeatureNotSupportedError, e.UndefinedFileError) as error:
        raise StoreMisconfigured(
            "a knowledge base shares this database, but the extension vector is not there and could not be added "
            f"({type(error).__name__}): have `{sql.ADD_VECTOR}` run by somebody who may, on a server that has pgvector"
        ) from error


async def _version(connection: Any) -> int:
    if not await connection.fetchval(sql.IS_THERE):
        return 0
    return int(await connection.fetchval(sql.VERSION) or 0)
