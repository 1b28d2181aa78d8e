"""`SessionStore`: a small dict of state per session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SessionStore(Protocol):
    """State of sessions, a dict of JSON values each. Every call may block on the network."""

    async def get_state(self, session_id: str) -> dict[str, Any]:
        """The whole state, `{}` when there is none. Raises when it cannot be read: never `{}` instead."""
        ...

    async def set_state(self, session_id: str, state: Mapping[str, Any]) -> None:
        """Replace the whole state; an empty one leaves nothing behind."""
        ...

    async def update_state(self, session_id: str, changes: Mapping[str, Any]) -> None:
        """Set these fields and leave the others as they are."""
        ...

    async def clear(self, session_id: str) -> None:
        """Forget the session."""
        ...
