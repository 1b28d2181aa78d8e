"""State, memories and the SQLAlchemy provider against their one command; and a turn at 10 and at 100,000 messages."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from turns import pair, servers

ROUNDS, CALLS = 7, 80
Call = Callable[[], Awaitable[object]]


async def _once(call: Call) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - start) / CALLS


async def _ratio(title: str, raw: Call, ours: Call) -> None:
    """Interleaved, the order reversed every other round."""
    seen: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        for which in (0, 1) if number % 2 else (1, 0):
            seen[which].append(await _once((raw, ours)[which]))
    a, b = (statistics.median(s) * 1e6 for s in seen)
    print(f"  {title:34} raw {a:6.0f} us   ours {b:6.0f} us   ratio {b / a:.2f}")


async def _state(url: str) -> None:
    import orjson
    import redis.asyncio

    from substrate.capabilities.memory import RedisSessionStore

    client, state = redis.asyncio.Redis.from_url(url), {f"field{n}": "x" * 20 for n in range(5)}
    fields = {k: orjson.dumps(v) for k, v in state.items()}
    async with RedisSessionStore(redis_url=url, ttl=3600) as store:
        await store.set_state("bench", state)

        async def read() -> object:
            return {k.decode(): orjson.loads(v) for k, v in (await client.hgetall("session:state:bench")).items()}

        await _ratio("get_state, HGETALL", read, lambda: store.get_state("bench"))
        raw = lambda: client.hset("session:state:bench", mapping=fields)  # type: ignore[arg-type, return-value]  # noqa: E731
        await _ratio("update_state, HSET without EXPIRE", raw, lambda: store.update_state("bench", state))
    await client.aclose()


async def _memories(url: str) -> None:
    import asyncpg

    from substrate.capabilities.memory import DurableMemoryStore

    async with DurableMemoryStore(url) as store:
        for n in range(200):
            await store.save("bench", f"memory number {n} about tea and coffee")
        pool = await asyncpg.create_pool(url, min_size=1, max_size=4)
        insert = "INSERT INTO agent_memories (id, agent_name, content) VALUES ($1, 'raw', $2)"
        find = (
            "SELECT id, content FROM agent_memories WHERE agent_name = 'bench' AND "
            "search_vec @@ websearch_to_tsquery('english', $1) ORDER BY ts_rank_cd(search_vec, "
            "websearch_to_tsquery('english', $1)) DESC LIMIT 5"
        )
        await _ratio("save, INSERT", lambda: pool.execute(insert, uuid4().hex, "tea"), lambda: store.save("b2", "tea"))
        await _ratio("search, SELECT", lambda: pool.fetch(find, "coffee"), lambda: store.search("bench", "coffee"))
        await pool.close()


async def _provider(url: str) -> None:
    from sqlalchemy import text

    from substrate.capabilities.history import DurableHistoryProvider
    from substrate.capabilities.history import durable_sql as sql
    from substrate.connect.engine import open_engine
    from substrate.kernel.codec import named
    from substrate.kernel.storage.history import session_key

    engine, key, other = open_engine(url), session_key("bench", "a", "ours"), session_key("bench", "a", "raw")
    append, last = text(sql.APPEND), text(sql.LAST)
    async with DurableHistoryProvider(database_url=url) as provider:

        async def ours() -> object:
            await provider.append(key, pair())
            return await provider.last(key, 50)

        async def raw() -> object:
            ids, encoded = named(pair())
            values: dict[str, Any] = {**other._asdict(), "run_id": None, "ids": ids, "count": 2}
            async with engine.connect() as connection:
                await connection.execute(append, {**values, "payloads": [e.decode() for e in encoded]})
            async with engine.connect() as connection:
                return list(await connection.execute(last, {**other._asdict(), "n": 50}))

        await _ratio("SQLAlchemy provider, same statements", raw, ours)
    await engine.dispose()


async def _growth(backend: str, url: str) -> None:
    from agentbreeder_memory import MemoryManager, MemorySettings

    chosen = MemorySettings(backend=backend, agent="grow", url=url, memory_type="buffer", max_messages=0)  # type: ignore[arg-type]
    async with MemoryManager(chosen) as memory:
        took = {}
        for count in (10, 100_000):
            session = f"s{count}"
            for _ in range(max(1, count // 1000)):
                await memory.append(session, pair() * min(500, count // 2))
            took[count] = statistics.median(
                [await _once(lambda s=session: memory.turn(s, pair(), 50)) for _ in range(ROUNDS)]
            )  # type: ignore[misc]
        small, large = took[10] * 1e6, took[100_000] * 1e6
        print(f"  {backend:34} at 10 {small:5.0f} us   at 100,000 {large:5.0f} us   ratio {large / small:.2f}")


def stores() -> None:
    """All of it."""

    async def run(redis_url: str, database_url: str) -> None:
        await _state(redis_url)
        await _memories(database_url)
        await _provider(database_url)
        await _growth("redis", redis_url)
        await _growth("postgresql", database_url)

    with servers() as urls:
        asyncio.run(run(*urls))
