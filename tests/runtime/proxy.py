"""A TCP proxy in front of a store that cuts the connection when an answer is due, or leads elsewhere from now on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Proxy:
    """`target` is where new connections lead; the next request that holds `cut_on` is carried out and never answered."""

    def __init__(self, target: int) -> None:
        self.target, self.port, self.cut_on = target, 0, b""

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        cut = asyncio.Event()
        answers = asyncio.create_task(self._answers(there, writer, cut))
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self.cut_on and self.cut_on in data:
                    self.cut_on = b""
                    cut.set()
                back.write(data)
        back.close()
        await answers

    async def _answers(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await there.read(65536):
                if cut.is_set():
                    break
                writer.write(data)
        writer.close()


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy to a port of this machine."""
    made = Proxy(port)
    server = await asyncio.start_server(made.meet, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
