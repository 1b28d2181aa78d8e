"""Session state and long-term memories."""

from .durable import DurableMemoryStore, Memory
from .durable_state import DurableSessionStore
from .in_memory import InMemorySessionStore
from .redis import RedisSessionStore

__all__ = ["DurableMemoryStore", "DurableSessionStore", "InMemorySessionStore", "Memory", "RedisSessionStore"]
