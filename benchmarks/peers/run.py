"""One turn beside other stores for agents, in one run: `make bench-peers`. Medians; ratios are to the raw driver."""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from uuid import uuid4

from peer import Peer, by_turns, incumbent, of_adk, of_langchain, of_openai, of_saver, ours
from turns import raw_postgres, raw_redis, servers

ROUNDS, TURNS, SESSIONS, EACH = 5, 5, 32, 4
HISTORIES = (10, 1000)


async def redis_peers(url: str) -> list[Peer]:
    """Those that need a plain Redis only."""
    import redis.asyncio
    from agents.extensions.memory.redis_session import RedisSession
    from langchain_community.chat_message_histories import RedisChatMessageHistory
    from langgraph_checkpoint_plainredis import AsyncRedisSaver

    raw, client = await raw_redis(url), redis.asyncio.Redis.from_url(url)
    return [
        Peer(name="raw", seed=by_turns(raw), turn=raw),
        *await ours("redis", url),
        await incumbent("redis", url),
        of_openai("OpenAI Agents RedisSession", lambda s: RedisSession(s, redis_client=client)),
        of_langchain("LangChain Redis", lambda s: RedisChatMessageHistory(s, url=url)),
        of_saver("LangGraph plainredis", AsyncRedisSaver(url=url)),
    ]


async def postgres_peers(url: str) -> list[Peer]:
    """Each with a pool of ten, where it has one."""
    import psycopg
    from agents.extensions.memory.sqlalchemy_session import SQLAlchemySession
    from google.adk.sessions import DatabaseSessionService
    from langchain_postgres import PostgresChatMessageHistory
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool
    from sqlalchemy.ext.asyncio import create_async_engine

    spelled = url.replace("postgresql://", "postgresql+asyncpg://")
    raw, engine = await raw_postgres(url), create_async_engine(spelled, pool_size=10)
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool = AsyncConnectionPool(url, min_size=1, max_size=10, kwargs=options, open=False)
    await pool.open()
    saver = AsyncPostgresSaver(pool)  # type: ignore[arg-type]
    await saver.setup()
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    await PostgresChatMessageHistory.acreate_tables(connection, "langchain_history")

    def langchain(session: str) -> PostgresChatMessageHistory:
        return PostgresChatMessageHistory("langchain_history", session, async_connection=connection)

    await SQLAlchemySession("first", engine=engine, create_tables=True).get_items()
    return [
        Peer(name="raw", seed=by_turns(raw), turn=raw),
        *await ours("postgresql", url),
        await incumbent("postgresql", url),
        of_openai("OpenAI Agents SQLAlchemy", lambda s: SQLAlchemySession(s, engine=engine)),
        of_langchain("LangChain Postgres", langchain),
        of_saver("LangGraph AsyncPostgresSaver", saver),
        of_adk("Google ADK database", DatabaseSessionService(spelled)),
    ]


async def one_session(peers: list[Peer], history: int) -> dict[str, float]:
    """Seconds per turn, medians over the rounds; the order is turned round every other one."""
    seen: dict[str, list[float]] = {p.name: [] for p in peers}
    for number in range(ROUNDS):
        for peer in peers if number % 2 else reversed(peers):
            session = str(uuid4())
            await peer.seed(session, history)
            await peer.turn(session)
            start = time.perf_counter()
            for _ in range(TURNS):
                await peer.turn(session)
            seen[peer.name].append((time.perf_counter() - start) / TURNS)
    return {name: statistics.median(times) for name, times in seen.items()}


async def many_sessions(peer: Peer, history: int) -> float:
    """Turns per second."""
    sessions = [str(uuid4()) for _ in range(SESSIONS)]
    for session in sessions:
        await peer.seed(session, history)
    # Every pool opens what connections it wants to have.
    await asyncio.gather(*(peer.turn(s) for s in sessions))

    async def talk(session: str) -> None:
        for _ in range(EACH):
            await peer.turn(session)

    start = time.perf_counter()
    await asyncio.gather(*(talk(s) for s in sessions))
    return SESSIONS * EACH / (time.perf_counter() - start)


async def compare(title: str, peers: list[Peer]) -> None:
    """A table on stdout."""
    times = {history: await one_session(peers, history) for history in HISTORIES}
    rates = {peer.name: await many_sessions(peer, HISTORIES[0]) for peer in peers}
    print(f"{title:30} | {HISTORIES[0]} before, us | {HISTORIES[1]} before, us | of raw | 32 sessions, turns/s")
    for name, rate in rates.items():
        few, many = (times[h][name] * 1e6 for h in HISTORIES)
        ratio = many / (times[HISTORIES[1]]["raw"] * 1e6)
        print(f"{name:30} | {few:13.0f} | {many:15.0f} | {ratio:6.2f} | {rate:8.0f}", flush=True)


def main() -> None:
    """Both backends."""
    logging.disable(logging.WARNING)

    async def run(redis_url: str, database_url: str) -> None:
        await compare("Redis", await redis_peers(redis_url))
        await compare("PostgreSQL", await postgres_peers(database_url))

    with servers() as urls:
        asyncio.run(run(*urls))


if __name__ == "__main__":
    main()
