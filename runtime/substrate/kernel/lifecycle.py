"""Stores that are connected and disconnected, or used as an asynchronous context manager."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Connected:
    """`async with store:` connects, and disconnects whatever happens."""

    async def connect(self) -> None:
        """Reach the server."""
        raise NotImplementedError

    async def disconnect(self) -> None:
        """Let go of every connection."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.disconnect()
