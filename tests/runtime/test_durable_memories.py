"""`DurableMemoryStore`: kept, found by any word, and never seen by another agent."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbreeder_sandbox.servers.postgres import PostgresServer
from substrate.capabilities.memory import DurableMemoryStore

from .test_session_stores import ODD


async def test_the_published_snippet_runs_as_it_stands(database_url: str, unique: str) -> None:
    agent_id = unique
    store = DurableMemoryStore(database_url=database_url.replace("postgresql://", "postgresql+asyncpg://"))
    async with store:
        mem_id = await store.save(agent_id, "User prefers Python over JavaScript")
        memories = await store.search(agent_id, "language preference", limit=5)
        assert [m.content for m in memories] == ["User prefers Python over JavaScript"]
        assert await store.delete(agent_id, mem_id)
        assert await store.search(agent_id, "language preference", limit=5) == []


async def test_the_best_match_comes_first_and_a_minus_excludes(database_url: str, unique: str) -> None:
    async with DurableMemoryStore(database_url) as store:
        for text in ("likes tea in the morning", "likes coffee", "tea and coffee and cake", "lives in Oslo"):
            await store.save(unique, text)
        found = [m.content for m in await store.search(unique, "tea coffee")]
        assert found[0] == "tea and coffee and cake"
        assert len(found) == 3
        assert [m.content for m in await store.search(unique, "coffee -tea")] == ["likes coffee"]
        assert await store.search(unique, "the") == await store.search(unique, "") == []
        assert len(await store.search(unique, "likes", limit=1)) == 1


async def test_an_agent_never_sees_or_deletes_anothers_memories(database_url: str, unique: str) -> None:
    async with DurableMemoryStore(database_url) as store:
        memory_id = await store.save(unique, "secret recipe", {"a": [1, None]}, namespace="kitchen")
        assert await store.search(f"{unique}-other", "recipe") == []
        assert not await store.delete(f"{unique}-other", memory_id)
        (found,) = await store.search(unique, "recipe", namespace="kitchen")
        assert found.metadata == {"a": [1, None]}
        assert await store.search(unique, "recipe", namespace="elsewhere") == []


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(query=ODD | st.text(alphabet="'\"&|!():*<>- \\ab"))
async def test_no_text_is_a_syntax_error(database_url: str, unique: str, query: str) -> None:
    async with DurableMemoryStore(database_url) as store:
        assert await store.search(unique, query) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=ODD)
async def test_any_text_comes_back_as_it_was(database_url: str, unique: str, content: str) -> None:
    async with DurableMemoryStore(database_url) as store:
        memory_id = await store.save(unique, f"findme {content}", {"k": content})
        (found,) = await store.search(unique, "findme")
        assert (found.content, found.metadata["k"]) == (f"findme {content}", content)
        await store.delete(unique, memory_id)


async def test_two_megabytes_of_different_words_are_kept(database_url: str, unique: str) -> None:
    async with DurableMemoryStore(database_url) as store:
        text = "needle " + " ".join(f"w{n:07d}" for n in range(220_000))
        await store.save(unique, text)
        (found,) = await store.search(unique, "needle")
        assert found.content == text


async def test_ten_processes_may_make_the_table_at_once() -> None:
    with PostgresServer(options=("fsync=off",)) as server:
        stores = [DurableMemoryStore(server.url()) for _ in range(10)]
        await asyncio.gather(*(s.connect() for s in stores))
        await stores[0].save("a", "hello world")
        assert len(await stores[9].search("a", "hello")) == 1
        await asyncio.gather(*(s.disconnect() for s in stores))


@pytest.mark.parametrize("bad", [{"a": float("nan")}, {"a": object()}])
async def test_metadata_that_is_no_json_is_refused(database_url: str, unique: str, bad: dict[str, object]) -> None:
    async with DurableMemoryStore(database_url) as store:
        with pytest.raises(ValueError, match="JSON"):
            await store.save(unique, "x", bad)
