"""The protocols of the stores."""

from .history import ChatMessage, HistoryProvider, SessionKey
from .memory import SessionStore

__all__ = ["ChatMessage", "HistoryProvider", "SessionKey", "SessionStore"]
