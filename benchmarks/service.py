"""POST a message and GET the last fifty, against FastAPI routes that do one round trip and nothing else. Ratios and medians."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

TEXT = "The quick brown fox jumps over the lazy dog. " * 6
SECRET = "only-for-the-benchmark-but-long-enough-for-hs256"
ROUNDS, SECONDS = 5, 1.2
HISTORIES = (100, 10_000)
Request = Callable[[int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where it is, and how its two requests are written."""

    name: str
    port: int
    pid: int
    post: Request
    get: Request


def http(method: str, path: str, body: bytes = b"", token: str = "") -> bytes:
    """One HTTP/1.1 request as bytes, so that the client costs next to nothing."""
    head = f"{method} {path} HTTP/1.1\r\nHost: b\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n"
    return (head + (f"Authorization: Bearer {token}\r\n" if token else "") + "\r\n").encode() + body


async def answer(reader: asyncio.StreamReader) -> int:
    """Read one answer to its end; its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head[9:12])


async def rate(port: int, request: Request, clients: int) -> float:
    """Answers per second."""
    end = time.perf_counter() + SECONDS
    done = 0

    async def ask(client: int) -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            writer.write(request(client))
            status = await answer(reader)
            assert status in (200, 201), status
            done += 1
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(ask(n) for n in range(clients)))
    return done / (time.perf_counter() - start)


@contextmanager
def running(command: list[str], environ: dict[str, str], port: int) -> Iterator[int]:
    """A server in a process of its own, once it answers."""
    process = subprocess.Popen(command, env={**os.environ, **environ}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                asyncio.run(_knock(port))
                break
            except OSError:
                time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


async def _knock(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


def memory_mib(pid: int) -> float:
    """Resident memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def servers_of(stack: ExitStack, url: str) -> list[Server]:
    """The bare one and ours, on one PostgreSQL."""
    from agentbreeder_sandbox.servers.process import free_port
    from agentbreeder_service.settings import TokenSettings
    from agentbreeder_service.tokens import create_token
    from agentbreeder_service.upgrading import upgrade_now

    upgrade_now(url, None)
    token = create_token(TokenSettings(secret=SECRET), subject="a", team="t", agent_id="a", lifetime=timedelta(hours=1))
    person = create_token(
        TokenSettings(secret=SECRET), subject="p", team="t", roles=("admin",), lifetime=timedelta(hours=1)
    )
    ports = free_port(), free_port()
    uvicorn = [
        sys.executable,
        "-m",
        "uvicorn",
        "--factory",
        "bare_service:make",
        "--no-access-log",
        "--log-level",
        "error",
    ]
    bare = stack.enter_context(
        running(
            [*uvicorn, "--app-dir", str(Path(__file__).parent), "--port", str(ports[0])],
            {"DATABASE_URL": url},
            ports[0],
        )
    )
    environ = {"DATABASE_URL": url, "AGENTBREEDER_JWT_SECRET": SECRET, "AGENTBREEDER_RATE_LIMIT": ""}
    ours = stack.enter_context(
        running([sys.executable, "-m", "agentbreeder_cli", "serve", "--port", str(ports[1])], environ, ports[1])
    )
    base = "/api/v1/memory/configs"
    made = json.dumps({"name": "bench", "memory_type": "buffer"}).encode()
    asyncio.run(_once(ports[1], http("POST", base, made, person)))

    def body(session: str) -> bytes:
        return json.dumps({"session_id": session, "role": "user", "content": TEXT}).encode()

    def of_bare(client: int) -> bytes:
        return http("POST", "/messages", body(f"s{client}"))

    def of_ours(client: int) -> bytes:
        return http("POST", f"{base}/bench/messages", body(f"s{client}"), token)

    return [
        Server(
            name="bare",
            port=ports[0],
            pid=bare,
            post=of_bare,
            get=lambda n: http("GET", f"/messages?session_id=s{n}&limit=50"),
        ),
        Server(
            name="ours",
            port=ports[1],
            pid=ours,
            post=of_ours,
            get=lambda n: http("GET", f"{base}/bench/messages?session_id=s{n}&limit=50", b"", token),
        ),
    ]


async def _once(port: int, request: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    assert await answer(reader) in (200, 201)
    writer.close()


async def _compare(servers: list[Server], what: str, clients: int) -> None:
    seen: dict[str, list[float]] = {s.name: [] for s in servers}
    for number in range(ROUNDS):
        for server in servers if number % 2 else reversed(servers):
            request = server.post if what.startswith("POST") else server.get
            seen[server.name].append(await rate(server.port, request, clients))
    bare, ours = statistics.median(seen["bare"]), statistics.median(seen["ours"])
    print(
        f"{what:34} {clients:2} clients   bare {bare:6.0f}/s   ours {ours:6.0f}/s   {ours / bare:4.2f} of bare",
        flush=True,
    )


def _history(url: str, messages: int) -> None:
    """Both tables as after so many messages in each of 32 sessions, written past the servers."""
    import asyncpg

    async def fill() -> None:
        connection = await asyncpg.connect(url)
        text = json.dumps({"session_id": "s", "role": "user", "content": TEXT})
        for n in range(32):
            await connection.execute("DELETE FROM bare_messages WHERE session = $1", f"s{n}")
            await connection.execute(
                "INSERT INTO bare_messages (session, payload) SELECT $1, $2 FROM generate_series(1, $3)",
                f"s{n}",
                text,
                messages,
            )
            await connection.execute(
                "SELECT agentbreeder_turn($1, array_agg('i' || g), array_agg($2::text), 0, 0, -1, true) FROM generate_series(1, $3) g",
                f"t/bench/a:s{n}",
                text,
                messages,
            )
        await connection.execute("ANALYZE")
        await connection.close()

    asyncio.run(fill())


def service() -> None:
    """At 1 and 32 clients, with 100 and 10,000 messages before; and what a process holds."""
    from agentbreeder_sandbox.servers.postgres import PostgresServer

    with ExitStack() as stack:
        url = stack.enter_context(PostgresServer()).url()
        servers = servers_of(stack, url)
        for history in HISTORIES:
            _history(url, history)
            for clients in (1, 32):
                asyncio.run(_compare(servers, f"POST, {history} messages before", clients))
                asyncio.run(_compare(servers, f"GET last 50, {history} messages before", clients))
        for server in servers:
            print(f"{server.name}: {memory_mib(server.pid):.0f} MiB in the process")
