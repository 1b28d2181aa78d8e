"""A very small agent: tells what it remembers, keeps what it hears. Run by the demo through `agentbreeder run`."""

from __future__ import annotations

import asyncio
import sys

from agentbreeder_memory import MemoryManager

SESSION = "demo"
KEPT = "kept"


async def talk(text: str) -> None:
    """Print what was said before, keep `text` and an answer, print `KEPT` once the store has them."""
    async with MemoryManager() as memory:
        before = await memory.load(SESSION)
        heard = [m["content"] for m in before if m["role"] == "user"]
        answer = f"You said: {'; '.join(heard)}." if heard else "Hello. I know nothing yet."
        sys.stdout.write(f"user:   {text}\nagent:  {answer}\n")
        await memory.append(SESSION, [{"role": "user", "content": text}, {"role": "assistant", "content": answer}])
        sys.stdout.write(f"{KEPT}\n")
        sys.stdout.flush()
        if "--wait" in sys.argv:
            await asyncio.sleep(3600.0)


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1]))
