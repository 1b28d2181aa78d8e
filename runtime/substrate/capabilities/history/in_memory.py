"""Conversations in this process: for development and tests. They are gone when the process ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel.codec import as_messages, loads, named
from ...kernel.lifecycle import Connected
from ...kernel.storage.history import ChatMessage, SessionKey

_Row = tuple[str, str | None, bytes]  # id, run, message


class InMemoryHistoryProvider(Connected):
    """See `HistoryProvider`. Keeps the newest `max_messages` of each session, all with None."""

    def __init__(self, max_messages: int | None = None) -> None:
        if max_messages is not None and max_messages < 1:
            raise ValueError("max_messages is at least 1, or None")
        self._max = max_messages
        self._rows: dict[str, list[_Row]] = {}

    async def connect(self) -> None:
        """There is nothing to reach."""

    async def disconnect(self) -> None:
        """What was said stays until the process ends."""

    async def append(
        self, key: SessionKey, messages: ChatMessage | Sequence[ChatMessage], *, run_id: str | None = None
    ) -> list[str]:
        """At the end, once per id."""
        ids, encoded = named(as_messages(messages))
        rows = self._rows.setdefault(key.composed, [])
        there = {row[0] for row in rows}
        rows += [(i, run_id, e) for i, e in zip(ids, encoded, strict=True) if i not in there]
        if self._max is not None:
            del rows[: -self._max]
        return ids

    async def last(self, key: SessionKey, n: int) -> list[dict[str, Any]]:
        """Copies."""
        return [loads(row[2]) for row in self._rows.get(key.composed, [])[-n:]] if n > 0 else []

    async def range(self, key: SessionKey, start: int, stop: int) -> list[dict[str, Any]]:
        """Copies."""
        return [loads(row[2]) for row in self._rows.get(key.composed, [])[max(0, start) : max(0, stop)]]

    async def count(self, key: SessionKey) -> int:
        """Of those kept."""
        return len(self._rows.get(key.composed, []))

    async def clear(self, key: SessionKey) -> None:
        """All of it."""
        self._rows.pop(key.composed, None)

    async def clear_run(self, key: SessionKey, run_id: str) -> int:
        """One run's."""
        rows = self._rows.get(key.composed, [])
        kept = [row for row in rows if row[1] != run_id]
        self._rows[key.composed] = kept
        return len(rows) - len(kept)

    async def refresh_ttl(self, key: SessionKey) -> None:
        """There is none."""
