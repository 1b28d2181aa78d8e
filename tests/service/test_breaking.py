"""What breakers of the service found, each as it was found: no message in a wrong place, none that comes back, none that stays."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from .conftest import BASE, Client, token

ADMIN = token("payments", "admin")


def texts(found: list[dict[str, Any]]) -> list[Any]:
    return [m["content"] for m in found]


async def test_a_batch_is_of_one_user_and_one_agent(client: Client) -> None:
    await client.config("users", namespace_pattern="{agent_id}:{user_id}")
    said = {"session_id": "s", "role": "user", "content": "x"}
    for change in ({"user_id": "bob"}, {"agent_id": "b"}, {"session_id": "t"}):
        batch = [{**said, "agent_id": "a", "user_id": "alice"}, {**said, "agent_id": "a", "user_id": "alice", **change}]
        answer = await client.ask("POST", f"{BASE}/users/messages:batch", ADMIN, json={"messages": batch})
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "several_sessions")


async def test_a_repeated_batch_with_a_key_in_its_header_stores_once(client: Client) -> None:
    await client.config("batches")
    batch = [{"session_id": "s", "role": "user", "content": n} for n in ("one", "two")]
    for _ in range(2):
        answer = await client.ask(
            "POST", f"{BASE}/batches/messages:batch", ADMIN, json={"messages": batch}, headers={"Idempotency-Key": "k"}
        )
        assert texts(answer.json()["data"]) == ["one", "two"]
    assert texts(await client.get(f"{BASE}/batches/messages?session_id=s")) == ["one", "two"]


@pytest.mark.parametrize("name", ["abc", "abc\n", "a\nb", "a/b", "a b?c", "\u0661 é"])
async def test_exactly_the_session_and_the_user_that_are_named_are_deleted(client: Client, name: str) -> None:
    await client.config("odd")
    for session in (name, "abc", "other"):
        await client.say("odd", session, session=session, agent_id="a", user_id=session)
    path = f"{BASE}/odd/sessions/{quote(name, safe='')}?agent_id=a"
    assert (await client.ask("DELETE", path, ADMIN)).status_code == 200
    left = [s["session_id"] for s in await client.get(f"{BASE}/odd/sessions")]
    assert sorted(left) == sorted({"abc", "other"} - {name})
    gone = await client.ask("DELETE", f"/api/v1/memory/users/{quote(name, safe='')}", ADMIN)
    assert gone.json()["data"]["deleted_messages"] == 0
    gone = await client.ask("DELETE", "/api/v1/memory/users/other", ADMIN)
    assert gone.json()["data"]["deleted_messages"] == 1


@pytest.mark.parametrize(
    ("user", "content"),
    [
        ("CORP\\jose", "x\x00y"),
        ('say "hi"', "x\x00\x00y"),
        ("josé \U0001f600", ["\ud800"]),
        ("alice", {"user_id": "bob", "t": "\x00"}),
        ("alice", "a literal \\u0000 and \\\\u0000 and \x00"),
        ("nul\x00in it", "plain"),
    ],
)
async def test_a_user_is_forgotten_whatever_is_in_the_message_and_nobody_else_is(
    client: Client, user: str, content: Any
) -> None:
    await client.config("forget")
    body = {"session_id": "s", "role": "user", "content": content, "user_id": user, "agent_id": "a"}
    sent = {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
    assert (await client.ask("POST", f"{BASE}/forget/messages", ADMIN, **sent)).status_code == 201
    await client.say("forget", "of bobby", user_id="bobby", agent_id="a")
    for who, count in (("bob", 0), (user, 1), (user, 0)):
        answer = await client.ask("DELETE", f"/api/v1/memory/users/{quote(who, safe='')}", ADMIN)
        assert answer.json()["data"]["deleted_messages"] == count, who
    assert texts(await client.get(f"{BASE}/forget/messages?session_id=s&agent_id=a")) == ["of bobby"]


async def test_what_has_left_a_window_stays_away_when_a_user_is_forgotten_or_the_window_grows(client: Client) -> None:
    await client.config("window", max_messages=5)
    for n in range(10):
        await client.say("window", f"old{n}", user_id="zoe")
    for n in range(5):
        await client.say("window", f"new{n}", user_id="bob")
    await client.ask("DELETE", "/api/v1/memory/users/bob", ADMIN)
    assert await client.get(f"{BASE}/window/messages?session_id=s") == []
    await client.config("grows", max_messages=2)
    for n in range(6):
        await client.say("grows", f"m{n}")
    for change in ({"max_messages": 100}, {"memory_type": "buffer"}):
        await client.ask("PATCH", f"{BASE}/grows", ADMIN, json=change)
        assert texts(await client.get(f"{BASE}/grows/messages?session_id=s")) == ["m4", "m5"]
    assert (await client.get(f"{BASE}/grows/stats"))["total_messages"] == 2


async def test_a_key_that_is_repeated_after_the_window_shrank_is_answered(client: Client) -> None:
    await client.config("shrinks", max_messages=10)
    for n in range(8):
        await client.say("shrinks", f"m{n}", idempotency_key=f"k{n}")
    await client.ask("PATCH", f"{BASE}/shrinks", ADMIN, json={"max_messages": 3})
    await client.say("shrinks", "m0", idempotency_key="k0")
    stats = await client.get(f"{BASE}/shrinks/stats")
    assert stats["total_messages"] == len(await client.get(f"{BASE}/shrinks/messages?session_id=s"))


async def test_a_config_named_like_an_id_takes_nobodys_place(client: Client) -> None:
    made = await client.config("shared", scope="global")
    for who in (ADMIN, token("sales", "admin")):
        answer = await client.ask("POST", BASE, who, json={"name": made["id"], "scope": "global"})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "name")
    assert (await client.get(f"{BASE}/{made['id']}", token("third")))["name"] == "shared"


async def test_an_agent_of_a_team_speaks_for_itself_and_under_agent_reaches_no_others_session(client: Client) -> None:
    await client.config("team", scope="team")
    kept = await client.say("team", "x", token("payments", agent="triage"), agent_id="billing")
    assert kept["agent_id"] == "triage"
    await client.config("apart", namespace_pattern="{user_id}:{session_id}")
    await client.say("apart", "mine", token("payments", agent="triage"), user_id="u")
    stranger = token("payments", agent="stranger")
    assert await client.get(f"{BASE}/apart/messages?session_id=s&user_id=u", stranger) == []
    assert await client.get(f"{BASE}/apart/search?q=mine", stranger) == []


async def test_very_many_different_words_are_kept_and_their_beginning_is_searched(client: Client) -> None:
    await client.config("words")
    text = "needle " + " ".join(
        f"{chr(0x4E00 + n % 9000)}{chr(0x4E00 + n // 7)}-{chr(0x5000 + n % 777)}" for n in range(29_000)
    )
    kept = await client.say("words", text)
    assert kept["content"] == text
    assert len(await client.get(f"{BASE}/words/search?q=needle")) == 1


async def test_a_highlight_is_html_that_shows_the_text_as_it_is(client: Client) -> None:
    await client.config("html")
    await client.say("html", "1 < 2 & <img src=x onerror=alert(1)> hello </mark> world")
    (hit,) = await client.get(f"{BASE}/html/search?q=hello")
    assert "<mark>hello</mark>" in hit["highlight"]
    assert "<img" not in hit["highlight"]


async def test_an_unknown_path_and_a_chunked_body_beyond_the_limit_are_answered_in_the_envelope(client: Client) -> None:
    await client.config("limits")
    assert (await client.ask("POST", f"{BASE}/", ADMIN, json={})).status_code == 404

    async def chunks() -> Any:
        for _ in range(50):
            yield b'"' + b"x" * 100_000

    answer = await client.ask("POST", f"{BASE}/limits/messages", ADMIN, content=chunks())
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (413, "too_large")


async def test_a_session_is_found_by_its_end_whichever_agent_has_it(client: Client) -> None:
    await client.config("many")
    for n in range(20):
        await client.say("many", f"of {n}", session=f"s{n}", agent_id=f"agent{n}")
        await client.say("many", f"of 1{n}", session=f"1s{n}", agent_id="another")
    for n in range(20):
        assert texts(await client.get(f"{BASE}/many/messages?session_id=s{n}")) == [f"of {n}"]
    await client.config("last", namespace_pattern="{session_id}/{agent_id}")
    await client.say("last", "x", session="a", agent_id="someone")
    assert texts(await client.get(f"{BASE}/last/messages?session_id=a")) == ["x"]
