"""What a benchmark asks of a store: a history of so many messages, then turns."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from typing import Any

TEXT = "The quick brown fox jumps over the lazy dog. " * 6
LAST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """`seed(session, messages)` makes a history, `turn(session)` adds a user's and an assistant's message and reads the last
    fifty, as the store's own documentation would."""

    name: str
    seed: Callable[[str, int], Awaitable[object]]
    turn: Callable[[str], Awaitable[object]]


def said(count: int) -> list[dict[str, Any]]:
    """Messages of some 300 bytes, user and assistant in turn."""
    return [{"role": "assistant" if n % 2 else "user", "content": TEXT} for n in range(count)]


def by_turns(turn: Callable[[str], Awaitable[object]]) -> Callable[[str, int], Awaitable[object]]:
    """A history made by turns, where there is no faster way."""

    async def seed(session: str, messages: int) -> None:
        for _ in range(messages // 2):
            await turn(session)

    return seed


def openai_items(count: int) -> list[Any]:
    """The same as items of the OpenAI Agents SDK, which are plain messages."""
    return list(said(count))


def chat_messages(count: int) -> list[Any]:
    """The same as LangChain's messages."""
    from langchain_core.messages import AIMessage, HumanMessage

    return [(AIMessage if n % 2 else HumanMessage)(content=TEXT) for n in range(count)]


def checkpoint(messages: Sequence[Any]) -> tuple[Any, Any, Any]:
    """LangGraph's checkpoint, metadata and new versions with these messages."""
    from langgraph.checkpoint.base import empty_checkpoint

    made = empty_checkpoint()
    version = f"{len(messages):032}"
    made["channel_values"] = {"messages": list(messages)}
    made["channel_versions"] = {"messages": version}
    return made, {"source": "loop", "step": len(messages), "parents": {}}, {"messages": version}


def of_saver(name: str, saver: Any) -> Peer:
    """A LangGraph saver: a turn reads the newest checkpoint and puts the next."""

    def config(session: str) -> Any:
        return {"configurable": {"thread_id": session, "checkpoint_ns": ""}}

    async def seed(session: str, messages: int) -> None:
        await saver.aput(config(session), *checkpoint(chat_messages(messages)))

    async def turn(session: str) -> object:
        found = await saver.aget_tuple(config(session))
        kept = found.checkpoint["channel_values"]["messages"]
        await saver.aput(found.config, *checkpoint([*kept, *chat_messages(2)]))
        return kept[-LAST:]

    return Peer(name=name, seed=seed, turn=turn)


def of_adk(name: str, service: Any) -> Peer:
    """A session service of Google ADK: two `append_event` and a `get_session`."""
    from google.adk.events import Event
    from google.adk.sessions.base_session_service import GetSessionConfig
    from google.genai import types

    live: dict[str, Any] = {}

    def event(role: str) -> Any:
        return Event(author=role, invocation_id="i", content=types.Content(role=role, parts=[types.Part(text=TEXT)]))

    async def seed(session: str, messages: int) -> None:
        live[session] = await service.create_session(app_name="bench", user_id="u", session_id=session)
        for n in range(messages):
            await service.append_event(live[session], event("model" if n % 2 else "user"))

    async def turn(session: str) -> object:
        await service.append_event(live[session], event("user"))
        await service.append_event(live[session], event("model"))
        config = GetSessionConfig(num_recent_events=LAST)
        live[session] = await service.get_session(app_name="bench", user_id="u", session_id=session, config=config)
        return live[session]

    return Peer(name=name, seed=seed, turn=turn)


def of_openai(name: str, make: Callable[[str], Any]) -> Peer:
    """A session of the OpenAI Agents SDK."""
    live: dict[str, Any] = {}

    async def seed(session: str, messages: int) -> None:
        live[session] = make(session)
        await live[session].add_items(openai_items(messages))

    async def turn(session: str) -> object:
        await live[session].add_items(openai_items(2))
        return await live[session].get_items(LAST)

    return Peer(name=name, seed=seed, turn=turn)


def of_langchain(name: str, make: Callable[[str], Any]) -> Peer:
    """A message history of LangChain. Most have no way to read only the newest."""
    live: dict[str, Any] = {}

    async def seed(session: str, messages: int) -> None:
        live[session] = make(session)
        await live[session].aadd_messages(chat_messages(messages))

    async def turn(session: str) -> object:
        await live[session].aadd_messages(chat_messages(2))
        return (await live[session].aget_messages())[-LAST:]

    return Peer(name=name, seed=seed, turn=turn)


async def ours(backend: str, url: str) -> list[Peer]:
    """`MemoryManager`, and our adapters for the frameworks."""
    from agentbreeder_memory import MemoryManager, MemorySettings
    from agentbreeder_memory.adapters.google_adk import AgentBreederSessionService
    from agentbreeder_memory.adapters.langchain import AgentBreederChatMessageHistory
    from agentbreeder_memory.adapters.langgraph import AgentBreederSaver
    from agentbreeder_memory.adapters.openai_agents import AgentBreederSession

    def memory(**more: Any) -> MemoryManager:
        return MemoryManager(MemorySettings(backend=backend, agent="bench", url=url, **more))  # type: ignore[arg-type]

    keeping = memory(memory_type="buffer", max_messages=0)
    windowed = memory(max_messages=100)
    for manager in (keeping, windowed):
        await manager.connect()

    async def seed(session: str, messages: int) -> object:
        return await keeping.append(session, said(messages))

    async def apart(session: str) -> object:
        await keeping.append(session, said(2))
        return await keeping.load(session, LAST)

    return [
        Peer(name="ours: MemoryManager.turn", seed=seed, turn=lambda s: keeping.turn(s, said(2), LAST)),
        Peer(name="ours: append, then load", seed=seed, turn=apart),
        of_openai("ours: OpenAI Agents", lambda s: AgentBreederSession(s, keeping)),
        of_langchain("ours: LangChain, limit 50", lambda s: AgentBreederChatMessageHistory(s, keeping, limit=LAST)),
        of_saver("ours: LangGraph", AgentBreederSaver(windowed)),
        of_adk("ours: Google ADK", AgentBreederSessionService(keeping)),
    ]


async def incumbent(backend: str, url: str) -> Peer:
    """AgentBreeder 2.7.3's own manager, used as its templates mean it: load, add, save the whole."""
    path = distribution("agentbreeder").locate_file("engine/runtimes/templates/memory_manager.py")
    spec = importlib.util.spec_from_file_location("incumbent_memory_manager", str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    os.environ.update({"MEMORY_BACKEND": backend, "AGENT_NAME": "incumbent", "MEMORY_TTL_SECONDS": "3600"})
    os.environ[{"redis": "REDIS_URL", "postgresql": "DATABASE_URL"}[backend]] = url
    manager = module.MemoryManager()
    await manager.connect()

    async def turn(session: str) -> object:
        found = await manager.load(session)
        await manager.save(session, [*found, *said(2)])
        return found[-LAST:]

    return Peer(name="AgentBreeder 2.7.3", seed=lambda s, n: manager.save(s, said(n)), turn=turn)
