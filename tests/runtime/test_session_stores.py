"""`SessionStore`: the same rows for every store, and what only Redis can show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import redis.asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbreeder_sandbox.servers.redis import RedisServer
from substrate.capabilities.memory import DurableSessionStore, InMemorySessionStore, RedisSessionStore
from substrate.connect.errors import StoreMisconfigured, StoreUnavailable
from substrate.kernel.storage import SessionStore

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ODD = st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x10FFFF))


@pytest.fixture(params=["redis", "postgresql", "in_memory"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SessionStore]:
    if request.param == "in_memory":
        yield InMemorySessionStore()
        return
    if request.param == "postgresql":
        async with DurableSessionStore(request.getfixturevalue("database_url"), ttl=3600) as durable:
            yield durable
        return
    async with RedisSessionStore(redis_url=request.getfixturevalue("redis_url"), ttl=3600) as made:
        yield made


async def test_the_published_snippet_runs_as_it_stands(redis_url: str, unique: str) -> None:
    store = RedisSessionStore(redis_url=redis_url, ttl=3600)
    await store.connect()
    await store.update_state(unique, {"preferred_language": "Python", "step": 3})
    state = await store.get_state(unique)
    assert state == {"preferred_language": "Python", "step": 3}
    await store.set_state(unique, {})
    await store.clear(unique)
    await store.disconnect()


async def test_a_store_is_a_session_store(store: SessionStore) -> None:
    assert isinstance(store, SessionStore)


async def test_update_merges_set_replaces_and_clear_forgets(store: SessionStore, unique: str) -> None:
    assert await store.get_state(unique) == {}
    await store.set_state(unique, {"a": 1, "b": {"c": [1, None, "x"]}})
    await store.update_state(unique, {"b": 2, "d": True})
    assert await store.get_state(unique) == {"a": 1, "b": 2, "d": True}
    await store.set_state(unique, {"only": "this"})
    assert await store.get_state(unique) == {"only": "this"}
    await store.clear(unique)
    assert await store.get_state(unique) == {}


async def test_fields_are_taken_away_and_missing_ones_do_no_harm(store: Any, unique: str) -> None:
    await store.set_state(unique, {"a": 1, "b\x00\ud800": 2, "c": 3})
    await store.remove(unique, ["b\x00\ud800", "c", "never there"])
    await store.remove(f"{unique}-other", ["a"])
    assert await store.get_state(unique) == {"a": 1}


async def test_updates_at_the_same_time_lose_nothing(store: SessionStore, unique: str) -> None:
    await asyncio.gather(*(store.update_state(unique, {f"k{n}": n}) for n in range(50)))
    assert await store.get_state(unique) == {f"k{n}": n for n in range(50)}


@pytest.mark.parametrize("bad", [float("nan"), {1: "x"}, object(), {"t": {1, 2}}, b"bytes"])
async def test_what_json_cannot_hold_is_refused_before_anything_is_written(
    store: SessionStore, unique: str, bad: object
) -> None:
    await store.set_state(unique, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        await store.set_state(unique, {"b": bad})
    assert await store.get_state(unique) == {"a": 1}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(state=st.dictionaries(ODD, JSON | ODD, max_size=4))
async def test_any_json_state_comes_back_as_it_was(store: SessionStore, unique: str, state: dict[str, object]) -> None:
    await store.set_state(unique, state)
    assert await store.get_state(unique) == state


async def test_the_ttl_counts_from_the_last_change_and_an_empty_state_leaves_no_key(
    redis_url: str, unique: str
) -> None:
    raw = redis.asyncio.Redis.from_url(redis_url)
    async with RedisSessionStore(redis_url=redis_url, ttl=1000) as store:
        await store.set_state(unique, {"a": 1})
        await raw.expire(f"session:state:{unique}", 5)
        await store.update_state(unique, {"b": 1})
        assert 990 < await raw.ttl(f"session:state:{unique}") <= 1000
        await store.set_state(unique, {})
        assert not await raw.exists(f"session:state:{unique}")
    async with RedisSessionStore(redis_url=redis_url) as store:
        await store.set_state(unique, {"a": 1})
        assert await raw.ttl(f"session:state:{unique}") == -1
        await store.clear(unique)
    await raw.aclose()


async def test_state_in_postgresql_that_outlived_its_ttl_is_gone_for_reads_and_for_the_next_update(
    database_url: str, unique: str
) -> None:
    raw = await asyncpg.connect(database_url)
    outlive = "UPDATE session_states SET expires_at = now() - interval '1 second' WHERE session_id = ANY($1)"
    async with DurableSessionStore(database_url, ttl=1000) as store:
        await asyncio.gather(*(store.set_state(f"{unique}{n}", {"a": 1}) for n in range(3)))
        await raw.execute(outlive, [f"{unique}0", f"{unique}1"])
        assert await store.get_state(f"{unique}0") == {}
        await store.update_state(f"{unique}0", {"b": 2})
        assert await store.get_state(f"{unique}0") == {"b": 2}
    async with DurableSessionStore(database_url, ttl=1000) as store:
        await store.update_state(f"{unique}2", {"b": 2})  # the first change of a process takes expired ones away
        left = await raw.fetch(
            "SELECT session_id FROM session_states WHERE session_id LIKE $1 ORDER BY 1", f"{unique}%"
        )
        assert [row[0] for row in left] == [f"{unique}0", f"{unique}2"]
        assert await store.get_state(f"{unique}2") == {"a": 1, "b": 2}
    await raw.close()


async def test_a_killed_connection_between_two_calls_is_not_noticed(redis_url: str, unique: str) -> None:
    raw = redis.asyncio.Redis.from_url(redis_url)
    async with RedisSessionStore(redis_url=redis_url, ttl=60) as store:
        await store.set_state(unique, {"a": 1})
        for client in await raw.client_list():
            if client["id"] != str(await raw.client_id()):
                await raw.execute_command("CLIENT", "KILL", "ID", client["id"])
        assert await store.get_state(unique) == {"a": 1}
    await raw.aclose()


async def test_a_server_that_stays_away_is_an_error_and_one_that_comes_back_is_none(unique: str) -> None:
    with RedisServer() as server:
        async with RedisSessionStore(redis_url=server.url) as store:
            await store.set_state(unique, {"a": 1})
            server.kill()
            with pytest.raises(StoreUnavailable):
                await store.get_state(unique)
            server.start()
            assert await store.get_state(unique) == {"a": 1}


@pytest.mark.parametrize(
    "url",
    ["postgresql://h/d", "http://h", "redis://h:70000", "redis://h/notanumber", "redis://u:p#w@h", "redis://h?what=1"],
)
async def test_a_url_that_cannot_be_used_is_told_without_its_secret(url: str) -> None:
    with pytest.raises(StoreMisconfigured) as e:
        await RedisSessionStore(redis_url=url).connect()
    assert "p#w" not in str(e.value)
