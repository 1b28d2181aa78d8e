"""State of sessions in this process: for development and tests. It is gone when the process ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...kernel.codec import dumps, loads
from ...kernel.lifecycle import Connected
from ...kernel.storage.memory import checked_state


class InMemorySessionStore(Connected):
    """See `SessionStore`. What goes in is copied as JSON, so that it behaves as the others do."""

    def __init__(self) -> None:
        self._states: dict[str, dict[str, bytes]] = {}

    async def connect(self) -> None:
        """Nothing to reach."""

    async def disconnect(self) -> None:
        """What is there stays."""

    async def get_state(self, session_id: str) -> dict[str, Any]:
        """A copy."""
        return {k: loads(v) for k, v in self._states.get(session_id, {}).items()}

    async def set_state(self, session_id: str, state: Mapping[str, Any]) -> None:
        """Replace."""
        checked_state(session_id, state)
        encoded = {k: dumps(v) for k, v in state.items()}
        self._states.pop(session_id, None)
        if encoded:
            self._states[session_id] = encoded

    async def update_state(self, session_id: str, changes: Mapping[str, Any]) -> None:
        """Merge."""
        checked_state(session_id, changes)
        encoded = {k: dumps(v) for k, v in changes.items()}
        if encoded:
            self._states.setdefault(session_id, {}).update(encoded)

    async def create_state(self, session_id: str, state: Mapping[str, Any]) -> bool:
        """Keep it unless there is one; whether it was kept."""
        if self._states.get(session_id):
            return False
        await self.set_state(session_id, state)
        return True

    async def refresh_ttl(self, session_id: str) -> None:
        """There is none."""

    async def remove(self, session_id: str, fields: Sequence[str]) -> None:
        """Take fields away."""
        for field in fields:
            self._states.get(session_id, {}).pop(field, None)

    async def clear(self, session_id: str) -> None:
        """Forget."""
        self._states.pop(session_id, None)
