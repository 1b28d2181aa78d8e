"""Killed writers, killed servers, cut connections: what was acknowledged is there, once, in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import redis.asyncio

from agentbreeder_memory import MemoryManager, MemorySettings, StoreUnavailable
from agentbreeder_memory.outage import Backlog
from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer

Server = RedisServer | PostgresServer
BACKENDS = ["redis", "postgresql"]


@pytest.fixture
def server(request: pytest.FixtureRequest, backend: str) -> Iterator[Server]:
    """A server of the test's own, with the durability that the product asks for."""
    with ExitStack() as stack:
        made: Server = RedisServer() if backend == "redis" else PostgresServer()
        stack.enter_context(made)
        yield made


def url_of(server: Server) -> str:
    return server.url if isinstance(server, RedisServer) else server.url()


def settings_of(server: Server, backend: str, **more: Any) -> MemorySettings:
    kept = {"max_messages": 0, "memory_type": "buffer", **more}
    return MemorySettings(backend=backend, agent="bot", url=url_of(server), **kept)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("after", [1, 40, 150])
async def test_a_writer_that_is_killed_leaves_every_acknowledged_message_once_and_in_order(
    server: Server, backend: str, after: int
) -> None:
    name = "REDIS_URL" if backend == "redis" else "DATABASE_URL"
    environ = {
        **{"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
        **{"MEMORY_BACKEND": backend, name: url_of(server), "AGENT_NAME": "bot", "MEMORY_TYPE": "buffer"},
    }
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("writer_child.py")), "s"], env=environ, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    acknowledged = [int(child.stdout.readline()) for _ in range(after)]
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate()
    acknowledged += [int(line) for line in rest.split()]
    async with MemoryManager(settings_of(server, backend)) as manager:
        found = [m["content"] for m in await manager.load("s")]
    assert found == list(range(len(found))), "in order, once, and never half an append"
    assert len(found) in (acknowledged[-1] + 2, acknowledged[-1] + 4), "at most the one that was under way is more"


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_that_is_killed_in_the_middle_of_appends_loses_nothing_that_it_acknowledged(
    server: Server, backend: str
) -> None:
    acknowledged: list[str] = []
    stop = asyncio.Event()

    async def write(manager: MemoryManager, writer: int) -> None:
        n = 0
        while not stop.is_set():
            ids = [f"{writer}-{n}", f"{writer}-{n + 1}"]
            try:
                await manager.append("s", [{"id": i, "role": "user", "content": i} for i in ids])
            except StoreUnavailable:
                continue  # the same ids again: they are stored once
            acknowledged.extend(ids)
            n += 2

    async with MemoryManager(settings_of(server, backend)) as manager:
        writers = [asyncio.create_task(write(manager, w)) for w in range(8)]
        for _ in range(3):
            await asyncio.sleep(0.25)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(0.1)
            await asyncio.to_thread(server.start)
        await asyncio.sleep(0.25)
        stop.set()
        await asyncio.gather(*writers)
        found = [m["id"] for m in await manager.load("s")]
    assert len(acknowledged) > 50
    assert len(found) == len(set(found)), "once"
    assert set(acknowledged) <= set(found)
    for writer in range(8):
        numbers = [int(i.partition("-")[2]) for i in found if i.startswith(f"{writer}-")]
        assert numbers == sorted(numbers), "each writer's in its order"


@pytest.mark.parametrize("backend", BACKENDS)
async def test_connections_that_are_cut_between_two_turns_are_not_noticed(server: Server, backend: str) -> None:
    async with MemoryManager(settings_of(server, backend)) as manager:
        for n in range(5):
            await manager.append("s", {"role": "user", "content": n})
            await cut_all(server)
            found = await manager.load("s")
            assert [m["content"] for m in found] == list(range(n + 1))
            await cut_all(server)
        await asyncio.sleep(0.05)  # the ends have come in
        assert (await manager.pop("s") or {})["content"] == 4
        await cut_all(server)
        await asyncio.sleep(0.05)
        await manager.replace("s", {"role": "user", "content": 9})
        await cut_all(server)
        await asyncio.sleep(0.05)
        await manager.clear("s")
        assert await manager.load("s") == []


