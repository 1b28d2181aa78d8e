"""A `BaseChatMessageHistory` for LangChain."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from ..manager import MemoryManager, Message
from ..sync import SyncMemoryManager


class AgentBreederChatMessageHistory(BaseChatMessageHistory):
    """One conversation. The `a...` methods use `memory`, the others `sync_memory`; give those that you use.

    Raises `ValueError` for a method whose manager was not given, `StoreUnavailable` when the store is away.
    """

    def __init__(
        self,
        session_id: str,
        memory: MemoryManager | None = None,
        *,
        sync_memory: SyncMemoryManager | None = None,
        limit: int | None = None,
    ) -> None:
        self.session_id, self._limit = session_id, limit
        self._memory, self._sync_memory = memory, sync_memory

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The newest `limit`, all with None, oldest first."""
        return _restored(self._sync().load(self.session_id, self._limit))

    async def aget_messages(self) -> list[BaseMessage]:
        """The same."""
        return _restored(await self._async().load(self.session_id, self._limit))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """All or none."""
        self._sync().append(self.session_id, _kept(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """All or none."""
        await self._async().append(self.session_id, _kept(messages))

    def clear(self) -> None:
        """Forget it."""
        self._sync().clear(self.session_id)

    async def aclear(self) -> None:
        """Forget it."""
        await self._async().clear(self.session_id)

    def _sync(self) -> SyncMemoryManager:
        if self._sync_memory is None:
            raise ValueError("give sync_memory to use this history without await")
        return self._sync_memory

    def _async(self) -> MemoryManager:
        if self._memory is None:
            raise ValueError("give memory to use this history with await")
        return self._memory


def _kept(messages: Sequence[BaseMessage]) -> list[Message]:
    return [{"langchain": message_to_dict(m)} for m in messages]


def _restored(messages: list[Message]) -> list[BaseMessage]:
    return messages_from_dict([m["langchain"] for m in messages])
