"""What goes into the model's prompt: the newest messages within a budget, and never a tool's result without its call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .kernel.storage.history import HistoryProvider, SessionKey

Messages = list[dict[str, Any]]
CountTokens = Callable[[Mapping[str, Any]], int]
Compact = Callable[[Messages], Awaitable[Messages]]
_CHARACTERS_PER_TOKEN = 4
_LOOK_BACK = 64  # messages more than asked for, in which the call of a cut result is looked for


def estimated_tokens(message: Mapping[str, Any]) -> int:
    """A quarter of the characters of all its texts, at least 1: for budgets, not for bills."""
    return max(1, _characters(message) // _CHARACTERS_PER_TOKEN)


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_characters(k) + _characters(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return sum(_characters(v) for v in value)
    return len(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextConfig:
    """How a prompt is put together.

    `last` messages at most, of at most `max_tokens` by `count_tokens`; the newest message, with its call and the other
    results where it is a tool's, is there in any case. `compact` is given all that does not fit, oldest first, and its answer
    (a summary, say) stands in front; it counts against the budget, and is asked for anew when it leaves no room for something.
    """

    history_provider: HistoryProvider
    last: int = 50
    max_tokens: int | None = None
    count_tokens: CountTokens = estimated_tokens
    compact: Compact | None = None

    def __post_init__(self) -> None:
        if self.last < 1 or (self.max_tokens is not None and self.max_tokens < 1):
            raise ValueError("last and max_tokens are at least 1")


class ContextAssembler:
    """Reads a conversation and gives the part of it that fits."""

    def __init__(self, config: ContextConfig) -> None:
        self._config = config

    async def assemble(self, key: SessionKey) -> Messages:
        """The newest messages that fit, oldest first. Raises when the history cannot be read.

        A tool's result and its call are kept or dropped together, also where one call asked for several tools.
        """
        c = self._config
        wanted = c.last + _LOOK_BACK
        if c.compact is not None:
            wanted = max(wanted, await c.history_provider.count(key))
        groups = grouped(await c.history_provider.last(key, wanted))
        kept = self._fitting(groups, c.max_tokens)
        summary: Messages = []
        while c.compact is not None and len(kept) < len(groups):
            summary = await c.compact([m for group in groups[: len(groups) - len(kept)] for m in group])
            room = None if c.max_tokens is None else c.max_tokens - self._tokens(summary)
            fewer = self._fitting(kept, room)
            if len(fewer) == len(kept):
                break
            kept = fewer
        return [*summary, *(m for group in kept for m in group)]

    def _fitting(self, groups: Sequence[Messages], room: int | None) -> list[Messages]:
        """The newest groups within the number and the room, one at least."""
        count = tokens = 0
        for taken, group in enumerate(reversed(groups)):
            count += len(group)
            tokens += self._tokens(group)
            if taken and (count > self._config.last or (room is not None and tokens > room)):
                return list(groups[len(groups) - taken :])
        return list(groups)

    def _tokens(self, messages: Sequence[Mapping[str, Any]]) -> int:
        return sum(self._config.count_tokens(m) for m in messages)


def grouped(messages: Sequence[dict[str, Any]]) -> list[Messages]:
    """The messages in groups that must not be parted: an assistant's calls with all their results, or one message.

    A result whose call is not among them, and calls whose results are not all there, are left out: a model refuses both.
    """
    groups: list[Messages] = []
    waiting: set[str] = set()
    for message in messages:
        calls = _calls(message)
        if calls:
            if waiting:
                groups.pop()
            groups.append([message])
            waiting = set(calls)
        elif message.get("role") == "tool":
            if groups and _answers(message) in waiting:
                groups[-1].append(message)
                waiting.discard(_answers(message))
        else:
            if waiting:
                groups.pop()
            waiting = set()
            groups.append([message])
    if waiting and groups and len(groups[-1]) > 1:
        groups.pop()  # some results are there, others not
    return groups


def _calls(message: Mapping[str, Any]) -> list[str]:
    """The ids of the tool calls in a message."""
    calls = message.get("tool_calls")
    return [str(c.get("id", "")) for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []


def _answers(message: Mapping[str, Any]) -> str:
    """The id of the call that a message answers, "" when it answers none."""
    return str(message.get("tool_call_id") or "") if message.get("role") == "tool" else ""
