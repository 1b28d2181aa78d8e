"""`save`, as containers built for the older manager use it, and what windows and pops leave: the same on every backend."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph.message import add_messages

from agentbreeder_memory import MemoryManager, MemorySettings, StoreMisconfigured

from .test_manager import Make, contents, make, said  # noqa: F401 - a fixture


async def ids_of(manager: MemoryManager) -> list[Any]:
    return [m["id"] for m in await manager.load("s")]


async def test_a_conversation_longer_than_the_window_is_saved_again_and_again_without_harm(make: Make) -> None:  # noqa: F811
    whole = [said(n, id=f"m{n}") for n in range(1, 7)]
    async with make(max_messages=4) as manager:
        for _ in range(2):
            await manager.save("s", whole)
            assert await ids_of(manager) == ["m3", "m4", "m5", "m6"]
        await manager.save("s", [*whole, said(7, id="m7")])
        assert await ids_of(manager) == ["m4", "m5", "m6", "m7"]


async def test_a_list_that_grows_is_saved_once_each(make: Make) -> None:  # noqa: F811
    async with make() as manager:
        talk = [said(1)]
        await manager.save("s", talk)
        talk.append(said(2))
        ids = await manager.save("s", talk)
        assert ids == [m["id"] for m in talk] == await ids_of(manager)
        loaded = await manager.load("s")
        loaded.append(said(3))
        await manager.save("s", loaded)
        await manager.save("s", loaded)
        assert contents(await manager.load("s")) == ["message 1", "message 2", "message 3"]
        await manager.save("s", [said(3)])
        assert contents(await manager.load("s"))[2:] == ["message 3", "message 3"], "one without an id is new"


async def test_what_a_graph_of_langgraph_gives_back_is_saved_and_taken_again(make: Make) -> None:  # noqa: F811
    async with make() as manager:
        given: list[Any] = [HumanMessage("hi", id="h1"), AIMessage("hello", id="a1")]
        await manager.save("s", given)
        unnamed = HumanMessage("of its own")
        for _ in range(2):
            await manager.save("t", [unnamed])
        assert [m["id"] for m in await manager.load("t")] == [unnamed.id]
        again = add_messages(await manager.load("s"), [HumanMessage("and now?", id="h2")])  # type: ignore[arg-type]
        assert [(type(m).__name__, m.content) for m in again][:2] == [("HumanMessage", "hi"), ("AIMessage", "hello")]  # type: ignore[union-attr]
        await manager.save("s", again)  # type: ignore[arg-type]
        assert await ids_of(manager) == ["h1", "a1", "h2"]


async def test_what_left_the_window_does_not_come_back_when_the_newest_is_popped(make: Make) -> None:  # noqa: F811
    async with make(max_messages=1) as manager:
        for n in range(4):
            await manager.append("s", said(n))
        assert (await manager.pop("s") or {})["content"] == "message 3"
        assert await manager.pop("s") is None
        assert await manager.load("s") == []


async def test_a_read_beside_appends_and_pops_is_never_empty_and_never_too_long(make: Make) -> None:  # noqa: F811
    async with make() as manager:
        await manager.append("s", [said(n) for n in range(10)])
        done = False

        async def change() -> None:
            nonlocal done
            for n in range(100):
                await manager.append("s", [said(n), said(n)])
                await manager.pop("s")
                await manager.pop("s")
            done = True

        changing = asyncio.create_task(change())
        lengths = set()
        while not done:
            lengths.add(len(await manager.load("s", 2)))
            await asyncio.sleep(0)
        await changing
        assert lengths <= {2}


async def test_limits_and_names_beyond_what_a_store_takes_are_errors_of_ours(make: Make) -> None:  # noqa: F811
    async with make() as manager:
        await manager.append("s", said(1))
        assert len(await manager.load("s", 2**80)) == 1
        for limit in (0, -1, True, 1.5):
            with pytest.raises(ValueError, match="limit"):
                await manager.load("s", limit)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="limit"):
                await manager.turn("s", said(2), limit)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="too long"):
            await manager.append("s" * 3000, said(1))
        assert contents(await manager.load("s")) == ["message 1"]


def test_a_buffer_keeps_all_and_takes_no_number() -> None:
    assert MemorySettings(backend="in_memory", agent="a", memory_type="buffer").window == 0
    with pytest.raises(StoreMisconfigured, match="keeps all"):
        MemorySettings(backend="in_memory", agent="a", memory_type="buffer", max_messages=5)
