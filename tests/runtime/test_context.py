"""The prompt: the newest messages that fit, and tool calls with their results or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrate.capabilities.history import InMemoryHistoryProvider
from substrate.context import ContextAssembler, ContextConfig, estimated_tokens, grouped
from substrate.kernel.storage.history import session_key

KEY = session_key("support", "care", "s1")


def user(n: int) -> dict[str, Any]:
    return {"role": "user", "content": f"message {n}"}


def call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": i, "function": {"name": "f"}} for i in ids]}


def result(of: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "done"}


async def assembled(messages: list[dict[str, Any]], **config: Any) -> list[dict[str, Any]]:
    provider = InMemoryHistoryProvider()
    await provider.append(KEY, messages)
    found = await ContextAssembler(ContextConfig(history_provider=provider, **config)).assemble(KEY)
    return [{k: v for k, v in m.items() if k != "id"} for m in found]


async def test_the_last_messages_are_taken() -> None:
    assert await assembled([user(n) for n in range(9)], last=3) == [user(6), user(7), user(8)]


async def test_a_result_is_never_without_its_call() -> None:
    talk = [user(1), call("a", "b"), result("a"), result("b"), user(2)]
    assert await assembled(talk, last=3) == [user(2)]
    assert await assembled(talk, last=4) == talk[1:]
    assert await assembled(talk, last=50) == talk


async def test_a_call_at_the_end_waits_for_its_result_and_one_half_answered_is_left_out() -> None:
    assert await assembled([user(1), call("a")]) == [user(1), call("a")]
    assert await assembled([user(1), call("a", "b"), result("b")]) == [user(1)]
    assert await assembled([user(1), call("a"), user(2)]) == [user(1), user(2)]
    assert await assembled([result("lost"), user(1)]) == [user(1)]


async def test_the_budget_of_tokens_holds() -> None:
    talk = [{"role": "user", "content": "x" * 400} for _ in range(10)]
    budget = 3 * estimated_tokens({**talk[0], "id": "0" * 32})
    assert len(await assembled(talk, max_tokens=budget)) == 3


async def test_what_does_not_fit_is_compacted_and_stands_in_front() -> None:
    async def compact(dropped: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"role": "system", "content": f"{len(dropped)} messages before"}]

    found = await assembled([user(n) for n in range(10)], last=4, compact=compact)
    assert found[0] == {"role": "system", "content": "6 messages before"}
    assert found[1:] == [user(n) for n in range(6, 10)]


async def test_everything_that_is_not_in_the_prompt_is_in_the_summary() -> None:
    seen: list[list[Any]] = []

    async def compact(dropped: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append([m["content"] for m in dropped])
        return [{"role": "system", "content": "s" * 400}]

    talk = [user(n) for n in range(500)]
    found = await assembled(talk, last=20, max_tokens=400, compact=compact)
    assert [*seen[-1], *(m["content"] for m in found[1:])] == [m["content"] for m in talk]
    assert len(found) > 2


async def test_the_newest_is_there_however_large_it_is() -> None:
    large = [call("a", "b"), {**result("a"), "content": "x" * 20_000}, result("b")]
    assert await assembled([user(1), *large], last=2, max_tokens=10) == large
    assert await assembled([user(1), {"role": "tool", "content": "of nobody"}]) == [user(1)]


IDS = st.sampled_from("abc")
CALLS = st.lists(IDS, min_size=1, max_size=3, unique=True).map(lambda ids: call(*ids))
ANY = st.lists(st.integers(0, 9).map(user) | CALLS | IDS.map(result), max_size=20)


@given(messages=ANY)
def test_no_group_ever_holds_a_result_without_its_call_or_half_of_the_results(messages: list[dict[str, Any]]) -> None:
    groups = grouped(messages)
    for index, group in enumerate(groups):
        asked = {c["id"] for c in group[0].get("tool_calls") or []}
        answered = [m["tool_call_id"] for m in group[1:]]
        assert set(answered) <= asked
        assert len(answered) == len(set(answered))
        if asked and index < len(groups) - 1:
            assert set(answered) == asked


@pytest.mark.parametrize("bad", [{"last": 0}, {"max_tokens": 0}])
def test_a_budget_of_nothing_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ContextConfig(history_provider=InMemoryHistoryProvider(), **bad)  # type: ignore[arg-type]
