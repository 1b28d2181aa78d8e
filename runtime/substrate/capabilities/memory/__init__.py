"""Session state and long-term memories."""

from .durable import DurableMemoryStore, Memory
from .in_memory import InMemorySessionStore
from .redis import RedisSessionStore

__all__ = ["DurableMemoryStore", "InMemorySessionStore", "Memory", "RedisSessionStore"]
