"""Conversations."""

from .durable import DurableHistoryProvider
from .in_memory import InMemoryHistoryProvider
from .redis import RedisHistoryProvider

__all__ = ["DurableHistoryProvider", "InMemoryHistoryProvider", "RedisHistoryProvider"]
