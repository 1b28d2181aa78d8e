"""A process that appends numbered messages for ever and says each one that was acknowledged."""

from __future__ import annotations

import asyncio
import sys

from agentbreeder_memory import MemoryManager


async def main(session: str) -> None:
    async with MemoryManager() as manager:
        n = 0
        while True:
            await manager.append(session, [{"role": "user", "content": n}, {"role": "assistant", "content": n + 1}])
            sys.stdout.write(f"{n}\n")
            sys.stdout.flush()
            n += 2


asyncio.run(main(sys.argv[1]))
