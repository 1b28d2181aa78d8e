"""`MemoryManager`: the same rows on every backend."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest
import redis.asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbreeder_memory import MemoryManager, MemorySettings, StoreMisconfigured, SyncMemoryManager
from agentbreeder_memory.settings import namespace_of

from .test_session_stores import JSON, ODD

Make = Callable[..., MemoryManager]


@pytest.fixture(params=["redis", "postgresql", "in_memory"])
def make(request: pytest.FixtureRequest, unique: str) -> Make:
    url = {"redis": "redis_url", "postgresql": "database_url"}.get(request.param)
    address = request.getfixturevalue(url) if url else ""

    def manager(**more: Any) -> MemoryManager:
        return MemoryManager(MemorySettings(**{"backend": request.param, "agent": unique, "url": address, **more}))

    return manager


@pytest.fixture
async def manager(make: Make) -> AsyncIterator[MemoryManager]:
    async with make() as made:
        yield made


def said(n: int, **more: object) -> dict[str, Any]:
    return {"role": "user", "content": f"message {n}", **more}


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [m["content"] for m in messages]


async def test_messages_come_back_in_order_and_the_window_is_the_newest(manager: MemoryManager) -> None:
    assert await manager.load("s") == []
    await manager.append("s", said(0))
    await manager.append("s", [said(n) for n in range(1, 10)])
    assert contents(await manager.load("s")) == [f"message {n}" for n in range(10)]
    assert contents(await manager.load("s", 3)) == ["message 7", "message 8", "message 9"]
    assert contents(await manager.turn("s", said(10), 2)) == ["message 9", "message 10"]
    assert await manager.load("other") == []
    await manager.clear("s")
    assert await manager.load("s") == []


async def test_the_same_id_is_stored_once_however_often_it_is_appended(manager: MemoryManager) -> None:
    await manager.append("s", [said(1, id="a"), said(2, id="b")])
    for _ in range(3):
        await manager.append("s", [said(2, id="b"), said(3, id="c"), said(1, id="a")])
    assert contents(await manager.load("s")) == ["message 1", "message 2", "message 3"]
    await manager.append("s", [said(7), said(7), said(7)])
    assert contents(await manager.load("s"))[3:] == ["message 7"] * 3
    assert contents(await manager.load("s", 4)) == ["message 3"] + ["message 7"] * 3


async def test_the_buffer_window_evicts_the_oldest_and_buffer_keeps_all(make: Make) -> None:
    async with make(max_messages=5) as window, make(max_messages=0, memory_type="buffer") as buffer:
        for n in range(12):
            await window.append("w", said(n, id=f"m{n}"))
            await buffer.append("b", said(n, id=f"m{n}"))
        assert contents(await window.load("w")) == [f"message {n}" for n in range(7, 12)]
        assert len(await buffer.load("b")) == 12
        await window.append("w", [said(n) for n in range(20, 40)])
        assert contents(await window.load("w")) == [f"message {n}" for n in range(35, 40)]
        await window.append("w", said(3, id="m3"))
        assert contents(await window.load("w", 1)) == ["message 3"], "an evicted id is free again"


async def test_replace_is_whole_and_save_only_ever_adds(manager: MemoryManager) -> None:
    await manager.save("s", [said(1), said(2)])
    whole = await manager.load("s")
    await manager.save("s", [*whole, said(3)])
    assert contents(await manager.load("s")) == ["message 1", "message 2", "message 3"]
    await manager.save("s", [said(4), said(5)])
    assert len(await manager.load("s")) == 5
    await manager.replace("s", said(9))
    assert contents(await manager.load("s")) == ["message 9"]
    await manager.append("s", said(10))
    assert contents(await manager.load("s", 1)) == ["message 10"]
    await manager.replace("s", [])
    assert await manager.load("s") == []


async def test_two_containers_on_one_session_lose_nothing_and_agree_on_the_order(make: Make) -> None:
    async with make(max_messages=0) as one, make(max_messages=0) as other:
        two = one if one.settings.backend == "in_memory" else other
        await asyncio.gather(
            *(m.append("s", [said(n, who=w), said(n, who=w)]) for n in range(32) for w, m in ((1, one), (2, two)))
        )
        found = await one.load("s")
        assert len(found) == 128
        assert found == await two.load("s")
        assert all(found[i]["content"] == found[i + 1]["content"] for i in range(0, 128, 2))


async def test_the_replies_of_thirty_two_writers_each_hold_their_own_turn_without_a_gap(make: Make) -> None:
    async with make(max_messages=0) as manager:

        async def turn(n: int) -> None:
            found = await manager.turn("s", [said(n, role="user"), said(n, role="assistant")], 50)
            assert contents(found[-2:]) == [f"message {n}"] * 2

        for _ in range(10):
            await asyncio.gather(*(turn(n) for n in range(32)))
        assert len(await manager.load("s")) == 640


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=st.lists(st.dictionaries(ODD.filter(lambda k: k != "id"), JSON | ODD, max_size=4), max_size=3))
async def test_any_json_message_comes_back_as_it_was(manager: MemoryManager, messages: list[dict[str, object]]) -> None:
    await manager.clear("odd")
    ids = await manager.append("odd", messages)
    assert await manager.load("odd") == [{**m, "id": i} for m, i in zip(messages, ids, strict=True)]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(one=ODD, two=ODD)
async def test_no_session_id_reaches_another_session(make: Make, one: str, two: str) -> None:
    async with make(namespace_pattern="{agent_id}:{user_id}:{session_id}") as manager:
        if one and two and one != two:
            await manager.append(one, said(1), user_id="u")
            assert await manager.load(two, user_id="u") == []
            assert await manager.load(one, user_id="u:v") == []
            await manager.clear(one, user_id="u")


@pytest.mark.parametrize("bad", [float("nan"), object(), {1: 2}])
async def test_what_json_cannot_hold_is_refused_before_anything_is_written(manager: MemoryManager, bad: object) -> None:
    with pytest.raises(ValueError):
        await manager.append("s", [said(1), {"role": "user", "content": bad}])
    assert await manager.load("s") == []


async def test_the_ttl_begins_anew_at_each_use(make: Make, unique: str, redis_url: str, database_url: str) -> None:
    async with make(ttl_s=1000) as manager:
        await manager.append("s", said(1))
        if manager.settings.backend == "redis":
            raw = redis.asyncio.Redis.from_url(redis_url)
            keys = [f"{{am:{unique}:s}}:{part}" for part in ("log", "order", "ids")]
            for use in (manager.load("s"), manager.append("s", said(2))):
                for key in keys:
                    await raw.expire(key, 5)
                await use
                assert all([990 < await raw.ttl(key) <= 1000 for key in keys])
            await raw.aclose()
        if manager.settings.backend == "postgresql":
            connection = await asyncpg.connect(database_url)
            left = "SELECT extract(epoch FROM expires_at - now()) FROM agentbreeder_sessions WHERE namespace = $1"
            for use in (manager.load("s"), manager.append("s", said(2))):
                aged = "UPDATE agentbreeder_sessions SET expires_at = now() + interval '5 s' WHERE namespace = $1"
                await connection.execute(aged, f"{unique}:s")
                await use
                assert await connection.fetchval(left, f"{unique}:s") > 990
            await connection.close()


async def test_what_outlived_its_ttl_is_not_read_any_more_and_deleted_in_the_background(
    database_url: str, unique: str
) -> None:
    async with MemoryManager(
        MemorySettings(backend="postgresql", agent=unique, url=database_url, ttl_s=1000)
    ) as manager:
        for n in range(3):
            await manager.append(f"s{n}", [said(n), said(n)])
        connection = await asyncpg.connect(database_url)
        await connection.execute(
            "UPDATE agentbreeder_sessions SET expires_at = now() - interval '1 s', expires_hour = 0 "
            "WHERE namespace LIKE $1",
            f"{unique}%",
        )
        assert await manager.load("s0") == []
        await manager.append("s1", said(9))
        assert contents(await manager.load("s1")) == ["message 9"], "an append begins a new conversation"
        assert await manager._log.delete_expired() >= 2  # type: ignore[attr-defined]
        left = await connection.fetch(
            "SELECT namespace FROM agentbreeder_sessions WHERE namespace LIKE $1", f"{unique}%"
        )
        assert [row[0] for row in left] == [f"{unique}:s1"]
        await connection.close()


async def test_pop_takes_the_newest_away_and_its_number_is_used_again(manager: MemoryManager) -> None:
    assert await manager.pop("s") is None
    await manager.append("s", [said(1, id="a"), said(2, id="b"), said(3)])
    assert (await manager.pop("s") or {})["content"] == "message 3"
    assert (await manager.pop("s") or {})["id"] == "b"
    await manager.append("s", [said(2, id="b"), said(4)])
    assert contents(await manager.load("s", 2)) == ["message 2", "message 4"]
    assert contents(await manager.load("s")) == ["message 1", "message 2", "message 4"]


async def test_health_says_whether_the_store_answers(manager: MemoryManager) -> None:
    health = await manager.health()
    assert (health.ok, health.detail, health.backend) == (True, "", manager.settings.backend)


def test_the_sync_manager_does_the_same_without_a_loop(database_url: str, unique: str) -> None:
    chosen = MemorySettings(backend="postgresql", agent=unique, url=database_url)
    with SyncMemoryManager(chosen) as manager:
        manager.append("s", [said(1), said(2)])
        manager.save("s", [said(3)])
        assert contents(manager.load("s", 2)) == ["message 2", "message 3"]
        manager.replace("s", said(4))
        assert contents(manager.load("s")) == ["message 4"]
        assert manager.health().ok
        manager.clear("s")
        assert manager.load("s") == []


def test_a_manager_of_another_event_loop_says_so(redis_url: str, unique: str) -> None:
    manager = MemoryManager(MemorySettings(backend="redis", agent=unique, url=redis_url))
    asyncio.run(manager.connect())
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(manager.load("s"))


async def test_none_remembers_nothing(unique: str) -> None:
    async with MemoryManager(MemorySettings(backend="none", agent=unique)) as manager:
        await manager.append("s", said(1))
        assert await manager.load("s") == []


def test_values_are_escaped_so_that_none_reaches_another_namespace() -> None:
    values = {"agent_id": "a:b", "session_id": "c%3A/é"}
    assert namespace_of("{agent_id}:{session_id}", values) == "a%3Ab:c%253A%2F%C3%A9"
    with pytest.raises(ValueError, match="user_id"):
        namespace_of("{agent_id}:{user_id}", values)


async def test_a_knowledge_base_in_the_same_database_finds_the_extension_vector(unique: str, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(f'CREATE DATABASE "{unique}"')
        url = re.sub(r"/[^/?]*(\?.*)?$", rf"/{unique}\1", database_url)
        environ = {"MEMORY_BACKEND": "postgresql", "AGENT_NAME": unique, "DATABASE_URL": url}
        found = []
        for more in ({}, {"KB_PGVECTOR_DSN": database_url}, {"KB_PGVECTOR_DSN": url}):
            managers = [MemoryManager(MemorySettings.from_environ(environ | more)) for _ in range(5)]
            await asyncio.gather(*(m.connect() for m in managers))
            await asyncio.gather(*(m.close() for m in managers))
            inside = await asyncpg.connect(url)
            found.append(await inside.fetchval("SELECT count(*) FROM pg_extension WHERE extname = 'vector'"))
            await inside.close()
        assert found == [0, 0, 1]
    finally:
        await connection.execute(f'DROP DATABASE IF EXISTS "{unique}" WITH (FORCE)')
        await connection.close()


async def test_a_container_that_may_not_add_the_extension_is_told_what_to_run(unique: str, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(f"CREATE ROLE \"{unique}\" LOGIN PASSWORD 'a'")
        await connection.execute(f'CREATE DATABASE "{unique}" OWNER "{unique}"')
        address = re.sub(r"//[^@/]*@", f"//{unique}:a@", database_url)
        url = re.sub(r"/[^/?]*(\?.*)?$", rf"/{unique}\1", address)
        environ = {"MEMORY_BACKEND": "postgresql", "AGENT_NAME": unique, "DATABASE_URL": url, "KB_PGVECTOR_DSN": url}
        with pytest.raises(StoreMisconfigured, match="CREATE EXTENSION IF NOT EXISTS vector"):
            await MemoryManager(MemorySettings.from_environ(environ)).connect()
    finally:
        await connection.execute(f'DROP DATABASE IF EXISTS "{unique}" WITH (FORCE)')
        await connection.execute(f'DROP ROLE IF EXISTS "{unique}"')
        await connection.close()
