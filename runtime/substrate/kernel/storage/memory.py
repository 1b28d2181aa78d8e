"""`SessionStore`: a small dict of state per session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from ..codec import to_storable

MAX_NAMES = 2_600
"""Bytes: an index of PostgreSQL holds no more."""


def checked_state(session_id: str, state: Mapping[str, Any]) -> None:
    """Raises `ValueError` for what not every store could give back: a name that is no text, or too long."""
    if not isinstance(session_id, str) or not session_id:
        raise ValueError("session_id is a text and not empty")
    if not isinstance(state, Mapping):
        raise ValueError(f"a session's state is a dict, not {type(state).__name__}")
    longest = 0
    for field in state:
        if not isinstance(field, str):
            raise ValueError(f"a field of a session's state is named by a text, not by {type(field).__name__}")
        longest = max(longest, len(field) if field.isascii() else _bytes(field))
    if longest + _bytes(session_id) > MAX_NAMES:
        raise ValueError(f"session_id and the name of a field have at most {MAX_NAMES} bytes together")


def _bytes(name: str) -> int:
    return len(to_storable(name).encode())


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
