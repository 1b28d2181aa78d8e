"""A `Session` for the OpenAI Agents SDK: `Runner.run(agent, text, session=AgentBreederSession("id", memory))`."""

from __future__ import annotations

from typing import Any

from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from ..manager import MemoryManager


class AgentBreederSession(SessionABC):
    """One conversation. Items come back byte for byte, whatever they hold: each is kept inside a message of ours, because
    the SDK gives some of them the same made-up id.

    Raises `StoreUnavailable` when the history cannot be read; it is never taken for an empty one.
    """

    def __init__(
        self, session_id: str, memory: MemoryManager, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The newest `limit`, oldest first; the session's own limit with None."""
        wanted = resolve_session_limit(limit, self.session_settings)
        if wanted is not None and wanted <= 0:
            return []
        return [m["item"] for m in await self._memory.load(self.session_id, wanted)]

    async def add_items(self, items: list[Any]) -> None:
        """All or none."""
        await self._memory.append(self.session_id, [{"item": dict(item)} for item in items])

    async def pop_item(self) -> Any:
        """The newest, taken away."""
        found = await self._memory.pop(self.session_id)
        return None if found is None else found["item"]

    async def clear_session(self) -> None:
        """Forget it."""
        await self._memory.clear(self.session_id)
