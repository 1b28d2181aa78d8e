"""Messages in a file of SQLite, for trying the service out: the same contract, one writer at a time."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite

from substrate.connect.errors import StoreUnavailable
from substrate.kernel.codec import loads

from . import sqlite_sql as sql
from .database import BUSY_S
from .messages import Hit, Page, SessionRow, Stats, Stored, marked, messages_json
from .namespaces import Part
from .sqlite_search import match_expression

_SEARCHED, SWEEP_EVERY_S = 200_000, 60.0


class SqliteMessages:
    """See `MessageStore`. One connection, used by one task at a time; several processes may share the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: aiosqlite.Connection | None = None
        self._turn = asyncio.Lock()
        self._swept = 0.0

    async def connect(self) -> None:
        """Open the file."""
        if self._connection is None:
            made = await aiosqlite.connect(self._path, timeout=BUSY_S, isolation_level=None)
            made.row_factory = aiosqlite.Row
            await made.execute("PRAGMA journal_mode = WAL")
            await made.create_function(
                "matches", 2, lambda p, text: re.fullmatch(p, text) is not None, deterministic=True
            )
            self._connection = made

    async def close(self) -> None:
        """Close it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def append(
        self, namespace: str, ids: Sequence[str], payloads: Sequence[str], ttl_s: int, window: int
    ) -> list[Stored]:
        """One transaction."""
        now = time.time()
        values = {"namespace": namespace, "now": now, "expires": now + ttl_s if ttl_s else None}
        async with self._writing() as connection:
            await connection.execute(sql.EXPIRE, values)
            if ttl_s and now - self._swept > SWEEP_EVERY_S:
                self._swept = now
                await connection.execute(sql.SWEEP, values)
            session = await _first(await connection.execute(sql.TOUCH, values))
            following = session["next_seq"]
            for message_id, payload in zip(ids, payloads, strict=True):
                row = {"session": session["id"], "seq": following, "id": message_id, "payload": payload, "now": now}
                added = await connection.execute(sql.ADD, {**row, **_searched(payload)})
                following += max(added.rowcount, 0)
            first = max(session["first_seq"], following - window) if window else session["first_seq"]
            counters = {"session": session["id"], "next": following, "first": first}
            await connection.execute(sql.COUNTED, counters)
            kept = {"session": session["id"], "ids": json.dumps(list(ids))}
            found = [_stored(r) for r in await (await connection.execute(sql.KEPT, kept)).fetchall()]
            await connection.execute(sql.EVICT, counters)
            return found

    async def page(self, namespace: str, before: int | None, limit: int, window: int) -> Page:
        """One statement."""
        values = {"namespace": namespace, "before": before, "limit": limit, "window": window, "now": time.time()}
        found = [_stored(r) for r in await self._fetch(sql.PAGE, values)]
        return Page(found[0].seq if found else 0, len(found), messages_json(found))

    async def sessions(self, part: Part, after: str, limit: int, window: int) -> list[SessionRow]:
        """One statement."""
        rows = await self._fetch(sql.SESSIONS, {**_of(part), "after": after, "limit": limit, "window": window})
        return [
            SessionRow(
                namespace=r["namespace"],
                messages=r["messages"],
                created_at=_time(r["created_at"]),
                last_at=_time(r["last_at"]) if r["last_at"] else None,
            )
            for r in rows
        ]

    async def search(self, part: Part, query: str, limit: int, window: int) -> list[Hit]:
        """Ranked by bm25."""
        wanted = match_expression(query)
        if not wanted:
            return []
        rows = await self._fetch(sql.SEARCH, {**_of(part), "query": wanted, "limit": limit, "window": window})
        return [
            Hit(namespace=r["namespace"], message=_stored(r), score=r["score"], highlight=marked(r["highlight"]))
            for r in rows
        ]

    async def ending(self, prefix: str, suffix: str, limit: int) -> list[str]:
        """One statement, over the sessions of the prefix."""
        values = {**_of(Part(prefix=prefix)), "suffix": suffix, "length": len(suffix), "limit": limit}
        return [row["namespace"] for row in await self._fetch(sql.ENDING, values)]

    async def trim(self, part: Part, window: int) -> None:
        """Nothing: every append evicts at once."""

    async def stats(self, part: Part, window: int, *, primary: bool = False) -> Stats:
        """From the counters of the sessions."""
        row = (await self._fetch(sql.STATS, {**_of(part), "window": window}))[0]
        return Stats(sessions=row["sessions"], messages=row["messages"])

    async def delete_session(self, namespace: str) -> bool:
        """With its messages."""
        async with self._writing() as connection:
            return (await connection.execute(sql.DELETE_SESSION, {"namespace": namespace})).rowcount > 0

    async def delete_part(self, part: Part) -> int:
        """At once."""
        count = (await self.stats(part, 0)).messages
        async with self._writing() as connection:
            await connection.execute(sql.DELETE_PART, _of(part))
        return count

    async def forget(self, part: Part, user_id: str, window: int) -> int:
        """One transaction."""
        gone = 0
        async with self._writing() as connection:
            rows = await connection.execute(sql.USERS_SESSIONS, {**_of(part), "user": user_id})
            for row in await rows.fetchall():
                values = {"session": row["id"], "user": user_id, "first": row["first_seq"]}
                gone += (await connection.execute(sql.FORGET, values)).rowcount
                left = (await connection.execute(sql.RENUMBER, values)).rowcount
                await connection.execute(sql.COUNTED, {**values, "next": row["first_seq"] + left})
                await connection.execute(sql.EMPTY, values)
        return gone

    async def _fetch(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        await self.connect()
        assert self._connection is not None
        async with self._turn:
            return list(await (await self._connection.execute(statement, dict(values))).fetchall())

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[aiosqlite.Connection]:
        await self.connect()
        assert self._connection is not None
        async with self._turn:
            try:
                await self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                await self._connection.execute("COMMIT")
            except BaseException as e:
                # Also after a cancellation: what was asked of the connection's thread is done all the same, in order.
                await asyncio.shield(_rolled_back(self._connection))
                if isinstance(e, sqlite3.OperationalError):
                    raise StoreUnavailable(f"the database file could not be written ({e})") from e
                raise


async def _rolled_back(connection: aiosqlite.Connection) -> None:
    await connection.execute("SELECT 1")
    if connection.in_transaction:
        await connection.execute("ROLLBACK")


async def _first(cursor: aiosqlite.Cursor) -> Any:
    return next(iter(await cursor.fetchall()))


def _of(part: Part) -> dict[str, Any]:
    return {"first": part.prefix, "end": part.end, "only": part.only, "now": time.time()}


def _searched(payload: str) -> dict[str, Any]:
    message = loads(payload)
    content, user = message.get("content"), message.get("user_id")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return {
        "content": text.encode("utf-8", "replace").decode()[:_SEARCHED],
        "user": user if isinstance(user, str) else None,
    }


def _stored(row: Any) -> Stored:
    return Stored(id=row["id"], seq=row["seq"], payload=row["payload"], created_at=_time(row["created_at"]))


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
