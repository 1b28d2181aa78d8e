"""One turn (append user and assistant, load the last 50) against the raw drivers, in one run. Ratios and medians."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

TEXT = "The quick brown fox jumps over the lazy dog. " * 6
ROUNDS, TURNS = 7, 60
Turn = Callable[[str], Awaitable[object]]

_LUA = """
redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[2])
redis.call('LTRIM', KEYS[1], -200, -1)
redis.call('EXPIRE', KEYS[1], 3600)
return redis.call('LRANGE', KEYS[1], -50, -1)
"""
_SQL = """
CREATE TABLE IF NOT EXISTS raw_sessions (id text PRIMARY KEY, next_seq bigint NOT NULL);
CREATE TABLE IF NOT EXISTS raw_messages (
    session_id text NOT NULL, seq bigint NOT NULL, payload text NOT NULL, PRIMARY KEY (session_id, seq)
);
CREATE OR REPLACE FUNCTION raw_turn(s text, a text, b text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    INSERT INTO raw_sessions VALUES (s, 3) ON CONFLICT (id) DO UPDATE SET next_seq = raw_sessions.next_seq + 2
    RETURNING next_seq INTO n;
    INSERT INTO raw_messages VALUES (s, n - 2, a), (s, n - 1, b);
    RETURN QUERY SELECT payload FROM raw_messages WHERE session_id = s AND seq >= n - 50 ORDER BY seq;
END $$;
"""


def pair() -> list[dict[str, Any]]:
    """What one turn adds: some 300 bytes each."""
    return [{"role": "user", "content": TEXT}, {"role": "assistant", "content": TEXT}]


@contextmanager
def servers() -> Iterator[tuple[str, str]]:
    """URLs of a Redis and a PostgreSQL; durable, as deployed ones are, except that the Redis does not sync each write."""
    from agentbreeder_sandbox.servers.postgres import PostgresServer
    from agentbreeder_sandbox.servers.redis import RedisServer

    with RedisServer(options=("--appendonly", "no")) as redis, PostgresServer() as postgres:
        yield redis.url, postgres.url()


async def raw_redis(url: str) -> Turn:
    """One Lua call, with hiredis and orjson."""
    import orjson
    import redis.asyncio

    client = redis.asyncio.Redis.from_url(url)
    digest = await client.script_load(_LUA)

    async def turn(session: str) -> object:
        a, b = (orjson.dumps(m) for m in pair())
        found = await client.execute_command("EVALSHA", digest, 1, session, a, b)
        return [orjson.loads(m) for m in found]

    return turn


async def raw_postgres(url: str) -> Turn:
    """One call of a stored function, through a pool of ten."""
    import asyncpg
    import orjson

    pool = await asyncpg.create_pool(url, min_size=1, max_size=10)
    await pool.execute(_SQL)

    async def turn(session: str) -> object:
        a, b = (orjson.dumps(m).decode() for m in pair())
        async with pool.acquire() as connection:
            found = await connection.fetch("SELECT raw_turn($1, $2, $3)", session, a, b)
        return [orjson.loads(r[0]) for r in found]

    return turn


async def _ours(backend: str, url: str) -> dict[str, Turn]:
    from agentbreeder_memory import MemoryManager, MemorySettings

    chosen = MemorySettings(backend=backend, agent="bench", url=url, ttl_s=3600, max_messages=200)  # type: ignore[arg-type]
    manager = MemoryManager(chosen)
    await manager.connect()

    async def apart(session: str) -> object:
        await manager.append(session, pair())
        return await manager.load(session, 50)

    return {"MemoryManager.turn": lambda s: manager.turn(s, pair(), 50), "append, then load": apart}


async def _one_session(turn: Turn, history: int) -> float:
    session = uuid4().hex
    for _ in range(history // 2):
        await turn(session)
    start = time.perf_counter()
    for _ in range(TURNS):
        await turn(session)
    return (time.perf_counter() - start) / TURNS


async def _many_sessions(turn: Turn, count: int) -> float:
    sessions = [uuid4().hex for _ in range(count)]

    async def talk(session: str) -> None:
        for _ in range(TURNS):
            await turn(session)

    await asyncio.gather(*(talk(s) for s in sessions))
    start = time.perf_counter()
    await asyncio.gather(*(talk(s) for s in sessions))
    return count * TURNS / (time.perf_counter() - start)


async def _compare(title: str, turns: dict[str, Turn]) -> None:
    for history in (10, 200):
        seen: dict[str, list[float]] = {name: [] for name in turns}
        for number in range(ROUNDS):
            for name in list(turns) if number % 2 else list(reversed(list(turns))):
                seen[name].append(await _one_session(turns[name], history))
        raw = statistics.median(seen["raw"])
        print(f"{title}, 1 session, {history} messages before")
        for name, found in seen.items():
            middle = statistics.median(found)
            print(f"  {name:22} {middle * 1e6:7.0f} us a turn   {middle / raw:5.2f} of raw")
    rates = {name: statistics.median([await _many_sessions(turns[name], 32) for _ in range(3)]) for name in turns}
    print(f"{title}, 32 sessions at once")
    for name, rate in rates.items():
        print(f"  {name:22} {rate:7.0f} turns/s      {rates['raw'] / rate:5.2f} of raw")


def turns() -> None:
    """Both backends."""

    async def run(redis_url: str, database_url: str) -> None:
        await _compare("Redis", {"raw": await raw_redis(redis_url), **await _ours("redis", redis_url)})
        await _compare(
            "PostgreSQL", {"raw": await raw_postgres(database_url), **await _ours("postgresql", database_url)}
        )

    with servers() as urls:
        asyncio.run(run(*urls))
