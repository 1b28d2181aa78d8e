"""`HistoryProvider`: the same rows for every provider, then what only one of them can show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis.asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbreeder_sandbox.servers.postgres import PostgresServer
from substrate.capabilities.history import (
    DurableHistoryProvider,
    InMemoryHistoryProvider,
    RedisHistoryProvider,
)
from substrate.kernel.storage import HistoryProvider, SessionKey
from substrate.kernel.storage.history import session_key

from .test_session_stores import JSON, ODD


@pytest.fixture(params=["redis", "durable", "in_memory"])
async def provider(request: pytest.FixtureRequest) -> AsyncIterator[HistoryProvider]:
    if request.param == "in_memory":
        yield InMemoryHistoryProvider()
    elif request.param == "redis":
        url = request.getfixturevalue("redis_url")
        async with RedisHistoryProvider(redis_url=url, ttl=3600, max_messages=100_000) as made:
            yield made
    else:
        async with DurableHistoryProvider(database_url=request.getfixturevalue("database_url")) as made:
            yield made


@pytest.fixture
def key(unique: str) -> SessionKey:
    return session_key("support", "care", unique)


def said(n: int, **more: object) -> dict[str, Any]:
    return {"role": "user", "content": f"message {n}", **more}


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [m["content"] for m in messages]


async def test_a_provider_is_a_history_provider(provider: HistoryProvider) -> None:
    assert isinstance(provider, HistoryProvider)


async def test_messages_come_back_in_order_by_number_and_by_range(provider: HistoryProvider, key: SessionKey) -> None:
    assert await provider.last(key, 5) == []
    await provider.append(key, said(0))
    await provider.append(key, [said(n) for n in range(1, 10)])
    assert contents(await provider.last(key, 3)) == ["message 7", "message 8", "message 9"]
    assert contents(await provider.last(key, 100)) == [f"message {n}" for n in range(10)]
    assert contents(await provider.range(key, 2, 4)) == ["message 2", "message 3"]
    assert await provider.range(key, 8, 3) == await provider.last(key, 0) == []
    assert await provider.count(key) == 10


async def test_a_message_keeps_every_field_and_is_given_an_id(provider: HistoryProvider, key: SessionKey) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    sent = {"role": "assistant", "content": None, "tool_calls": [call], "x_unknown": {"deep": [1.5, None, True]}}
    (made,) = await provider.append(key, sent)
    (kept,) = await provider.last(key, 1)
    assert kept == {**sent, "id": made}
    assert len(made) == 32


async def test_a_message_of_a_known_id_is_not_added_twice(provider: HistoryProvider, key: SessionKey) -> None:
    await provider.append(key, [said(1, id="one"), said(2, id="two")])
    await provider.append(key, [said(2, id="two"), said(3, id="three")])
    assert contents(await provider.last(key, 10)) == ["message 1", "message 2", "message 3"]
    assert await provider.count(key) == 3
    await provider.append(key, [said(7), said(7)])
    assert await provider.count(key) == 5


async def test_appends_at_the_same_time_are_all_there_once(provider: HistoryProvider, key: SessionKey) -> None:
    await asyncio.gather(*(provider.append(key, [said(2 * n), said(2 * n + 1)]) for n in range(40)))
    found = contents(await provider.last(key, 1000))
    assert sorted(found) == sorted(f"message {n}" for n in range(80))
    pairs = [int(c.split()[1]) for c in found]
    assert all(pairs[i + 1] == pairs[i] + 1 for i in range(0, 80, 2)), "an append stands together"


async def test_one_run_is_removed_while_others_append(provider: HistoryProvider, key: SessionKey) -> None:
    await provider.append(key, [said(n) for n in range(3)], run_id="a")
    await provider.append(key, [said(n) for n in range(3, 6)], run_id="ab")
    removed, *_ = await asyncio.gather(
        provider.clear_run(key, "a"), *(provider.append(key, said(n), run_id="b") for n in range(6, 26))
    )
    assert removed == 3
    found = contents(await provider.last(key, 100))
    assert sorted(found) == sorted(f"message {n}" for n in range(3, 26))
    assert await provider.count(key) == 23
    assert await provider.clear_run(key, "never") == 0
    await provider.clear(key)
    assert await provider.count(key) == 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=st.lists(st.dictionaries(ODD.filter(lambda k: k != "id"), JSON | ODD, max_size=4), max_size=3))
async def test_any_json_message_comes_back_as_it_was(
    provider: HistoryProvider, key: SessionKey, messages: list[dict[str, object]]
) -> None:
    await provider.clear(key)
    ids = await provider.append(key, messages)
    found = await provider.last(key, 10)
    assert found == [{**m, "id": i} for m, i in zip(messages, ids, strict=True)]


@pytest.mark.parametrize("size", [100_000, 5_000_000])
async def test_a_huge_message_comes_back(provider: HistoryProvider, key: SessionKey, size: int) -> None:
    await provider.append(key, said(1, content="ä" * size))
    assert (await provider.last(key, 1))[0]["content"] == "ä" * size


@pytest.mark.parametrize(
    "bad", [[said(1), {"role": "user", "content": float("inf")}], [said(1), "text"], [said(1, id="x"), said(2, id="x")]]
)
async def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    provider: HistoryProvider, key: SessionKey, bad: list[Any]
) -> None:
    with pytest.raises(ValueError):
        await provider.append(key, bad)
    assert await provider.count(key) == 0


@pytest.mark.parametrize("part", ["", "a:b", "a b", "-x", "x\n", "é", "x" * 129, "a/b", "*"])
def test_a_part_of_a_key_that_could_reach_another_session_is_refused(part: str) -> None:
    for parts in ((part, "k", "s"), ("t", part, "s"), ("t", "k", part)):
        with pytest.raises(ValueError):
            session_key(*parts)


async def test_redis_keeps_the_newest_under_the_published_key_and_shape(redis_url: str, key: SessionKey) -> None:
    raw = redis.asyncio.Redis.from_url(redis_url, decode_responses=True)
    async with RedisHistoryProvider(redis_url=redis_url, ttl=1000, max_messages=3) as provider:
        await provider.append(key, [said(n, id=f"m{n}") for n in range(5)], run_id="r")
        name = f"ravi:hist:{key.composed}"
        assert await raw.llen(name) == 3
        assert await raw.lindex(name, 0) == '{"run_id":"r","msg":{"role":"user","content":"message 2","id":"m2"}}'
        await raw.expire(name, 5)
        await provider.refresh_ttl(key)
        assert 990 < await raw.ttl(name) <= 1000
        await raw.expire(name, 5)
        await provider.append(key, said(9))
        assert 990 < await raw.ttl(name) <= 1000
    await raw.aclose()
    for bad in (0, -5):
        with pytest.raises(ValueError):
            RedisHistoryProvider(redis_url=redis_url, max_messages=bad)


async def test_sequence_numbers_have_no_gap_and_no_double_under_many_writers(
    database_url: str, key: SessionKey
) -> None:
    async with (
        DurableHistoryProvider(database_url=database_url) as one,
        DurableHistoryProvider(database_url=database_url) as two,
    ):
        await asyncio.gather(*(p.append(key, [said(n), said(n)]) for n in range(60) for p in (one, two)))
        from sqlalchemy import text

        async with one._engine.connect() as connection:
            rows = await connection.execute(
                text(
                    "SELECT seq FROM history_messages m JOIN history_sessions s ON s.id = m.session WHERE session_id = :s"
                ),
                {"s": key.session_id},
            )
        assert sorted(r[0] for r in rows) == list(range(1, 241))


async def test_ten_processes_may_make_the_tables_at_once() -> None:
    with PostgresServer(options=("fsync=off",)) as server:
        providers = [DurableHistoryProvider(database_url=server.url()) for _ in range(10)]
        await asyncio.gather(*(p.connect() for p in providers))
        await providers[3].append(session_key("a", "b", "c"), said(1))
        assert await providers[7].count(session_key("a", "b", "c")) == 1
        await asyncio.gather(*(p.disconnect() for p in providers))


async def test_a_server_that_was_killed_between_two_calls_is_waited_for(unique: str) -> None:
    with PostgresServer(options=("fsync=off",)) as server:
        key = session_key("a", "b", unique)
        async with DurableHistoryProvider(database_url=server.url()) as provider:
            await provider.append(key, said(1))
            server.kill()
            server.start()
            await provider.append(key, said(2))
            assert contents(await provider.last(key, 10)) == ["message 1", "message 2"]


async def test_what_outlived_its_ttl_is_deleted_in_batches(database_url: str, unique: str) -> None:
    async with DurableHistoryProvider(database_url=database_url, ttl=1) as provider:
        keys = [session_key("expiring", unique, f"s{n}") for n in range(3)]
        for key in keys:
            await provider.append(key, said(1))
        from sqlalchemy import text

        async with provider._engine.connect() as connection:
            aged = "UPDATE history_sessions SET updated_at = now() - interval '1 hour' WHERE agent_key = :k"
            await connection.execute(text(aged), {"k": unique})
        await provider.refresh_ttl(keys[0])
        while await provider.delete_expired(batch=1):
            pass
        assert [await provider.count(key) for key in keys] == [1, 0, 0]


async def test_a_pooler_that_loses_prepared_statements_is_noticed(database_url: str, key: SessionKey) -> None:
    async with DurableHistoryProvider(database_url) as provider:
        await provider.append(key, said(1))
        assert await provider.count(key) == 1

        async def forget() -> None:
            async with provider._engine.connect() as connection:
                driver = (await connection.get_raw_connection()).driver_connection
                await driver.execute("DEALLOCATE ALL")

        await forget()
        await provider.append(key, said(2))
        await asyncio.gather(*(provider.append(key, said(n)) for n in range(3, 6)))
        assert await provider.count(key) == 5
