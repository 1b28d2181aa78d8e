"""Search over a million messages, and stats at ten million: what an operator waits for. Milliseconds, medians and p95."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

MESSAGES, SESSIONS = 1_000_000, 2_000
WORDS, COUNTED_SESSIONS = 20_000, 100_000
# Words w1, w2, ... of which the first are common: the n-th stands in about one message of n/10.
_FILL = """
INSERT INTO agentbreeder_sessions (namespace, next_seq)
SELECT 't/bench/a:s' || s, $2::bigint / $1::bigint + 1 FROM generate_series(1, $1::bigint) s;
"""
_MESSAGES = """
INSERT INTO agentbreeder_messages (session, seq, message_id, payload)
SELECT s.id, g, 'm' || g, '{"id":"m","session_id":"s","role":"user","content":"' || (
    SELECT string_agg('w' || (power(random(), 4) * $3)::int, ' ') FROM generate_series(1, 12) x WHERE x + g > 0 AND s.id > 0
) || '"}' FROM agentbreeder_sessions s, generate_series(1, $2::bigint / $1::bigint) g
"""


async def _timed(call: Callable[[], Awaitable[object]], times: int = 40) -> tuple[float, float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        await call()
        found.append((time.perf_counter() - start) * 1000)
    return statistics.median(found), statistics.quantiles(found, n=20)[-1]


async def _measure(url: str) -> None:
    import asyncpg

    from agentbreeder_service.namespaces import Part
    from agentbreeder_service.postgres_messages import PostgresMessages

    connection = await asyncpg.connect(url, command_timeout=1200)
    await connection.execute(_FILL.replace("$1", str(SESSIONS)).replace("$2", str(MESSAGES)))
    start = time.perf_counter()
    await connection.execute(
        _MESSAGES.replace("$1", str(SESSIONS)).replace("$2", str(MESSAGES)).replace("$3", str(WORDS))
    )
    print(f"{MESSAGES:,} messages written with their search index in {time.perf_counter() - start:.0f} s", flush=True)
    await connection.execute("VACUUM ANALYZE")
    store, part = PostgresMessages(url), Part(prefix="t/bench/")
    await store.connect()
    for what, query in (
        ("a rare word", "w19900"),
        ("two words", "w300 w900"),
        ("a common word", "w50"),
        ("the commonest", "w0"),
    ):
        hits = await store.search(part, query, 20, 0)
        middle, late = await _timed(lambda q=query: store.search(part, q, 20, 0))  # type: ignore[misc]
        print(f"search, {what:14} {len(hits):3} shown   {middle:7.1f} ms   p95 {late:7.1f} ms", flush=True)
    middle, late = await _timed(lambda: store.stats(part, 0))
    print(f"stats, {SESSIONS:,} sessions, {MESSAGES:,} messages   {middle:.1f} ms   p95 {late:.1f} ms")
    await connection.execute(
        "INSERT INTO agentbreeder_sessions (namespace, next_seq) SELECT 't/large/a:s' || s, 101 FROM generate_series(1, $1) s",
        COUNTED_SESSIONS,
    )
    await connection.execute("VACUUM ANALYZE agentbreeder_sessions")
    middle, late = await _timed(lambda: store.stats(Part(prefix="t/large/"), 0))
    print(
        f"stats, {COUNTED_SESSIONS:,} sessions, {COUNTED_SESSIONS * 100:,} messages   {middle:.1f} ms   p95 {late:.1f} ms"
    )
    await store.close()
    await connection.close()


def scale() -> None:
    """Some minutes."""
    from agentbreeder_sandbox.servers.postgres import PostgresServer
    from agentbreeder_service.upgrading import upgrade_now

    with PostgresServer(options=("shared_buffers=512MB",)) as server:
        upgrade_now(server.url(), None)
        asyncio.run(_measure(server.url()))
