"""The session service under the real ADK: its rows on every backend, its runner, and what happens to two writers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from agentbreeder_memory import MemoryManager, MemorySettings, StoreMisconfigured
from agentbreeder_memory.adapters.google_adk import AgentBreederSessionService

APP, USER = "app:1", "ann"


@pytest.fixture(params=["redis", "postgresql", "in_memory"])
def settings(request: pytest.FixtureRequest, unique: str) -> MemorySettings:
    url = {"redis": "redis_url", "postgresql": "database_url"}.get(request.param)
    address = request.getfixturevalue(url) if url else ""
    return MemorySettings(backend=request.param, agent=unique, url=address, max_messages=20, ttl_s=600)


@pytest.fixture
async def memory(settings: MemorySettings) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(settings) as made:
        yield made


@pytest.fixture
async def service(memory: MemoryManager) -> AsyncIterator[AgentBreederSessionService]:
    made = AgentBreederSessionService(memory)
    yield made
    await made.close()


def event(text: str, **delta: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(author="user", invocation_id="i", content=content, actions=EventActions(state_delta=delta))


async def read(service: AgentBreederSessionService, session: Session, **config: Any) -> Session:
    found = await service.get_session(
        app_name=APP, user_id=session.user_id, session_id=session.id, config=GetSessionConfig(**config)
    )
    assert found is not None
    return found


def texts(session: Session) -> list[str]:
    return [e.content.parts[0].text for e in session.events]


async def test_tool_calls_images_and_odd_text_come_back_byte_for_byte(service: AgentBreederSessionService) -> None:
    session = await service.create_session(app_name=APP, user_id=USER)
    parts = [
        types.Part(text="hi \x00 \u202e 🙂"),
        types.Part(function_call=types.FunctionCall(id="c", name="f", args={"a": None, "deep": [1.5, {"x": "y"}]})),
        types.Part(function_response=types.FunctionResponse(id="c", name="f", response={"ok": True})),
        types.Part(inline_data=types.Blob(mime_type="image/png", data=bytes(range(256)))),
    ]
    one = Event(author="agent", invocation_id="i", content=types.Content(role="model", parts=parts))
    one.long_running_tool_ids = {"b", "a"}
    one.custom_metadata = {"unknown": [1, None]}
    await service.append_event(session, one)
    again = await read(service, session)
    assert again.events == [one]
    assert again.events[0].content.parts[3].inline_data.data == bytes(range(256))


async def test_state_is_merged_by_scope_and_temporary_state_is_not_kept(service: AgentBreederSessionService) -> None:
    first = await service.create_session(
        app_name=APP, user_id=USER, state={"a": 1, "user:u": 1, "app:p": 1, "temp:t": 1}
    )
    assert first.state == {"a": 1, "user:u": 1, "app:p": 1}
    change = event("x", **{"a": 2, "b": [None], "user:u": 2, "app:p": 2, "temp:t": 2})
    await service.append_event(first, change)
    assert first.state["temp:t"] == 2
    kept = {"a": 2, "b": [None], "user:u": 2, "app:p": 2}
    found = await read(service, first)
    assert found.state == kept
    assert "temp:t" not in found.events[0].actions.state_delta
    second = await service.create_session(app_name=APP, user_id=USER)
    assert second.state == {"user:u": 2, "app:p": 2}
    other = await service.create_session(app_name=APP, user_id="bob")
    assert other.state == {"app:p": 2}
    elsewhere = await service.create_session(app_name="app", user_id="1:ann")
    assert elsewhere.state == {}
    assert await service.get_user_state(app_name=APP, user_id=USER) == {"u": 2}


async def test_state_outlives_the_events_that_the_window_lets_go(service: AgentBreederSessionService) -> None:
    session = await service.create_session(app_name=APP, user_id=USER, state={"first": True})
    for n in range(30):
        await service.append_event(session, event(str(n), **{f"k{n}": n}))
    found = await read(service, session)
    assert texts(found) == [str(n) for n in range(10, 30)]
    assert found.state == {"first": True} | {f"k{n}": n for n in range(30)}
    assert texts(await read(service, session, num_recent_events=2)) == ["28", "29"]
    assert texts(await read(service, session, num_recent_events=0)) == []
    later = found.events[-1].timestamp
    assert texts(await read(service, session, after_timestamp=later)) == ["29"]


async def test_sessions_are_listed_by_their_last_change_and_deleted_whole(service: AgentBreederSessionService) -> None:
    made = [
        await service.create_session(app_name=APP, user_id=u, session_id=s) for u, s in (("ann", "1"), ("bob", "2"))
    ]
    await service.append_event(made[0], event("later", a=1))
    with pytest.raises(AlreadyExistsError):
        await service.create_session(app_name=APP, user_id="ann", session_id="1")
    listed = (await service.list_sessions(app_name=APP)).sessions
    assert [(s.user_id, s.id, s.events) for s in listed] == [("bob", "2", []), ("ann", "1", [])]
    assert listed[1].state == {"a": 1}
    assert [s.id for s in (await service.list_sessions(app_name=APP, user_id="bob")).sessions] == ["2"]
    assert (await service.list_sessions(app_name="another")).sessions == []
    await service.delete_session(app_name=APP, user_id="ann", session_id="1")
    assert await service.get_session(app_name=APP, user_id="ann", session_id="1") is None
    assert [s.id for s in (await service.list_sessions(app_name=APP)).sessions] == ["2"]
    with pytest.raises(SessionNotFoundError):
        await service.append_event(made[0], event("too late"))
    again = await service.create_session(app_name=APP, user_id="ann", session_id="1")
    assert (again.events, again.state) == ([], {})


async def test_a_session_in_use_stays_listed_after_the_list_alone_would_have_expired(
    service: AgentBreederSessionService,
) -> None:
    session = await service.create_session(app_name=APP, user_id=USER)
    for scope in ("users", "sessions"):
        await service._state.clear(service._place(APP, USER if scope == "sessions" else "", scope=scope))
    await service.append_event(session, event("soon"))
    assert (await service.list_sessions(app_name=APP)).sessions == []
    await service._state.update_state(service._place(APP, USER, session.id), {"listed": 0})
    await service.append_event(session, event("later"))
    assert [s.id for s in (await service.list_sessions(app_name=APP)).sessions] == [session.id]


async def test_writers_at_the_same_time_lose_nothing_and_nobody_is_stale(service: AgentBreederSessionService) -> None:
    session = await service.create_session(app_name=APP, user_id=USER)
    copies = [await read(service, session) for _ in range(20)]
    await asyncio.gather(*(service.append_event(c, event(str(n), **{f"k{n}": n})) for n, c in enumerate(copies)))
    found = await read(service, session)
    assert sorted(texts(found), key=int) == [str(n) for n in range(20)]
    assert found.state == {f"k{n}": n for n in range(20)}


async def test_an_event_whose_state_was_not_applied_any_more_is_applied_by_the_next_read(
    service: AgentBreederSessionService, memory: MemoryManager
) -> None:
    session = await service.create_session(app_name=APP, user_id=USER, state={"a": 1, "b": 1})
    await service.append_event(session, event("whole", a=2))
    # What a process leaves behind that dies after the append and before the update of the state.
    half = event("half", a=3)
    record = await service._state.get_state(service._place(APP, USER, session.id))
    await memory.append(record["log"], {"id": f"event:{half.id}", "event": half.model_dump(mode="json")}, user_id=USER)
    assert (await read(service, session)).state == {"a": 3, "b": 1}
    assert (await read(service, session, num_recent_events=0)).state == {"a": 3, "b": 1}


@pytest.mark.parametrize("settings", ["redis", "postgresql"], indirect=True)
async def test_a_runner_remembers_after_a_restart(settings: MemorySettings) -> None:
    class Echo(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> AsyncIterator[Event]:
            said = [e.content.parts[0].text for e in ctx.session.events]
            content = types.Content(role="model", parts=[types.Part(text=f"heard {said}")])
            yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)

    async def ask(text: str) -> str:
        async with MemoryManager(settings) as memory:
            service = AgentBreederSessionService(memory)
            runner = Runner(app_name="echo", agent=Echo(name="echo"), session_service=service, auto_create_session=True)
            message = types.Content(role="user", parts=[types.Part(text=text)])
            found = [e async for e in runner.run_async(user_id=USER, session_id="s", new_message=message)]
            await service.close()
            return str(found[-1].content.parts[0].text)

    assert await ask("one") == "heard ['one']"
    assert await ask("two") == "heard ['one', \"heard ['one']\", 'two']"


def test_a_memory_that_keeps_nothing_cannot_keep_sessions() -> None:
    with pytest.raises(StoreMisconfigured, match="MEMORY_BACKEND is none"):
        AgentBreederSessionService(MemoryManager(MemorySettings(backend="none", agent="a")))


async def test_one_of_many_that_create_the_same_session_makes_it(service: AgentBreederSessionService) -> None:
    made = await asyncio.gather(
        *(service.create_session(app_name=APP, user_id=USER, session_id="x", state={"n": n}) for n in range(10)),
        return_exceptions=True,
    )
    assert sorted(type(m).__name__ for m in made) == ["AlreadyExistsError"] * 9 + ["Session"]


@pytest.mark.parametrize("settings", ["redis", "postgresql"], indirect=True)
async def test_what_belongs_to_the_user_and_the_app_lives_as_long_as_a_session_is_used(
    settings: MemorySettings,
) -> None:
    async with MemoryManager(replace(settings, ttl_s=2)) as memory:
        service = AgentBreederSessionService(memory)
        session = await service.create_session(
            app_name=APP, user_id=USER, state={"user:name": "Ann", "app:c": 1, "own": 2}
        )
        for n in range(5):
            await asyncio.sleep(0.6)
            if n % 2:
                await service.append_event(session, event(str(n)))
            else:
                await read(service, session)
        assert (await read(service, session)).state == {"user:name": "Ann", "app:c": 1, "own": 2}
        assert [s.id for s in (await service.list_sessions(app_name=APP)).sessions] == [session.id]
        await asyncio.sleep(2.2)
        again = await service.create_session(app_name=APP, user_id=USER, session_id=session.id)
        assert (again.events, again.state) == ([], {})
        await service.close()


async def test_an_agent_of_the_same_name_in_another_team_has_sessions_of_its_own(settings: MemorySettings) -> None:
    pattern = "{team}/{agent_id}:{session_id}"
    async with MemoryManager(replace(settings, namespace_pattern=pattern, team="a")) as one:
        service = AgentBreederSessionService(one)
        await service.create_session(app_name=APP, user_id=USER, session_id="q", state={"secret": 1, "user:s": 1})
        async with MemoryManager(replace(settings, namespace_pattern=pattern, team="b")) as other:
            beside = AgentBreederSessionService(other, service._state if settings.backend == "in_memory" else None)
            assert await beside.get_session(app_name=APP, user_id=USER, session_id="q") is None
            assert await beside.get_user_state(app_name=APP, user_id=USER) == {}
            await beside.close()
        await service.close()
