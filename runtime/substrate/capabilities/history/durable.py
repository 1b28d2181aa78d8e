"""Conversations in PostgreSQL, through SQLAlchemy 2: one row per session, one per message."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from ...connect.engine import is_away, open_engine, sqlstate_of
from ...connect.errors import StoreRefused, StoreUnavailable, reason
from ...kernel.codec import as_messages, from_jsonb_text, jsonb_text, named, to_storable
from ...kernel.lifecycle import Connected
from ...kernel.retrying import persistently
from ...kernel.storage.history import ChatMessage, SessionKey
from . import durable_sql as sql

T = TypeVar("T")
_LOST_STATEMENT = ("26000", "42P05")
_CLASHES = 5
_MOST = 1000  # messages of one append


class DurableHistoryProvider(Connected):
    """See `HistoryProvider`. Keeps everything; a message id is unique in its session for good.

    `ttl` in seconds counts from the last append or refresh: `delete_expired` removes what is older, and nothing does it
    by itself. Use one provider per process. Calls may raise `StoreUnavailable` once the server was unreachable for some
    three seconds.
    """

    def __init__(self, database_url: str, ttl: int | None = None) -> None:
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl is a number of seconds above 0, or None")
        self._url, self._ttl = database_url, ttl
        self._engine: Any = None
        self._ready, self._connecting, self._cached = False, asyncio.Lock(), True
        self._statements: dict[str, Any] = {}

    async def connect(self) -> None:
        """Connect, and make the tables when they are not there. Raises `StoreUnavailable`, `StoreMisconfigured`."""
        async with self._connecting:
            if self._ready:
                return
            await self.create_tables()
            self._ready = True

    async def disconnect(self) -> None:
        """Let go of every connection."""
        engine, self._engine, self._ready = self._engine, None, False
        if engine is not None:
            await engine.dispose()

    async def create_tables(self) -> None:
        """`durable_sql.SCHEMA`, under a lock, so that many processes may start at once."""

        async def make(connection: Any, _: bool) -> None:
            if await self._value(connection, "SELECT to_regclass('history_messages')") is not None:
                return
            # One transaction: the lock is held until the tables are there.
            await connection.execute(self._text("BEGIN"))
            try:
                await connection.execute(self._text(f"SELECT pg_advisory_xact_lock({sql.LOCK})"))
                for statement in sql.SCHEMA:
                    await connection.execute(self._text(statement))
            except BaseException:
                await connection.invalidate()
                raise
            await connection.execute(self._text("COMMIT"))

        await self._attempt(make)

    async def append(
        self, key: SessionKey, messages: ChatMessage | Sequence[ChatMessage], *, run_id: str | None = None
    ) -> list[str]:
        """One statement, all or none; a repeated one looks first for what it wrote already."""
        ids, encoded = named(as_messages(messages))
        if len(ids) > _MOST:
            raise ValueError(f"at most {_MOST} messages at once")
        payloads = [jsonb_text(e) for e in encoded]
        run = None if run_id is None else to_storable(run_id)
        if ids:
            await self._run(lambda connection, _: self._append(connection, key, ids, payloads, run))
        return ids

    async def _append(
        self, connection: Any, key: SessionKey, ids: list[str], payloads: list[str], run: str | None
    ) -> None:
        from sqlalchemy.exc import IntegrityError

        values = {**key._asdict(), "run_id": run}
        new = list(zip(ids, payloads, strict=True))
        clashes = 0
        while new:
            some = {"ids": [i for i, _ in new], "payloads": [p for _, p in new], "count": len(new)}
            try:
                await connection.execute(self._text(sql.APPEND), {**values, **some})
                return
            except IntegrityError:
                # Some are there already: this is a repetition, or somebody else's of the same message.
                rows = await connection.execute(self._text(sql.KNOWN), {**values, "ids": some["ids"]})
                known = {row[0] for row in rows}
                if not known and clashes >= _CLASHES:
                    raise  # nobody else cleared it meanwhile, or again and again
                clashes += not known
                new = [pair for pair in new if pair[0] not in known]

    async def last(self, key: SessionKey, n: int) -> list[dict[str, Any]]:
        """By the newest sequence numbers."""
        if n <= 0:
            return []
        return list(reversed(await self._payloads(sql.LAST, {**key._asdict(), "n": n})))

    async def range(self, key: SessionKey, start: int, stop: int) -> list[dict[str, Any]]:
        """In the order of the sequence numbers."""
        first = max(0, start)
        if stop <= first:
            return []
        return await self._payloads(sql.RANGE, {**key._asdict(), "start": first, "n": stop - first})

    async def count(self, key: SessionKey) -> int:
        """From the session's row."""
        values = key._asdict()
        return int(await self._run(lambda c, _: self._value(c, sql.COUNT, values)) or 0)

    async def clear(self, key: SessionKey) -> None:
        """The session's row, and its messages with it."""
        values = key._asdict()
        await self._run(lambda c, _: c.execute(self._text(sql.CLEAR), values))

    async def clear_run(self, key: SessionKey, run_id: str) -> int:
        """Under the lock of the session's row, so that the count stays true while others append."""
        values = {**key._asdict(), "run_id": to_storable(run_id)}
        return int(await self._run(lambda c, _: self._value(c, sql.CLEAR_RUN, values)) or 0)

    async def refresh_ttl(self, key: SessionKey) -> None:
        """The session's row says when it was last used."""
        if self._ttl is not None:
            values = key._asdict()
            await self._run(lambda c, _: c.execute(self._text(sql.TOUCH), values))

    async def delete_expired(self, *, batch: int = 500) -> int:
        """Remove at most `batch` sessions that outlived their TTL, and return how many. Call it from time to time."""
        if self._ttl is None:
            return 0
        values = {"ttl": float(self._ttl), "batch": batch}
        done = await self._run(lambda c, _: c.execute(self._text(sql.EXPIRED), values))
        return int(done.rowcount)

    async def _payloads(self, statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        async def fetch(connection: Any, _: bool) -> list[Any]:
            return list(await connection.execute(self._text(statement), values))

        return [from_jsonb_text(row[0]) for row in await self._run(fetch)]

    async def _value(self, connection: Any, statement: str, values: dict[str, Any] | None = None) -> Any:
        return (await connection.execute(self._text(statement), values or {})).scalar()

    async def _run(self, call: Callable[[Any, bool], Awaitable[T]]) -> T:
        if not self._ready:
            await self.connect()
        return await self._attempt(call)

    async def _attempt(self, call: Callable[[Any, bool], Awaitable[T]]) -> T:
        if self._engine is None:
            self._engine = open_engine(self._url)

        from sqlalchemy.exc import DBAPIError

        async def borrow(again: bool) -> T:
            engine = self._engine
            try:
                async with engine.connect() as connection:
                    return await call(connection, again)
            except DBAPIError as e:
                if sqlstate_of(e) in _LOST_STATEMENT and (engine is not self._engine or self._cached):
                    await self._without_statements(engine)
                    raise StoreUnavailable("a pooler lost a prepared statement") from e
                # Only a broken connection is worth another try; any other refusal is an answer.
                if is_away(e):
                    raise StoreUnavailable(f"PostgreSQL could not be reached ({reason(e.orig)})") from e
                raise StoreRefused(f"PostgreSQL does not take it ({reason(e.orig)})") from e
            except (TimeoutError, OSError) as e:
                raise StoreUnavailable(f"PostgreSQL could not be reached ({reason(e)})") from e

        return await persistently(borrow, (StoreUnavailable,))

    async def _without_statements(self, engine: Any) -> None:
        """An engine that keeps none, in place of this one: the server is behind PgBouncer in transaction mode."""
        if self._engine is engine:
            self._cached = False
            self._engine = open_engine(self._url, cached=False)
            await engine.dispose()

    def _text(self, statement: str) -> Any:
        if statement not in self._statements:
            from sqlalchemy import text

            self._statements[statement] = text(statement)
        return self._statements[statement]
