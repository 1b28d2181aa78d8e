"""The first call of a fresh process: without connect, many at once, with few rights, after a fork, against odd servers."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from agentbreeder_memory import MemoryManager, MemorySettings, StoreMisconfigured, SyncMemoryManager
from agentbreeder_memory.postgres_sql import GRANTS, MIGRATIONS
from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer
from substrate.capabilities.history import DurableHistoryProvider
from substrate.capabilities.memory.durable_state import SCHEMA
from substrate.connect.errors import StoreUnavailable
from substrate.kernel.storage.history import session_key


def settings_of(url: str, **more: Any) -> MemorySettings:
    return MemorySettings(**{"backend": "postgresql", "agent": "a", "url": url, **more})


async def test_many_first_calls_without_connect_are_all_carried_out(database_url: str) -> None:
    with PostgresServer(options=("fsync=off",)) as server:
        manager = MemoryManager(settings_of(server.url()))
        await asyncio.gather(*(manager.append("s", {"n": n}) for n in range(8)))
        assert len(await manager.load("s")) == 8
        await manager.close()
        provider, key = DurableHistoryProvider(server.url()), session_key("a", "b", "c")
        await asyncio.gather(*(provider.append(key, {"n": n}) for n in range(8)))
        assert await provider.count(key) == 8
        await provider.disconnect()
        await _rights(server.url())
        await _strict(server.url())


async def _rights(url: str) -> None:
    """The rights that `db init --print` names are enough, and without them there is one line."""
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE ROLE little LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    await connection.execute(SCHEMA)
    little = re.sub(r"//[^@]+@", "//little:x@", url)
    with pytest.raises(StoreMisconfigured, match="rights"):
        await MemoryManager(settings_of(little)).connect()
    for line in re.findall(r"^-- (GRANT .*)$", GRANTS, re.MULTILINE):
        await connection.execute(line.replace("AGENT;", "little;"))
    await connection.close()
    assert len(MIGRATIONS) == 1
    async with MemoryManager(settings_of(little)) as manager:
        await manager.append("t", {"n": 1})
        await manager.replace("t", {"n": 2})
        await manager.clear("t")


async def _strict(url: str) -> None:
    """Transactions that the server rolls back for others' sake are tried again."""
    async with MemoryManager(settings_of(f"{url}?default_transaction_isolation=serializable")) as manager:
        await asyncio.gather(*(manager.append("strict", {"n": n}) for n in range(4)))
        assert len(await manager.load("strict")) == 4


def test_a_process_that_was_forked_is_told_to_make_its_own(tmp_path: Path) -> None:
    manager = SyncMemoryManager(MemorySettings(backend="in_memory", agent="a"))
    manager.append("s", {"n": 1})
    child = os.fork()
    if child == 0:
        try:
            manager.load("s")
        except RuntimeError as e:
            (tmp_path / "said").write_text(str(e))
        os._exit(0)
    os.waitpid(child, 0)
    assert "after a fork: make a new one" in (tmp_path / "said").read_text()
    manager.close()
    manager.close()
    with pytest.raises(RuntimeError, match="closed"):
        manager.load("s")


async def test_a_server_that_takes_connections_and_never_answers_is_given_up_in_two_tries() -> None:
    with RedisServer() as server:
        url = f"{server.url}?socket_timeout=0.5&socket_connect_timeout=0.5"
        async with MemoryManager(MemorySettings(backend="redis", agent="a", url=url)) as manager:
            await manager.append("s", {"n": 1})
            os.kill(server.pid, signal.SIGSTOP)
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await manager.append("s", {"n": 2})
            os.kill(server.pid, signal.SIGCONT)
            assert time.monotonic() - began < 20
