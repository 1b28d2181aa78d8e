"""Answers of Redis that never come, servers that became replicas, a cluster that is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
import redis

from agentbreeder_memory import MemoryManager, MemorySettings, StoreUnavailable
from agentbreeder_sandbox.servers.redis import RedisServer
from substrate.capabilities.history import RedisHistoryProvider
from substrate.kernel.storage.history import session_key

from .proxy import Proxy, proxy_to


def manager_of(proxy: Proxy, *, cluster: bool = False) -> MemoryManager:
    url = f"redis://127.0.0.1:{proxy.port}" + ("?cluster=true" if cluster else "/0")
    return MemoryManager(MemorySettings(backend="redis", agent="bot", url=url))


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as made:
        yield made


def clustered(server: RedisServer, port: int) -> None:
    """Make the server a cluster of one node, known by the proxy's port."""
    with redis.Redis(port=server.port) as client:
        client.execute_command("CONFIG SET", "cluster-announce-port", str(port))
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            time.sleep(0.02)


async def test_a_pop_whose_answer_was_lost_is_not_repeated(server: RedisServer) -> None:
    async with proxy_to(server.port) as proxy, manager_of(proxy) as memory:
        await memory.append("s", [{"n": n} for n in range(3)])
        await memory.pop("s")
        proxy.cut_on = b"EVALSHA"
        with pytest.raises(StoreUnavailable, match="may have been carried out or not"):
            await memory.pop("s")
        assert [m["n"] for m in await memory.load("s")] == [0]


async def test_an_append_whose_answer_was_lost_is_stored_once(server: RedisServer) -> None:
    key = session_key("a", "b", "c")
    async with proxy_to(server.port) as proxy:
        async with manager_of(proxy) as memory:
            await memory.append("s", {"n": 1})
            proxy.cut_on = b"EVALSHA"
            await memory.append("s", {"n": 2})
            assert [m["n"] for m in await memory.load("s")] == [1, 2]
        async with RedisHistoryProvider(f"redis://127.0.0.1:{proxy.port}") as history:
            await history.append(key, {"n": 1})
            proxy.cut_on = b"EVALSHA"
            await history.append(key, {"n": 2})
            assert [m["n"] for m in await history.last(key, 5)] == [1, 2]


async def test_after_a_failover_the_new_primary_is_found_by_its_name(server: RedisServer) -> None:
    with RedisServer(options=("--repl-diskless-sync-delay", "0")) as promoted:
        async with proxy_to(server.port) as proxy, manager_of(proxy) as memory:
            await memory.append("s", {"n": 1})
            with redis.Redis(port=server.port) as client:
                client.execute_command("REPLICAOF", "127.0.0.1", promoted.port)
            proxy.target = promoted.port  # what the name says from now on
            await memory.append("s", {"n": 2})
            assert [m["n"] for m in await memory.load("s")] == [2]


async def test_a_cluster_loses_nothing_by_a_lost_answer_and_is_unavailable_when_it_is_away() -> None:
    options = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-announce-ip", "127.0.0.1")
    with RedisServer(options=options) as server:
        async with proxy_to(server.port) as proxy:
            await asyncio.to_thread(clustered, server, proxy.port)
            async with manager_of(proxy, cluster=True) as memory:
                await memory.append("s", [{"n": n} for n in range(3)])
                await memory.pop("s")
                proxy.cut_on = b"EVALSHA"
                with pytest.raises(StoreUnavailable, match="may have been carried out or not"):
                    await memory.pop("s")
                assert [m["n"] for m in await memory.load("s")] == [0]
                server.kill()
                with pytest.raises(StoreUnavailable):
                    await memory.append("s", {"n": 4})
                assert not (await memory.health()).ok


async def test_a_server_without_tls_is_told_soon_when_the_url_wants_tls(server: RedisServer) -> None:
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await MemoryManager(
            MemorySettings(backend="redis", agent="a", url=f"rediss://127.0.0.1:{server.port}?socket_connect_timeout=1")
        ).connect()
    assert time.monotonic() - began < 30


async def test_a_session_whose_ttl_was_switched_off_does_not_end(server: RedisServer) -> None:
    def manager(ttl_s: int) -> MemoryManager:
        return MemoryManager(MemorySettings(backend="redis", agent="a", url=server.url, ttl_s=ttl_s))

    async with manager(100) as before, manager(0) as after:
        await before.append("s", {"n": 1})
        await after.append("s", {"n": 2})
    with redis.Redis(port=server.port) as client:
        assert {client.ttl(key) for key in client.scan_iter()} == {-1}
