"""The session store that fits a manager's settings: beside the log of messages, for what a framework keeps per session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from substrate.connect.errors import StoreMisconfigured
from substrate.kernel.storage import SessionStore

from .settings import MemorySettings


class FieldStore(SessionStore, Protocol):
    """A `SessionStore` whose fields can be taken away one by one."""

    async def create_state(self, session_id: str, state: Mapping[str, Any]) -> bool:
        """Keep it unless there is one; whether it was kept."""
        ...

    async def refresh_ttl(self, session_id: str) -> None:
        """Use renews the life."""
        ...

    async def remove(self, session_id: str, fields: Sequence[str]) -> None:
        """Take fields away; those that are not there do no harm."""
        ...

    async def connect(self) -> None:
        """Reach the server."""
        ...

    async def disconnect(self) -> None:
        """Let go of every connection."""
        ...


def state_store(settings: MemorySettings) -> FieldStore:
    """Not connected yet. Raises `StoreMisconfigured` for `MEMORY_BACKEND=none`, which keeps nothing."""
    ttl = settings.ttl_s or None
    if settings.backend == "redis":
        from substrate.capabilities.memory import RedisSessionStore

        return RedisSessionStore(settings.url, ttl, ca_pem=settings.redis_ca_pem)
    if settings.backend == "postgresql":
        from substrate.capabilities.memory import DurableSessionStore

        return DurableSessionStore(settings.url, ttl, instance=settings.cloud_sql)
    if settings.backend == "in_memory":
        from substrate.capabilities.memory import InMemorySessionStore

        return InMemorySessionStore()
    raise StoreMisconfigured("MEMORY_BACKEND is none, so there is nowhere to keep a session's state")