async def cut_all(server: Server) -> None:
    if isinstance(server, RedisServer):
        client = redis.asyncio.Redis.from_url(server.url)
        await client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        await client.aclose()
        return
    connection = await asyncpg.connect(server.url())
    await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    await connection.close()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_history_that_cannot_be_read_is_an_error_and_never_an_empty_one(server: Server, backend: str) -> None:
    async with MemoryManager(settings_of(server, backend)) as manager:
        await manager.append("s", {"role": "user", "content": "precious"})
        server.kill()
        with pytest.raises(StoreUnavailable):
            await manager.load("s")
        with pytest.raises(StoreUnavailable):
            await manager.replace("s", {"role": "user"})
        assert not (await manager.health()).ok
        server.start()
        assert [m["content"] for m in await manager.load("s")] == ["precious"]


@pytest.mark.parametrize("backend", BACKENDS)
async def test_with_continue_what_was_said_during_an_outage_is_written_in_order_when_the_store_is_back(
    server: Server, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with MemoryManager(settings_of(server, backend, on_outage="continue")) as manager:
        manager._backlog = Backlog(manager._log, bound=10, retry_every_s=0.1)
        await manager.append("s", {"role": "user", "content": 0})
        server.kill()
        with caplog.at_level(logging.WARNING):
            for n in range(1, 14):
                await manager.append("s", {"role": "user", "content": n})
        health = await manager.health()
        assert (health.ok, health.buffered, health.dropped) == (False, 10, 3)
        assert len(caplog.records) == 1, "said once a minute"
        with pytest.raises(StoreUnavailable):
            await manager.load("s")
        server.start()
        for _ in range(100):
            if not (await manager.health()).buffered:
                break
            await asyncio.sleep(0.1)
        await manager.append("s", {"role": "user", "content": "after"})
        assert [m["content"] for m in await manager.load("s")] == [*range(11), "after"]


@pytest.mark.parametrize("backend", ["postgresql"])
async def test_ten_containers_may_start_at_once_on_an_empty_database(server: Server, backend: str) -> None:
    managers = [MemoryManager(settings_of(server, backend)) for _ in range(10)]
    await asyncio.gather(*(m.connect() for m in managers))
    await asyncio.gather(*(m.append("s", {"role": "user", "content": n}) for n, m in enumerate(managers)))
    assert len(await managers[0].load("s")) == 10
    await asyncio.gather(*(m.close() for m in managers))


@pytest.mark.parametrize("backend", ["postgresql"])
async def test_a_user_who_may_not_make_tables_is_told_how_to_have_them_made(server: Server, backend: str) -> None:
    connection = await asyncpg.connect(url_of(server))
    await connection.execute("CREATE ROLE little LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    await connection.close()
    address = url_of(server).partition("@")[2]
    with pytest.raises(Exception, match="db init --print"):
        await MemoryManager(
            MemorySettings(backend="postgresql", agent="bot", url=f"postgresql://little:x@{address}")
        ).connect()


@pytest.mark.parametrize("backend", ["postgresql"])
async def test_a_pooler_that_loses_prepared_statements_is_noticed(server: Server, backend: str) -> None:
    async with MemoryManager(settings_of(server, backend)) as manager:
        await manager.append("s", {"role": "user", "content": 1})
        for _ in range(3):
            await manager._log._pool.run(lambda c: c.execute("DEALLOCATE ALL"))  # type: ignore[attr-defined]
            await manager.append("s", {"role": "user", "content": 2})
        assert len(await manager.load("s")) == 4


@pytest.mark.parametrize("backend", ["postgresql"])
async def test_calls_that_meet_such_a_pooler_together_are_all_carried_out(server: Server, backend: str) -> None:
    async with MemoryManager(settings_of(server, backend)) as manager:
        sessions = [f"s{n}" for n in range(6)]

        async def forget(connection: Any) -> None:
            await connection.execute("SELECT pg_sleep(0.1)")  # so that each is on a connection of its own
            await connection.execute("DEALLOCATE ALL")

        for text in ("before", "after"):
            await asyncio.gather(*(manager.append(s, {"role": "user", "content": text}) for s in sessions))
            await asyncio.gather(*(manager._log._pool.run(forget) for _ in sessions))  # type: ignore[attr-defined]
        for session in sessions:
            assert [m["content"] for m in await manager.load(session)] == ["before", "after"]
