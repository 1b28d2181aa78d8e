"""Messages in PostgreSQL, in the runtime's own tables: an agent in a container and the service see the same."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from agentbreeder_memory.postgres_log import SWEEP_BATCH, SWEEP_EVERY_S
from agentbreeder_memory.postgres_sql import EXPIRED
from substrate.connect.errors import StoreError
from substrate.connect.postgres_pool import PostgresPool
from substrate.kernel.codec import to_storable

from . import postgres_sql as sql
from .messages import Hit, Page, SessionRow, Stats, Stored, marked
from .namespaces import Part, for_postgres

_BATCH = 500


class PostgresMessages:
    """See `MessageStore`. Each call is one round trip; searches and counts go to the replica when there is one."""

    def __init__(self, url: str, *, read_url: str = "", pool_size: int = 10) -> None:
        self._pool = PostgresPool(url, size=pool_size)
        self._swept = 0.0
        self._reading = PostgresPool(read_url, size=pool_size) if read_url else self._pool

    async def connect(self) -> None:
        """Both of them."""
        await self._pool.connect()
        await self._reading.connect()

    async def close(self) -> None:
        """Both of them."""
        await self._pool.close()
        if self._reading is not self._pool:
            await self._reading.close()

    async def append(
        self, namespace: str, ids: Sequence[str], payloads: Sequence[str], ttl_s: int, window: int
    ) -> list[Stored]:
        """One call; an id is kept once, so a repeated call does no harm. Once a minute some sessions that have expired are
        deleted as well."""
        values = (namespace, list(ids), list(payloads), ttl_s, window)
        rows = await self._pool.run(lambda connection: connection.fetch(sql.POST, *values))
        if ttl_s and time.monotonic() - self._swept > SWEEP_EVERY_S:
            self._swept = time.monotonic()
            with contextlib.suppress(StoreError):  # the message is kept, and a minute later is as good
                await self._pool.run(lambda connection: connection.execute(EXPIRED, SWEEP_BATCH))
        return [_stored(row) for row in rows]

    async def page(self, namespace: str, before: int | None, limit: int, window: int) -> Page:
        """One call."""
        row = await self._pool.run(lambda connection: connection.fetchrow(sql.PAGE, namespace, before, limit, window))
        return Page(row[0] or 0, row[1], f"[{row[2] or ''}]".encode()) if row else Page(0, 0, b"[]")

    async def sessions(self, part: Part, after: str, limit: int, window: int) -> list[SessionRow]:
        """A range of the namespaces' index."""
        values = (*_bounds(part), window, after, limit)
        rows = await self._reading.run(lambda connection: connection.fetch(sql.SESSIONS, *values))
        return [SessionRow(**dict(row)) for row in rows]

    async def search(self, part: Part, query: str, limit: int, window: int) -> list[Hit]:
        """Through the GIN index; of very many matches ten thousand are ranked."""
        values = (*_bounds(part), query, limit, window)
        rows = await self._reading.run(lambda connection: connection.fetch(sql.SEARCH, *values))
        return [
            Hit(namespace=r["namespace"], message=_stored(r), score=float(r["score"]), highlight=marked(r["highlight"]))
            for r in rows
        ]

    async def ending(self, prefix: str, suffix: str, limit: int) -> list[str]:
        """By an index of namespaces backwards; of the primary, because a write depends on it."""
        end = Part(prefix=prefix).end
        if not suffix:
            rows = await self._pool.run(lambda connection: connection.fetch(sql.BEGINNING, prefix, end, limit))
        else:
            back = suffix[::-1]
            values = (prefix, end, back, Part(prefix=back).end, limit)
            rows = await self._pool.run(lambda connection: connection.fetch(sql.BETWEEN, *values))
        return [row["namespace"] for row in rows]

    async def trim(self, part: Part, window: int) -> None:
        """500 sessions at a time."""
        values = (part.prefix, part.end, window, _BATCH)
        while await self._pool.run(lambda c: c.execute(sql.TRIM, *values)) == f"UPDATE {_BATCH}":
            continue

    async def stats(self, part: Part, window: int, *, primary: bool = False) -> Stats:
        """From the counters of the sessions."""
        values = (*_bounds(part), window)
        row = await (self._pool if primary else self._reading).run(
            lambda connection: connection.fetchrow(sql.STATS, *values)
        )
        return Stats(sessions=row["sessions"], messages=row["messages"])

    async def delete_session(self, namespace: str) -> bool:
        """With its messages."""
        done = await self._pool.run(lambda connection: connection.execute(sql.DELETE_SESSION, namespace))
        return bool(done != "DELETE 0")

    async def delete_part(self, part: Part) -> int:
        """500 sessions at a time, so that nothing else waits long."""
        bounds = _bounds(part)
        count = await self._pool.run(lambda connection: connection.fetchval(sql.COUNT_PART, *bounds))
        while await self._pool.run(lambda c: c.execute(sql.DELETE_PART, *bounds, _BATCH)) == f"DELETE {_BATCH}":
            continue
        return int(count)

    async def forget(self, part: Part, user_id: str, window: int) -> int:
        """Session by session."""
        # As it is, and as it stands in a payload that jsonb cannot hold.
        names = [n[:512] for n in {user_id, to_storable(user_id)} if "\x00" not in n and _is_unicode(n)]
        values = (*_bounds(part), names)
        rows = await self._pool.run(lambda connection: connection.fetch(sql.USERS_SESSIONS, *values))
        gone = 0
        for row in rows:
            session = row["id"]
            gone += await self._pool.run(lambda c, s=session: c.fetchval(sql.FORGET, s, names, window))  # type: ignore[misc]
        return gone


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _bounds(part: Part) -> tuple[Any, ...]:
    return part.prefix, part.end, for_postgres(part.only) if part.only else None


def _stored(row: Any) -> Stored:
    return Stored(row["id"], row["seq"], row["payload"], row["created_at"])
