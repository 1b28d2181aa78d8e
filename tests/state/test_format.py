"""The format: strict, stable bytes, and every release of it stays readable."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbreeder_core.errors import StateError
from agentbreeder_state import AgentRecord, InfraState, Resource, decode, encode, reading
from agentbreeder_state.json_text import json_text

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "state").glob("v*.json"))
GOOD: dict[str, Any] = json.loads(FIXTURES[0].read_bytes())

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda p: p.stem)
def test_every_format_ever_released_is_read_and_the_current_one_written_back_to_the_same_bytes(fixture: Path) -> None:
    data = fixture.read_bytes()
    state = decode(data, location="x")
    assert state.agents
    if fixture.stem == "v1":
        assert encode(state) == data


@given(JSON)
def test_json_is_written_exactly_as_the_standard_library_does(value: Any) -> None:
    assert json_text(value) == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


def test_every_field_of_every_record_has_a_check() -> None:
    for record, checks in (
        (InfraState, reading._STATE),
        (AgentRecord, reading._AGENT),
        (Resource, reading._RESOURCE),
    ):
        assert {f.name for f in fields(record)} == set(checks), record


def _resource(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda d: d["agents"]["a"]["resources"][0].update(changes)


def _agent(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda d: d["agents"]["a"].update(changes)


def _file(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda d: d.update(changes)


WRONG: dict[str, Callable[[dict[str, Any]], None]] = {
    "agents must be an object, not a list": _file(agents=[]),
    "agents must be an object, not null": _file(agents=None),
    "serial must be a whole number": _file(serial=True),
    "serial must be a whole number, 0 or more": _file(serial=-1),
    "lineage must not be empty": _file(lineage=""),
    "tool_version must be a text, not null": _file(tool_version=None),
    "agents.a is recorded under another name, 'b'": _agent(agent="b"),
    "agents.a.env must be a text, not a number": _agent(env={"A": 1}),
    "agents.a.secret_env must be an object, not a text": _agent(secret_env={"A": "x"}),
    "agents.a.kept must be a list, not a text": _agent(kept="abc"),
    "agents.a.resources must be a list, not an object": _agent(resources={}),
    "agents.a.resources[0] must be an object, not null": _agent(resources=[None]),
    "agents.a.resources[0].needs must be a list, not a text": _resource(needs="abc"),
    "agents.a.resources[0].unused must be true or false, not a text": _resource(unused="no"),
    "agents.a.resources[0].step_id must not be empty": _resource(step_id=""),
    "agents.a.resources[0].phase is an unknown phase, 'done'": _resource(phase="done"),
    "agents.a.resources[0].ownership must be owned or adopted": _resource(ownership=[]),
    "agents.a.resources[0].created_at must be an ISO time or null": _resource(created_at=5),
    "agents.a.resources[0].updated_at is a time without a zone": _resource(updated_at="2026-01-01T00:00:00"),
    "agents.a.resources[0] has fields this version does not know: extra": _resource(extra=1),
    "agents.a lacks team": lambda d: d["agents"]["a"].pop("team"),
}


@pytest.mark.parametrize("reason", WRONG)
def test_a_field_of_the_wrong_kind_is_refused_with_its_place(reason: str) -> None:
    document = copy.deepcopy(GOOD)
    WRONG[reason](document)
    with pytest.raises(StateError) as caught:
        decode(json.dumps(document).encode(), location="/x/infra-state.json")
    assert "/x/infra-state.json" in caught.value.detail
    assert reason in caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"agents": NaN}', "NaN"),
        (b'{"agents": 1e999}', "1e999"),
        (b'{"a":' * 100_000, "too deeply"),
        (b'{"agents": ' + b"9" * 10_000 + b"}", "4300"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'"text"', "not a state"),
        (json.dumps(GOOD).encode() + b"\0" * 20, "not complete JSON"),
        (b'{\r\n=======\r\n"a": 1}', "line 2"),
        (b'{\n"a": 1\n>>>>>>> main\n}', "line 3"),
    ],
)
def test_what_no_save_has_written_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(StateError) as caught:
        decode(data, location="/x")
    assert reason in caught.value.detail


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything_but_a_state_error(data: bytes) -> None:
    with pytest.raises(StateError):
        decode(data, location="/x")


@given(JSON)
def test_no_json_in_place_of_the_agents_raises_anything_but_a_state_error(value: Any) -> None:
    data = json.dumps({**GOOD, "agents": {"a": value}}).encode()
    with pytest.raises(StateError):
        decode(data, location="/x")


def test_a_file_name_that_is_not_utf8_survives_a_save() -> None:
    record = replace(decode(FIXTURES[0].read_bytes(), location="x").agents["a"], source="agent-\udcff.yaml")
    state = InfraState(lineage="l", serial=1, tool_version="x").with_agent(record)
    assert decode(encode(state), location="x") == state


def test_times_are_written_in_utc_and_one_without_a_zone_is_refused() -> None:
    record = replace(decode(FIXTURES[0].read_bytes(), location="x").agents["a"], resources=())
    there = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    state = InfraState(lineage="l", serial=1, tool_version="x")
    assert b'"2026-01-01T00:00:00+00:00"' in encode(state.with_agent(replace(record, updated_at=there)))
    with pytest.raises(ValueError, match="zone"):
        encode(state.with_agent(replace(record, updated_at=there.replace(tzinfo=None))))
    assert decode(encode(state.with_agent(replace(record, updated_at=there))), location="x").agents["a"].updated_at == (
        datetime(2026, 1, 1, tzinfo=UTC)
    )


@pytest.mark.parametrize("value", [{1: 2}, {"a": {3}}, {"a": b"x"}, {"a": object()}])
def test_a_value_json_has_no_word_for_is_a_fault_of_ours(value: dict[Any, Any]) -> None:
    with pytest.raises(TypeError):
        json_text(value)
