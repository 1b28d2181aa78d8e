"""Any URL that the resolver accepts opens here, or is refused in one line."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_memory import MemoryManager, MemorySettings
from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer
from agentbreeder_sandbox.servers.tls import TlsFront, self_signed
from substrate.capabilities.history import DurableHistoryProvider, RedisHistoryProvider
from substrate.capabilities.memory import RedisSessionStore
from substrate.connect.errors import StoreError, StoreMisconfigured, StoreUnavailable
from substrate.connect.postgres_url import asyncpg_url
from substrate.connect.redis_client import open_redis
from substrate.kernel.storage.history import session_key

HARD = "p@ss:w/rd?#[%"
HARD_ENCODED = "p%40ss%3Aw%2Frd%3F%23%5B%25"


def split(url: str) -> tuple[str, str]:
    """Credentials, and what follows the @."""
    credentials, _, address = url.partition("://")[2].rpartition("@")
    return credentials, address


@pytest.mark.parametrize(
    "form",
    [
        "postgres://{who}@{where}",
        "postgresql+asyncpg://{who}@{where}",
        "POSTGRESQL://{who}@{where}",
        "postgresql+psycopg://{who}@{where}?connect_timeout=5",
        "postgresql://{who}@{where}?sslmode=prefer&application_name=x",
        "postgresql://{who}@{where}?sslmode=disable&channel_binding=prefer",
        "postgresql://{who}@{where}?pgbouncer=true",
        "postgresql+asyncpg://{who}@{where}?ssl=disable&prepared_statement_cache_size=0",
        "postgresql://{who}@127.0.0.1:1,{where}",
        " postgresql://{who}@{where} ",
    ],
)
async def test_every_spelling_of_a_postgresql_url_opens_with_both_drivers(
    database_url: str, unique: str, form: str
) -> None:
    who, where = split(database_url)
    url = form.format(who=who, where=where)
    async with MemoryManager(MemorySettings(backend="postgresql", agent=unique, url=url)) as manager:
        await manager.append("s", {"role": "user", "content": "x"})
        assert len(await manager.load("s")) == 1
    async with DurableHistoryProvider(database_url=url) as provider:
        await provider.append(session_key("a", "b", unique), {"role": "user"})


async def test_a_socket_and_a_hard_password_open() -> None:
    import asyncpg

    with PostgresServer(options=("fsync=off",)) as server:
        connection = await asyncpg.connect(server.url())
        await connection.execute(f"CREATE ROLE \"we ird\" LOGIN SUPERUSER PASSWORD '{HARD}'")
        await connection.close()
        _, where = split(server.url())
        for url in (
            f"postgresql://we%20ird:{HARD_ENCODED}@{where}",
            f"postgresql://we%20ird:{HARD_ENCODED}@/postgres?host={server.folder}&port={server.port}",
        ):
            async with MemoryManager(MemorySettings(backend="postgresql", agent="a", url=url)) as manager:
                assert await manager.load("s") == []


async def test_every_spelling_of_a_redis_url_opens() -> None:
    with RedisServer(password=HARD) as server:
        socket = f"{server.folder}/redis.sock"
        for n, url in enumerate(
            (
                f"redis://:{HARD_ENCODED}@127.0.0.1:{server.port}/2",
                f"redis://default:{HARD_ENCODED}@127.0.0.1:{server.port}?db=3&socket_timeout=5",
                f"valkey://:{HARD_ENCODED}@localhost:{server.port}",
                f"REDIS://:{HARD_ENCODED}@127.0.0.1:{server.port}/",
                f"unix://:{HARD_ENCODED}@{socket}?db=1",
            )
        ):
            async with MemoryManager(MemorySettings(backend="redis", agent="a", url=url)) as manager:
                await manager.append(f"s{n}", {"role": "user"})
                assert len(await manager.load(f"s{n}")) == 1


@pytest.mark.parametrize(
    ("url", "verify"),
    [
        ("rediss://h", ssl.CERT_REQUIRED),
        ("valkeys://h:6380/0", ssl.CERT_REQUIRED),
        ("rediss://h?ssl_cert_reqs=CERT_NONE", ssl.CERT_NONE),
        ("rediss://h?ssl_cert_reqs=none", ssl.CERT_NONE),
        ("rediss://h?ssl_cert_reqs=required", ssl.CERT_REQUIRED),
    ],
)
def test_tls_verifies_unless_the_url_says_otherwise_in_either_spelling(url: str, verify: ssl.VerifyMode) -> None:
    kwargs: dict[str, Any] = open_redis(url).connection_pool.connection_kwargs
    assert {"required": ssl.CERT_REQUIRED, "none": ssl.CERT_NONE}[kwargs["ssl_cert_reqs"]] is verify


def test_ipv6_sentinel_and_cluster_urls_are_understood() -> None:
    kwargs = open_redis("redis://[::1]").connection_pool.connection_kwargs
    assert (kwargs["host"], kwargs["port"]) == ("::1", 6379)
    sentinel = open_redis("redis+sentinel://:pw@a:26379,b/mymaster/2")
    assert sentinel.connection_pool.service_name == "mymaster"
    cluster = open_redis("redis://h:7000?cluster=true")
    assert type(cluster).__name__ == "RedisCluster"
    with pytest.raises(StoreMisconfigured, match="service"):
        open_redis("redis+sentinel://a:26379")


@pytest.mark.parametrize("url", ["mysql://h/d", "postgresql://u:p#x@h/d", "redis://h", "h:5432", ""])
def test_what_is_no_postgresql_url_is_told_without_its_secret(url: str) -> None:
    with pytest.raises(StoreMisconfigured) as e:
        asyncpg_url(url)
    assert "p#x" not in str(e.value)


def test_a_cloud_sql_socket_is_kept_as_it_is() -> None:
    url = "postgresql://u:p@/d?host=/cloudsql/project:region:instance"
    assert "host=%2Fcloudsql%2Fproject%3Aregion%3Ainstance" in asyncpg_url(url).dsn
    assert "u:p@" not in repr(asyncpg_url(url))


async def test_a_redis_cluster_keeps_conversations_state_and_history() -> None:
    import asyncio

    import redis.asyncio

    with RedisServer(options=("--cluster-enabled", "yes")) as server:
        raw = redis.asyncio.Redis.from_url(server.url)
        await raw.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in await raw.execute_command("CLUSTER", "INFO"):
            await asyncio.sleep(0.05)
        await raw.aclose()
        url = server.url.partition("/0")[0] + "?cluster=true"
        async with MemoryManager(MemorySettings(backend="redis", agent="a", url=url, ttl_s=60)) as manager:
            await asyncio.gather(*(manager.append(f"s{n}", [{"role": "user", "content": n}] * 2) for n in range(20)))
            assert [len(await manager.load(f"s{n}")) for n in range(20)] == [2] * 20
        async with RedisSessionStore(redis_url=url, ttl=60) as store, RedisHistoryProvider(redis_url=url) as history:
            await store.set_state("x", {"a": 1})
            assert await store.get_state("x") == {"a": 1}
            await history.append(session_key("a", "b", "c"), {"role": "user"})
            assert await history.count(session_key("a", "b", "c")) == 1


async def test_sentinel_leads_to_the_master() -> None:
    with RedisServer() as master:
        config = f"sentinel monitor mymaster 127.0.0.1 {master.port} 1\n"
        with RedisServer(sentinel=config) as sentinel:
            url = f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster/0"
            async with MemoryManager(MemorySettings(backend="redis", agent="a", url=url)) as manager:
                await manager.append("s", {"role": "user"})
                assert len(await manager.load("s")) == 1


async def test_a_redis_that_signs_for_itself_is_trusted_by_its_own_authority_and_by_no_other(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with RedisServer() as server, TlsFront(server.port, certificate=certificate, key=key) as front:
        chosen = {"backend": "redis", "agent": "a", "url": f"rediss://127.0.0.1:{front.port}"}
        ours = MemorySettings(**chosen, redis_ca_pem=certificate.read_text())  # type: ignore[arg-type]
        async with MemoryManager(ours) as manager:
            await manager.append("s", {"role": "user"})
            assert len(await manager.load("s")) == 1
        with pytest.raises(StoreUnavailable):
            await MemoryManager(MemorySettings(**chosen)).connect()  # type: ignore[arg-type]


async def test_postgresql_over_tls_opens_with_sslmode_require_and_refuses_an_unknown_authority(
    database_url: str, tmp_path: Path, unique: str
) -> None:
    certificate, key = self_signed(tmp_path, "127.0.0.1")
    who, where = split(database_url)
    port = int(where.partition(":")[2].partition("/")[0])
    with TlsFront(port, certificate=certificate, key=key, postgres=True) as front:
        base = f"postgresql://{who}@127.0.0.1:{front.port}/postgres"
        for query in ("sslmode=require", f"sslmode=verify-full&sslrootcert={certificate}"):
            settings = MemorySettings(backend="postgresql", agent=unique, url=f"{base}?{query}")
            async with MemoryManager(settings) as manager:
                await manager.append("s", {"role": "user"})
            async with DurableHistoryProvider(database_url=f"{base}?{query}") as provider:
                await provider.count(session_key("a", "b", unique))
        unknown = MemorySettings(backend="postgresql", agent=unique, url=f"{base}?sslmode=verify-full")
        with pytest.raises(StoreUnavailable):
            await MemoryManager(unknown).connect()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda url: f"{url}?foo=bar", "does not know a parameter of the URL"),
        (lambda url: url.rpartition("/")[0] + "/nowhere", "there is no such database"),
        (lambda url: url.replace("://postgres:", "://postgres:x"), "user or password is wrong"),
        (lambda url: f"{url}?sslmode=require", "one side wants TLS"),
        (lambda url: "postgresql://u:hunter2@nowhere.invalid/d", "name is not known"),
        (lambda url: "postgresql://u:hunter2@127.0.0.1:1/d", "nothing listens there"),
    ],
)
async def test_a_database_that_says_no_is_told_in_words_without_the_password(
    database_url: str, change: Any, says: str
) -> None:
    manager = MemoryManager(MemorySettings(backend="postgresql", agent="a", url=change(database_url)))
    with pytest.raises(StoreError, match=says) as caught:
        await manager.connect()
    assert "hunter2" not in str(caught.value)
