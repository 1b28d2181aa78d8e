"""What was made: record, file format, lock, stores."""

from __future__ import annotations

from .file_store import FileStateStore, SaveFailed
from .format import FORMAT_VERSION, decode, encode
from .record import AgentRecord, InfraState, Resource
from .store import StateStore

__all__ = [
    "FORMAT_VERSION",
    "AgentRecord",
    "FileStateStore",
    "InfraState",
    "Resource",
    "SaveFailed",
    "StateStore",
    "decode",
    "encode",
]
