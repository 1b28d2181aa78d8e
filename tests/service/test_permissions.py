"""Who may see what: every route as everybody, and the service layer by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from agentbreeder_service.configs import ConfigStore
from agentbreeder_service.database import Database
from agentbreeder_service.errors import NotFound
from agentbreeder_service.models import ConfigIn, ConfigPatch, MessageIn
from agentbreeder_service.service import MemoryService
from agentbreeder_service.settings import ServiceSettings
from agentbreeder_service.sqlite_messages import SqliteMessages

from .conftest import BASE, TOKENS, Client, token

NOW = datetime.now(UTC)
CLAIMS = {
    "iss": "agentbreeder",
    "aud": "agentbreeder-memory",
    "sub": "ann",
    "team": "payments",
    "exp": NOW + timedelta(hours=3),
}


def signed(key: str = TOKENS.secret, algorithm: str = "HS256", **changes: Any) -> str:
    return jwt.encode({k: v for k, v in (CLAIMS | changes).items() if v is not None}, key, algorithm=algorithm)


WRONG = {
    "no token": None,
    "not a token": "abc",
    "expired": signed(exp=NOW - timedelta(minutes=1)),
    "another secret": signed("another-secret-that-is-long-enough-for-it"),
    "algorithm none": jwt.encode(CLAIMS, "", algorithm="none"),
    "another algorithm": signed(algorithm="HS512"),
    "no expiry": signed(exp=None),
    "no team": signed(team=None),
    "another issuer": signed(iss="somebody"),
    "another audience": signed(aud="something"),
    "an odd team": signed(team="a/b"),
    "odd roles": signed(roles="admin"),
}
WHO = {
    "person": token("payments"),
    "admin": token("payments", "admin"),
    "owner": token("payments", agent="triage"),
    "linked": token("payments", agent="billing"),
    "another agent": token("payments", agent="stranger"),
    "other team": token("sales"),
    "other admin": token("sales", "admin"),
    "other agent": token("sales", agent="triage"),
}
BODY = {"session_id": "s", "role": "user", "content": "hello", "agent_id": "triage"}
ROUTES: dict[str, tuple[str, str, Any]] = {
    "show": ("GET", "", None),
    "change": ("PATCH", "", {"ttl_seconds": 60}),
    "write": ("POST", "/messages", BODY),
    "batch": ("POST", "/messages:batch", {"messages": [BODY]}),
    "read": ("GET", "/messages?session_id=s&agent_id=triage", None),
    "sessions": ("GET", "/sessions", None),
    "search": ("GET", "/search?q=hello", None),
    "stats": ("GET", "/stats", None),
    "forget session": ("DELETE", "/sessions/s?agent_id=triage", None),
    "delete": ("DELETE", "", None),
}
READS, WRITES, CHANGES = ("read",), ("write", "batch", "forget session"), ("change", "delete")
SEES = ("show", "sessions", "search", "stats")


def expected(scope: str, who: str, route: str) -> int:
    """The rules of the issue, as a table."""
    ours = not who.startswith("other ")
    if not ours:
        if scope == "agent":
            return 404
        if scope == "team":
            return 403
        return 200 if route in (*READS, *SEES) else 403
    done = 201 if route in ("write", "batch") else 200
    if route in SEES:
        return done
    if route in CHANGES:
        return done if who == "admin" or (who == "person" and scope != "global") else 403
    if scope == "team" or who == "admin":
        return done
    if scope == "global":
        return done if route in READS or who == "linked" else 403
    if route in READS:
        return done if who in ("person", "owner", "linked") else 403
    return done if who == "owner" else 403


@pytest.mark.parametrize("scope", ["agent", "team", "global"])
async def test_every_route_lets_in_whom_it_should_and_nobody_else(client: Client, scope: str) -> None:
    wrong = []
    for who, bearer in WHO.items():
        for route, (method, path, body) in ROUTES.items():
            name = f"{scope}-{who}-{route}".replace(" ", "-")
            await client.config(name, scope=scope, linked_agents=["billing"])
            await client.say(name, "hello", agent_id="triage")
            answer = await client.ask(method, f"{BASE}/{name}{path}", bearer, json=body)
            if answer.status_code != expected(scope, who, route):
                wrong.append((who, route, answer.status_code, expected(scope, who, route)))
            if answer.status_code in (403, 404):
                assert name not in answer.text
                assert "payments" not in answer.text
    assert wrong == []


@pytest.mark.parametrize("kind", WRONG)
async def test_without_a_token_that_counts_every_route_answers_401(client: Client, kind: str) -> None:
    await client.config("support")
    paths = [(m, f"{BASE}/support{p}", b) for m, p, b in ROUTES.values()]
    paths += [("POST", BASE, {"name": "new"}), ("GET", BASE, None), ("DELETE", "/api/v1/memory/users/u", None)]
    for method, path, body in paths:
        answer = await client.ask(method, path, WRONG[kind], json=body)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), (method, path)
    assert (await client.get(f"{BASE}/support"))["name"] == "support"


async def test_an_agent_that_is_not_linked_sees_its_own_sessions_only(client: Client) -> None:
    await client.config("support", linked_agents=["billing"])
    for agent in ("triage", "stranger"):
        await client.say("support", f"hello of {agent}", agent_id=agent)
    for who, count in (("linked", 2), ("person", 2), ("another agent", 1)):
        assert len(await client.get(f"{BASE}/support/sessions", WHO[who])) == count
        assert len(await client.get(f"{BASE}/support/search?q=hello", WHO[who])) == count
        assert (await client.get(f"{BASE}/support/stats", WHO[who]))["total_messages"] == count
    assert (await client.get(f"{BASE}/support/messages?session_id=s", WHO["another agent"]))[0][
        "agent_id"
    ] == "stranger"


async def test_agents_of_a_team_share_a_session_and_each_message_says_whose_it_is(client: Client) -> None:
    await client.config("shared", scope="team", linked_agents=["triage", "billing"])
    await client.say("shared", "one", token("payments", agent="triage"))
    await client.say("shared", "two", token("payments", agent="billing"))
    found = await client.get(f"{BASE}/shared/messages?session_id=s", WHO["person"])
    assert [(m["content"], m["agent_id"]) for m in found] == [("one", "triage"), ("two", "billing")]


async def test_names_are_of_a_team_and_a_team_lists_its_own_and_the_global_ones(client: Client) -> None:
    await client.config("same")
    await client.config("same", WHO["other team"], max_messages=7)
    await client.config("for-all", scope="global")
    assert (await client.get(f"{BASE}/same"))["max_messages"] == 100
    assert (await client.get(f"{BASE}/same", WHO["other team"]))["max_messages"] == 7
    assert sorted(c["name"] for c in await client.get(BASE, WHO["other team"])) == ["for-all", "same"]
    answer = await client.ask("POST", BASE, WHO["person"], json={"name": "same"})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "name_taken")
    for who, body in (("person", {"scope": "global"}), ("owner", {}), ("person", {"team": "sales"})):
        answer = await client.ask("POST", BASE, WHO[who], json={"name": "new", **body})
        assert answer.status_code == 403, (who, body)


async def test_no_value_reaches_another_namespace(client: Client) -> None:
    await client.config("aa")
    await client.config("bb", namespace_pattern="{agent_id}:{user_id}/{session_id}")
    tries = [
        "s",
        "../bb/x",
        "x:y",
        "%",
        "%2F",
        "payments/bb/",
        "*",
        "s:s",
        "a/b",
        "\x00",
        "'; DROP TABLE memory_configs; --",
    ]
    for text in tries:
        await client.say("aa", text, session=text, agent_id="x")
        await client.say("bb", text, session=text, user_id=text, agent_id="x")
    for text in tries:
        for name, more in (("aa", {}), ("bb", {"user_id": text})):
            params = {"session_id": text, "agent_id": "x", **more}
            assert [m["content"] for m in await client.get(f"{BASE}/{name}/messages", params=params)] == [text]
    for name in ("aa", "bb"):
        found = await client.get(f"{BASE}/{name}/sessions?limit=1000")
        assert sorted(s["session_id"] for s in found) == sorted(tries)
    answer = await client.ask("GET", f"{BASE}/aa/sessions", WHO["admin"], params={"cursor": "cGF5bWVudHMvYmIv"})
    assert answer.json()["errors"][0]["code"] == "bad_cursor"


@pytest.fixture
async def service(settings: ServiceSettings) -> AsyncIterator[MemoryService]:
    assert settings.sqlite_path is not None
    database, store = Database(sqlite_path=settings.sqlite_path), SqliteMessages(settings.sqlite_path)
    yield MemoryService(ConfigStore(database), store)
    await store.close()
    await database.close()


@pytest.mark.only("sqlite")
async def test_the_service_itself_refuses_a_call_without_a_team(service: MemoryService) -> None:
    admin: Any = {"requesting_team": "payments", "requesting_agent": "", "requesting_roles": frozenset({"admin"})}
    nobody: Any = {**admin, "requesting_team": None}
    for scope in ("team", "agent", "global"):
        await service.create_config(ConfigIn(name=scope, scope=scope), **admin)
    message = MessageIn(session_id="s", role="user", content="x", agent_id="a")
    for scope, kind in (("team", PermissionError), ("agent", NotFound), ("global", NotFound)):
        calls = [
            service.append(scope, [message], **nobody),
            service.page(scope, "s", "a", "", None, 5, **nobody),
            service.sessions(scope, "", 5, **nobody),
            service.search(scope, "x", 5, **nobody),
            service.stats(scope, **nobody),
            service.delete_session(scope, "s", "a", "", **nobody),
            service.config(scope, **nobody),
            service.change_config(scope, ConfigPatch(), **nobody),
            service.delete_config(scope, **nobody),
        ]
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(answer, kind), (scope, answer)
    for call in (service.forget_user("u", **nobody), service.configs("", 5, **nobody)):
        with pytest.raises(PermissionError):
            await call
