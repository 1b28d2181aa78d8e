"""`HistoryProvider`: an ordered log of chat messages per session, and the key that names a session."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

ChatMessage: TypeAlias = Mapping[str, Any]
"""A JSON object with at least `role`; `content`, `tool_calls`, `tool_call_id`, `id` and whatever else are kept as they
are. `id` names the message: one without it is given one when it is stored."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+=-]{0,127}", re.ASCII)


class SessionKey(NamedTuple):
    """One conversation of one agent. Made with `session_key`, which checks its parts."""

    agent_type: str
    agent_key: str
    session_id: str

    @property
    def composed(self) -> str:
        """`agent_type:agent_key:session_id`; no part can hold a colon, so no two keys give the same text."""
        return f"{self.agent_type}:{self.agent_key}:{self.session_id}"


def session_key(agent_type: str, agent_key: str, session_id: str) -> SessionKey:
    """A checked key. Raises `ValueError` for a part that is not 1 to 128 letters, digits and `_.@+=-`, beginning with a
    letter or digit: anything else could reach into another session's name."""
    for name, part in (("agent_type", agent_type), ("agent_key", agent_key), ("session_id", session_id)):
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise ValueError(f"{name} must be 1 to 128 letters, digits or _.@+=- and begin with a letter or digit")
    return SessionKey(agent_type, agent_key, session_id)


@runtime_checkable
class HistoryProvider(Protocol):
    """Messages in the order in which they were appended. Every call may block on the network, and raises when the store
    cannot be reached: an empty list always means an empty history."""

    async def append(
        self, key: SessionKey, messages: ChatMessage | Sequence[ChatMessage], *, run_id: str | None = None
    ) -> list[str]:
        """Add one or many at the end, all or none, and return their ids. One that is there already (by id) is not added
        again. Raises `ValueError` for what is no JSON, before anything is written."""
        ...

    async def last(self, key: SessionKey, n: int) -> list[dict[str, Any]]:
        """The newest `n`, oldest first."""
        ...

    async def range(self, key: SessionKey, start: int, stop: int) -> list[dict[str, Any]]:
        """From position `start` (0 is the oldest kept) up to, not including, `stop`."""
        ...

    async def count(self, key: SessionKey) -> int:
        """How many are kept."""
        ...

    async def clear(self, key: SessionKey) -> None:
        """Forget the session."""
        ...

    async def clear_run(self, key: SessionKey, run_id: str) -> int:
        """Remove the messages of one run, while others append, and return how many there were."""
        ...

    async def refresh_ttl(self, key: SessionKey) -> None:
        """Let the session live for its whole TTL again; nothing where there is none."""
        ...
