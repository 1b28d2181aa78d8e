"""Memory configs over the API: their rules, and one clear error for each that is broken."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import BASE, Client, token

ADMIN = token("payments", "admin")


async def test_the_configs_of_the_description_are_made_as_printed(client: Client) -> None:
    made = [
        {"name": "support-memory", "backend_type": "postgresql", "memory_type": "buffer_window", "max_messages": 50},
        {
            "name": "team-shared-memory",
            "backend_type": "postgresql",
            "max_messages": 200,
            "scope": "team",
            "linked_agents": ["a"],
        },
        {"name": "user-history", "backend_type": "postgresql", "namespace_pattern": "{agent_id}:{user_id}"},
        {"name": "research-full-memory", "backend_type": "postgresql", "memory_type": "buffer"},
        {"name": "dev-memory", "backend_type": "in_memory", "max_messages": 20},
    ]
    for fields in made:
        shown = await client.config(**fields)
        assert {k: shown[k] for k in fields} == fields
        assert await client.get(f"{BASE}/{fields['name']}") == shown
        assert await client.get(f"{BASE}/{shown['id']}") == shown
    assert len(await client.get(BASE)) == 5
    plain = await client.config("plain")
    assert (plain["backend_type"], plain["memory_type"], plain["max_messages"]) == ("in_memory", "buffer_window", 100)
    assert (plain["ttl_seconds"], plain["scope"], plain["linked_agents"]) == (None, "agent", [])
    assert plain["namespace_pattern"] == "{agent_id}:{session_id}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x"}, "name"),
        ({"name": "-ab"}, "name"),
        ({"name": "a" * 64}, "name"),
        ({"name": "Ab"}, "name"),
        ({"name": "ab", "backend_type": "mysql"}, "backend_type"),
        ({"name": "ab", "max_messages": 0}, "max_messages"),
        ({"name": "ab", "max_messages": 100_001}, "max_messages"),
        ({"name": "ab", "ttl_seconds": 0}, "ttl_seconds"),
        ({"name": "ab", "namespace_pattern": ""}, "namespace_pattern"),
        ({"name": "ab", "namespace_pattern": "{nobody}"}, "namespace_pattern"),
        ({"name": "ab", "namespace_pattern": "{agent_id}-{session_id}"}, "namespace_pattern"),
        ({"name": "ab", "namespace_pattern": "{agent_id}:{agent_id}"}, "namespace_pattern"),
        ({"name": "ab", "scope": "world"}, "scope"),
        ({"name": "ab", "linked_agents": ["a b"]}, "linked_agents.0"),
        ({"name": "ab", "surprise": 1}, "surprise"),
        ({"name": "ab", "memory_type": "buffer", "max_messages": 5}, None),
        ({}, "name"),
    ],
)
async def test_a_rule_that_is_broken_is_named_with_its_field(
    client: Client, body: dict[str, Any], field: str | None
) -> None:
    answer = await client.ask("POST", BASE, ADMIN, json=body)
    assert answer.status_code == 422
    assert [e["field"] for e in answer.json()["errors"]] == [field]
    assert await client.get(BASE) == []


async def test_a_change_keeps_the_rest_and_the_rules_hold_for_the_whole(client: Client) -> None:
    await client.config("abc", max_messages=5)
    url = f"{BASE}/abc"
    answer = await client.ask("PATCH", url, ADMIN, json={"ttl_seconds": 60, "linked_agents": ["x"]})
    changed = answer.json()["data"]
    assert (changed["ttl_seconds"], changed["linked_agents"], changed["max_messages"]) == (60, ["x"], 5)
    assert (await client.ask("PATCH", url, ADMIN, json={"ttl_seconds": None})).json()["data"]["ttl_seconds"] is None
    assert (await client.ask("PATCH", url, ADMIN, json={"memory_type": "buffer"})).json()["data"][
        "max_messages"
    ] is None
    assert (await client.ask("PATCH", url, ADMIN, json={"max_messages": 7})).status_code == 422
    assert (await client.ask("PATCH", url, ADMIN, json={"name": "another"})).status_code == 422
    await client.say("abc", "x")
    answer = await client.ask("PATCH", url, ADMIN, json={"scope": "team"})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "not_empty")
    answer = await client.ask("DELETE", url, ADMIN)
    assert answer.json()["data"] == {"deleted_messages": 1}
    assert (await client.ask("GET", url, ADMIN)).status_code == 404
    await client.config("abc")
    assert await client.get(f"{url}/messages?session_id=s") == []


async def test_what_is_no_request_of_ours_gets_a_clear_4xx(client: Client) -> None:
    await client.config("abc")
    url = f"{BASE}/abc/messages"
    cases: list[tuple[str, str, dict[str, Any], int, str]] = [
        ("POST", url, {"content": b"{"}, 422, "invalid_json"),
        ("POST", url, {"content": b"[1"}, 422, "invalid_json"),
        ("POST", url, {"content": b"\xff\xfe"}, 422, "invalid_json"),
        ("POST", url, {"json": {"session_id": "", "role": "user", "content": "x"}}, 422, "invalid"),
        ("POST", url, {"json": {"session_id": "s", "role": "User!", "content": "x"}}, 422, "invalid"),
        ("POST", url, {"json": {"session_id": "s", "role": "user", "content": 1}}, 422, "invalid"),
        ("POST", url, {"json": {"session_id": "s", "role": "user", "content": "x" * 1_100_000}}, 422, "too_long"),
        ("POST", url, {"json": {"session_id": "s", "role": "user", "content": "x" * 5_000_000}}, 413, "too_large"),
        ("POST", f"{url}:batch", {"json": {"messages": []}}, 422, "invalid"),
        ("GET", url, {}, 422, "invalid"),
        ("GET", f"{url}?session_id=s&limit=1001", {}, 422, "invalid"),
        ("GET", f"{url}?session_id=s&before=x", {}, 422, "invalid"),
        ("GET", f"{BASE}/abc/sessions?cursor=%00", {}, 400, "bad_cursor"),
        ("GET", f"{BASE}/abc/search", {}, 422, "invalid"),
        ("GET", f"{BASE}/no%20such", {}, 404, "not_found"),
        ("GET", f"{BASE}/%00", {}, 404, "not_found"),
        ("GET", "/nowhere", {}, 404, "not_found"),
        ("PUT", BASE, {}, 405, "method_not_allowed"),
    ]
    for method, path, more, status, code in cases:
        answer = await client.ask(method, path, ADMIN, headers={"Content-Type": "application/json"}, **more)
        codes = [e["code"] for e in answer.json()["errors"]][:1]
        assert (answer.status_code, codes) == (status, [code]), (method, path)
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    answer = await client.ask("POST", url, ADMIN, json={"session_id": "s", "role": "user", "content": [deep]})
    assert answer.status_code == 422
    assert await client.get(f"{url}?session_id=s") == []


async def test_health_readiness_metrics_and_the_schema_need_no_token(client: Client) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await client.ask("GET", path)).status_code == 200
    await client.config("abc")
    metrics = await client.http.get("/metrics")
    assert 'route="/api/v1/memory/configs"' in metrics.text
    schema = (await client.http.get("/openapi.json")).json()
    assert "/api/v1/memory/configs/{config}/messages:batch" in schema["paths"]
