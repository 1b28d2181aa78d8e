"""The checkpointer of LangGraph with the real package: writes that come first, wide steps, subgraphs, deletion."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from agentbreeder_memory.adapters.langgraph import AgentBreederSaver

from .test_manager import Make, make  # noqa: F401 - a fixture


class State(TypedDict):
    found: Annotated[list[int], operator.add]


def place(thread: str, space: str = "", **more: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, **more}}


async def test_an_interrupt_is_seen_at_once_and_what_ran_beside_it_does_not_run_again(make: Make) -> None:  # noqa: F811
    async with make() as memory:
        for n in range(10):
            ran: list[int] = []

            async def ask(state: State) -> dict[str, Any]:
                return {"found": [interrupt("which?")]}

            async def side(state: State, ran: list[int] = ran) -> dict[str, Any]:
                ran.append(1)
                return {"found": [1]}

            graph = StateGraph(State)
            for name, node in (("ask", ask), ("side", side)):
                graph.add_node(name, node)  # type: ignore[call-overload]
                graph.add_edge(START, name)
                graph.add_edge(name, END)
            compiled = graph.compile(checkpointer=AgentBreederSaver(memory))
            config = place(f"t{n}")
            await compiled.ainvoke({"found": []}, config)
            assert [i.value for i in (await compiled.aget_state(config)).interrupts] == ["which?"]
            end = await compiled.ainvoke(Command(resume=7), config)
            assert (sorted(end["found"]), ran) == ([1, 7], [1])


async def test_a_step_wider_than_the_window_keeps_its_state_and_its_interrupt(make: Make) -> None:  # noqa: F811
    async def one(given: Any) -> dict[str, Any]:
        return {"found": [interrupt("last?") if given == 39 else given]}

    graph = StateGraph(State)
    graph.add_node("one", one)
    graph.add_conditional_edges(START, lambda _: [Send("one", n) for n in range(40)])
    graph.add_edge("one", END)
    async with make(max_messages=10) as memory:
        compiled = graph.compile(checkpointer=AgentBreederSaver(memory))
        await compiled.ainvoke({"found": []}, place("wide"))
        assert len((await compiled.aget_state(place("wide"))).interrupts) == 1
        end = await compiled.ainvoke(Command(resume=39), place("wide"))
        assert sorted(end["found"]) == list(range(40))


async def test_writes_that_arrive_before_their_checkpoint_are_its(make: Make) -> None:  # noqa: F811
    async with make() as memory:
        saver, checkpoint = AgentBreederSaver(memory), empty_checkpoint()
        await saver.aput_writes(place("t", checkpoint_id=checkpoint["id"]), [("found", [1])], "task")
        await saver.aput(place("t"), checkpoint, {}, {})
        found = await saver.aget_tuple(place("t"))
        assert found is not None
        assert found.pending_writes == [("task", "found", [1])]


async def test_a_thread_is_deleted_with_its_subgraphs_and_no_other_is(make: Make) -> None:  # noqa: F811
    async with make(max_messages=3) as memory:
        saver = AgentBreederSaver(memory)
        places = [place("u"), place("u", "child:1"), place("u:child", "1"), place("v")]
        for where in places:
            for _ in range(9):
                checkpoint = empty_checkpoint()
                await saver.aput(where, checkpoint, {}, {})
                named = place(where["configurable"]["thread_id"], where["configurable"]["checkpoint_ns"])
                named["configurable"]["checkpoint_id"] = checkpoint["id"]
                await saver.aput_writes(named, [("found", [1])], "task")
        every = [t async for t in saver.alist({"configurable": {"thread_id": "u"}})]
        assert len(every) == 6, "three of the thread and three of its subgraph"
        assert all(t.pending_writes for t in every)
        await AgentBreederSaver(memory).adelete_thread("u")
        assert [await saver.aget_tuple(where) is None for where in places] == [True, True, False, False]
        assert [t async for t in saver.alist({"configurable": {"thread_id": "u"}})] == []
