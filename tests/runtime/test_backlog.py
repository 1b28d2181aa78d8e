"""`MEMORY_ON_OUTAGE=continue`: what waits, beside reads, replacements and messages that the store refuses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from agentbreeder_memory import MemoryManager, MemorySettings, StoreUnavailable
from agentbreeder_memory.outage import Backlog
from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer
from substrate.connect.errors import StoreRefused


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as made:
        yield made


def manager_of(server: RedisServer | PostgresServer) -> MemoryManager:
    backend = "redis" if isinstance(server, RedisServer) else "postgresql"
    url = server.url if isinstance(server, RedisServer) else server.url()
    manager = MemoryManager(MemorySettings(backend=backend, agent="a", url=url, on_outage="continue"))  # type: ignore[arg-type]
    manager._backlog = Backlog(manager._log, retry_every_s=3600)
    return manager


async def test_reads_and_pops_see_what_waited_and_a_replaced_or_cleared_session_has_nothing_waiting(
    server: RedisServer,
) -> None:
    async with manager_of(server) as memory:
        await memory.append("read", {"n": 1})
        server.kill()
        await memory.append("read", {"n": 2})
        for session in ("cleared", "replaced", "popped"):
            await memory.append(session, {"n": 3})
        with pytest.raises(StoreUnavailable, match="wait for it"):
            await memory.turn("turned", {"n": 4})
        server.start()
        await memory.clear("cleared")
        await memory.replace("replaced", {"n": 5})
        assert (await memory.health()).buffered == 3
        assert [m["n"] for m in await memory.load("read")][-1:] == [2]
        assert (await memory.pop("popped") or {})["n"] == 3
        assert [m["n"] for m in await memory.load("replaced")] == [5]
        assert await memory.load("cleared") == []
        assert [m["n"] for m in await memory.turn("turned", {"n": 6})] == [4, 6]
        assert (await memory.health()).buffered == 0


async def test_a_message_that_the_store_will_never_take_is_lost_alone_and_said(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with manager_of(server) as memory:
        await memory.append("good", {"n": 1})
        backlog = memory._backlog
        assert backlog is not None
        server.kill()
        backlog._bound = 10_000
        backlog._keep(("a:good", ["a"], [b'{"n":2}']))
        # More than Redis takes at once.
        backlog._keep(("a:good", [f"i{n}" for n in range(2001)], [b'{"n":3}'] * 2001))
        await memory.append("good", {"n": 4})
        server.start()
        with caplog.at_level(logging.WARNING):
            assert [m["n"] for m in await memory.load("good")][-2:] == [2, 4]
        assert "2001 messages that waited are refused and lost" in caplog.text
        health = await memory.health()
        assert (health.buffered, health.dropped) == (0, 2001)


async def test_a_store_that_is_read_only_for_a_while_keeps_them_waiting(server: RedisServer) -> None:
    import redis

    async with manager_of(server) as memory:
        await memory.append("s", {"n": 1})
        server.kill()
        await memory.append("s", {"n": 2})
        server.start()
        with redis.Redis(port=server.port) as client:
            client.config_set("maxmemory", 1)
            with pytest.raises(StoreRefused):
                await memory._log.append("t", ["x"], [b"{}"])
            with pytest.raises(StoreUnavailable, match="wait"):
                await memory.load("s")
            client.config_set("maxmemory", 0)
        assert [m["n"] for m in await memory.load("s")][-1:] == [2]


async def test_a_turn_that_is_saved_while_the_store_is_away_waits_for_it(server: RedisServer) -> None:
    async with manager_of(server) as memory:
        talk = [{"n": 1}]
        await memory.save("s", talk)
        server.kill()
        talk.append({"n": 2})
        await memory.save("s", talk)
        server.start()
        await memory.save("s", talk)
        assert [m["n"] for m in await memory.load("s")][-1:] == [2]
        assert len({m["id"] for m in talk}) == 2


async def test_a_pop_waits_for_a_server_that_restarts_because_nothing_was_sent(server: RedisServer) -> None:
    async with manager_of(server) as memory:
        server.kill()
        await asyncio.sleep(0.1)  # the end of the old connection is noticed
        starting = asyncio.get_running_loop().run_in_executor(None, server.start)
        assert await memory.pop("s") is None
        await starting
