"""Messages over the API: the same rows on PostgreSQL and on SQLite."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import asyncpg
import pytest

from agentbreeder_service import postgres_sql
from agentbreeder_service.api.app import message_store
from agentbreeder_service.namespaces import Part
from agentbreeder_service.settings import ServiceSettings

from .conftest import BASE, Client, token


async def test_what_is_posted_comes_back_in_order_and_page_by_page(client: Client) -> None:
    await client.config("support-memory", backend_type="postgresql", max_messages=50)
    for n in range(7):
        kept = await client.say("support-memory", f"message {n}", metadata={"n": n})
        assert (kept["seq"], kept["content"], kept["metadata"], kept["role"]) == (
            n + 1,
            f"message {n}",
            {"n": n},
            "user",
        )
    found = await client.get(f"{BASE}/support-memory/messages?session_id=s")
    assert [m["content"] for m in found] == [f"message {n}" for n in range(7)]
    admin, seen, before = token("payments", "admin"), [], ""
    while True:
        answer = await client.ask("GET", f"{BASE}/support-memory/messages?session_id=s&limit=3{before}", admin)
        seen = [m["content"] for m in answer.json()["data"]] + seen
        more = answer.json()["meta"]["next_before"]
        if more is None:
            break
        before = f"&before={more}"
    assert seen == [f"message {n}" for n in range(7)]


ODD = ["plain", "NUL \x00 in it", "שלום \u202e RTL", "🙂🏽", "x" * 100_000, ["a", {"b": None}], {"k\x00": 1.5e300}]


@pytest.mark.parametrize("content", [*ODD, 'back\\slash "q" \\u0000'])
async def test_odd_content_comes_back_as_it_was_and_can_be_searched(client: Client, content: Any) -> None:
    await client.config("odd")
    await client.say("odd", content, user_id="u\x00", metadata={"content": "nested"})
    await client.say("odd", "a needle", user_id="u")
    found = await client.get(f"{BASE}/odd/messages?session_id=s")
    assert [m["content"] for m in found] == [content, "a needle"]
    assert found[0]["user_id"] == "u\x00"
    hits = await client.get(f"{BASE}/odd/search?q=needle")
    assert [h["message"]["content"] for h in hits] == ["a needle"]


async def test_a_lone_surrogate_comes_back_and_can_be_searched_around(client: Client) -> None:
    await client.config("odd")
    body = b'{"session_id":"s","role":"user","content":"a needle \\ud800","user_id":"ann"}'
    headers = {"Content-Type": "application/json"}
    answer = await client.ask("POST", f"{BASE}/odd/messages", token("payments", "admin"), content=body, headers=headers)
    assert answer.status_code == 201
    found = await client.get(f"{BASE}/odd/messages?session_id=s")
    assert [m["content"] for m in found] == ["a needle \ud800"]
    assert len(await client.get(f"{BASE}/odd/search?q=needle")) == 1
    forgotten = await client.ask("DELETE", "/api/v1/memory/users/ann", token("payments", "admin"))
    assert forgotten.json()["data"] == {"deleted_messages": 1}


async def test_the_window_evicts_the_oldest_and_a_buffer_keeps_all(client: Client) -> None:
    await client.config("window", max_messages=3)
    await client.config("buffer", memory_type="buffer")
    for name in ("window", "buffer"):
        batch = [{"session_id": "s", "role": "user", "content": str(n)} for n in range(40)]
        answer = await client.ask(
            "POST", f"{BASE}/{name}/messages:batch", token("payments", "admin"), json={"messages": batch}
        )
        assert [m["seq"] for m in answer.json()["data"]][-1] == 40
    window = await client.get(f"{BASE}/window/messages?session_id=s")
    assert [m["content"] for m in window] == ["37", "38", "39"]
    assert len(await client.get(f"{BASE}/buffer/messages?session_id=s")) == 40
    stats = await client.get(f"{BASE}/window/stats")
    assert (stats["total_sessions"], stats["total_messages"], stats["avg_messages_per_session"]) == (1, 3, 3.0)
    assert (await client.get(f"{BASE}/window/search?q=37"))[0]["message"]["content"] == "37"
    assert await client.get(f"{BASE}/window/search?q=36") == []


async def test_a_repeated_request_with_the_same_key_stores_once(client: Client) -> None:
    await client.config("once")
    first = await client.say("once", "hello", idempotency_key="k1")
    again = await client.say("once", "something else", idempotency_key="k1")
    assert again == first
    admin, body = token("payments", "admin"), {"session_id": "s", "role": "user", "content": "x"}
    for _ in range(2):
        answer = await client.ask("POST", f"{BASE}/once/messages", admin, json=body, headers={"Idempotency-Key": "k2"})
        assert answer.status_code == 201
    refused = await client.ask("POST", f"{BASE}/once/messages", admin, json=body, headers={"Idempotency-Key": "k\t2"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "Idempotency-Key")
    await client.say("once", "hello")
    assert [m["content"] for m in await client.get(f"{BASE}/once/messages?session_id=s")] == ["hello", "x", "hello"]


async def test_writers_at_the_same_time_lose_and_reorder_nothing(client: Client) -> None:
    await client.config("busy", memory_type="buffer")

    async def write(n: int) -> list[int]:
        return [(await client.say("busy", f"{n}:{i}"))["seq"] for i in range(5)]

    numbers = await asyncio.gather(*(write(n) for n in range(10)))
    assert sorted(s for one in numbers for s in one) == list(range(1, 51))
    assert all(one == sorted(one) for one in numbers)
    found = await client.get(f"{BASE}/busy/messages?session_id=s&limit=100")
    assert len({m["content"] for m in found}) == 50


async def test_search_is_ranked_highlighted_and_never_a_syntax_error(client: Client) -> None:
    await client.config("find")
    await client.say("find", "What is the status of my order?", session="a", agent_id="x")
    await client.say("find", "Your order has a new status: the order was shipped", session="b", agent_id="x")
    await client.say("find", "Something else entirely", session="b", agent_id="x")
    hits = await client.get(f"{BASE}/find/search?q=order+status&limit=10")
    assert {h["session"]["session_id"] for h in hits} == {"a", "b"}
    assert all("<mark>" in h["highlight"] for h in hits)
    assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)
    assert len(await client.get(f"{BASE}/find/search", params={"q": "orders -shipped"})) == 1
    assert len(await client.get(f"{BASE}/find/search", params={"q": '"new status"'})) == 1
    assert len(await client.get(f"{BASE}/find/search", params={"q": "shipped or else"})) == 2
    for odd in ("' OR 1=1 --", "a & | ! ( :*", '"', "-", "the", "*", "NEAR(", "x:y", "\x00", "col:order ^2"):
        await client.get(f"{BASE}/find/search", params={"q": odd})
    assert await client.get(f"{BASE}/find/search", params={"q": "nowhere"}) == []


async def test_sessions_are_listed_and_deleted(client: Client) -> None:
    await client.config("many")
    for n in range(5):
        await client.say("many", "x", session=f"s/{n}", agent_id=f"agent-{n % 2}")
    admin, names, cursor = token("payments", "admin"), [], ""
    while True:
        answer = await client.ask("GET", f"{BASE}/many/sessions?limit=2{cursor}", admin)
        names += [(s["agent_id"], s["session_id"], s["message_count"]) for s in answer.json()["data"]]
        if not answer.json()["meta"]["next_cursor"]:
            break
        cursor = f"&cursor={answer.json()['meta']['next_cursor']}"
    assert sorted(names, key=lambda n: n[1]) == [(f"agent-{n % 2}", f"s/{n}", 1) for n in range(5)]
    assert (await client.ask("DELETE", f"{BASE}/many/sessions/s%2F1", admin)).status_code == 200
    assert (await client.ask("DELETE", f"{BASE}/many/sessions/s%2F1", admin)).status_code == 404
    assert (await client.get(f"{BASE}/many/stats"))["total_sessions"] == 4


async def test_a_person_who_does_not_say_which_agent_gets_the_one_that_has_the_session(client: Client) -> None:
    await client.config("who")
    await client.say("who", "from triage", agent_id="triage")
    assert [m["agent_id"] for m in await client.get(f"{BASE}/who/messages?session_id=s")] == ["triage"]
    assert (await client.say("who", "an answer"))["agent_id"] == "triage"
    await client.say("who", "from billing", agent_id="billing")
    answer = await client.ask("GET", f"{BASE}/who/messages?session_id=s", token("payments", "admin"))
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "ambiguous")
    assert len(await client.get(f"{BASE}/who/messages?session_id=s&agent_id=triage")) == 2


async def test_a_user_is_forgotten_everywhere_and_the_others_keep_their_places(client: Client) -> None:
    await client.config("mixed")
    await client.config("by-user", namespace_pattern="{agent_id}:{user_id}")
    for n, user in enumerate(["ann", "bob", "ann", "bob", "ann"]):
        await client.say("mixed", f"{user} {n}", user_id=user, agent_id="a")
        await client.say("by-user", f"{user} {n}", user_id=user, agent_id="a")
    answer = await client.ask("DELETE", "/api/v1/memory/users/ann", token("payments", "admin"))
    assert answer.json()["data"] == {"deleted_messages": 6}
    found = await client.get(f"{BASE}/mixed/messages?session_id=s&agent_id=a")
    assert [(m["seq"], m["content"]) for m in found] == [(1, "bob 1"), (2, "bob 3")]
    assert (await client.get(f"{BASE}/mixed/stats"))["total_messages"] == 2
    assert (await client.get(f"{BASE}/by-user/stats"))["total_messages"] == 2
    assert await client.get(f"{BASE}/mixed/search?q=ann") == []
    assert (await client.say("mixed", "bob 5", user_id="bob", agent_id="a"))["seq"] == 3


@pytest.mark.only("postgresql")
async def test_a_search_reads_its_own_configs_part_of_the_index_alone(
    client: Client, settings: ServiceSettings
) -> None:
    """However many messages of others have the word."""
    for name in ("large", "small"):
        await client.config(name, memory_type="buffer")
    await client.say("small", "a common needle", agent_id="a")
    many = "SELECT agentbreeder_turn($1, array_agg('i' || g), array_agg($2::text), 0, 0, -1, true) FROM generate_series(1, $3) g"
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute(many, "payments/large/a:s", '{"content":"a common needle"}', 20_000)
    await connection.execute("VACUUM ANALYZE agentbreeder_messages")  # what is new is in a list that everybody reads
    bounds = ("payments/small/", "payments/small0", None, "common needle", 20, 0)
    plan = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {postgres_sql.SEARCH}", *bounds)
    await connection.close()
    read = [int(n) for n in re.findall(r'"Node Type": "Bitmap Index Scan".*?"Actual Rows": (\d+)', plan, re.DOTALL)]
    assert max(read) == 1, plan
    assert len(await client.get(f"{BASE}/small/search?q=common")) == 1
    assert len(await client.get(f"{BASE}/large/search?q=common&limit=100")) == 100


async def test_what_has_expired_is_deleted_beside_later_messages(settings: ServiceSettings) -> None:
    store = message_store(settings)
    await store.connect()
    part, message = Part(prefix="t/c/"), ['{"id":"m","role":"user","content":"x","user_id":"ann"}']
    await store.append("t/c/a:old", ["m"], message, 1, 0)
    await asyncio.sleep(1.2)
    assert (await store.stats(part, 0)).sessions == 0
    store._swept = -1e9  # type: ignore[attr-defined]
    await store.append("t/c/a:new", ["m"], message, 60, 0)
    assert await store.forget(part, "ann", 0) == 1, "that of the new one, because the old one is gone"
    await store.close()
