"""Each adapter under the real framework: what it keeps comes back, after a restart too."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest

from agentbreeder_memory import MemoryManager, MemorySettings, SyncMemoryManager


class State(TypedDict):
    """Of the LangGraph test; at the top, where its annotations can be read."""

    said: Annotated[list[str], operator.add]


@pytest.fixture(params=["redis", "postgresql"])
def settings(request: pytest.FixtureRequest, unique: str) -> MemorySettings:
    url = request.getfixturevalue({"redis": "redis_url", "postgresql": "database_url"}[request.param])
    return MemorySettings(backend=request.param, agent=unique, url=url)


@pytest.fixture
async def memory(settings: MemorySettings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(settings) as made:
        yield made


ITEMS: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "hi \x00 \ud800"}, {"type": "input_image", "image_url": "data:x"}],
    },
    {"id": "__fake_id__", "type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    {"id": "__fake_id__", "role": "assistant", "type": "message", "content": [], "x_unknown": {"deep": [1.5, None]}},
]


async def test_openai_items_round_trip_byte_for_byte_although_some_share_an_id(memory: MemoryManager) -> None:
    from agents.memory.session import Session

    from agentbreeder_memory.adapters.openai_agents import AgentBreederSession

    session = AgentBreederSession("s", memory)
    assert isinstance(session, Session)
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS
    assert await session.get_items(2) == ITEMS[2:]
    assert await session.pop_item() == ITEMS[3]
    assert await session.get_items() == ITEMS[:3]
    await session.add_items([ITEMS[3], ITEMS[3]])
    assert await session.get_items() == [*ITEMS, ITEMS[3]]
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None


async def test_the_openai_runner_remembers_after_a_restart(settings: MemorySettings) -> None:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage
    from agents.models.interface import Model
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    from agentbreeder_memory.adapters.openai_agents import AgentBreederSession

    seen: list[int] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
            seen.append(len(input))
            text = ResponseOutputText(type="output_text", text=f"answer {len(seen)}", annotations=[])
            message = ResponseOutputMessage(
                id="__fake_id__", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="a", model=Scripted())
    for n in range(3):
        async with MemoryManager(settings) as memory:
            session = AgentBreederSession("talk", memory)
            result = await Runner.run(
                agent, f"question {n}", session=session, run_config=RunConfig(tracing_disabled=True)
            )
            assert result.final_output == f"answer {n + 1}"
    assert seen == [1, 3, 5]


async def test_langchain_messages_round_trip_with_tool_calls_and_images(
    memory: MemoryManager, settings: MemorySettings
) -> None:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

    from agentbreeder_memory.adapters.langchain import AgentBreederChatMessageHistory

    sent: list[BaseMessage] = [
        SystemMessage("be kind"),
        HumanMessage([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]),
        AIMessage("", tool_calls=[{"name": "look", "args": {"deep": [1, None]}, "id": "c1"}], id="ai-1"),
        ToolMessage("a cat", tool_call_id="c1", artifact={"raw": [1]}),
        AIMessage("a cat", additional_kwargs={"x_unknown": {"a": 1}}, response_metadata={"model": "m"}),
    ]
    history = AgentBreederChatMessageHistory("s", memory)
    await history.aadd_messages(sent)
    assert await history.aget_messages() == sent

    import asyncio

    def blocking() -> None:
        with SyncMemoryManager(settings) as sync_memory:
            again = AgentBreederChatMessageHistory("s", sync_memory=sync_memory)
            assert again.messages == sent
            again.add_messages([HumanMessage("more")])
            assert len(again.messages) == 6
            again.clear()
            assert again.messages == []

    await asyncio.to_thread(blocking)
    with pytest.raises(ValueError, match="sync_memory"):
        _ = history.messages


async def test_a_langgraph_thread_goes_on_after_a_restart_with_its_interrupt(settings: MemorySettings) -> None:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

    from agentbreeder_memory.adapters.langgraph import AgentBreederSaver

    def ask(state: State) -> dict[str, list[str]]:
        return {"said": [f"seen {len(state['said'])}", str(interrupt("may I?"))]}

    def built(memory: MemoryManager) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        graph.add_edge("ask", END)
        return graph.compile(checkpointer=AgentBreederSaver(memory))

    config: Any = {"configurable": {"thread_id": "t1"}}
    async with MemoryManager(settings) as memory:
        stopped = await built(memory).ainvoke({"said": ["one"]}, config)
        assert stopped["__interrupt__"][0].value == "may I?"
    async with MemoryManager(settings) as memory:
        graph = built(memory)
        assert (await graph.aget_state(config)).next == ("ask",)
        done = await graph.ainvoke(Command(resume="yes"), config)
        assert done["said"] == ["one", "seen 1", "yes"]
    async with MemoryManager(settings) as memory:
        graph = built(memory)
        assert (await graph.aget_state(config)).values["said"] == ["one", "seen 1", "yes"]
        history = [s async for s in graph.aget_state_history(config)]
        assert len(history) == 3
        earlier = await graph.aget_state(history[-1].config)
        assert earlier.config["configurable"]["checkpoint_id"] == history[-1].config["configurable"]["checkpoint_id"]
        await graph.checkpointer.adelete_thread("t1")
        assert (await graph.aget_state(config)).values == {}
