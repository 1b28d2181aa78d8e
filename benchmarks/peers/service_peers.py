"""POST and GET of AgentBreeder 2.7.3's API beside our service, in one run on one PostgreSQL: `make bench-peers`."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

from service import ROUNDS, TEXT, Server, answer, http, rate, running, servers_of

HISTORIES = (100, 1_000)


def incumbent(stack: ExitStack, url: str, port: int) -> Server:
    """A server of its own, with one config that keeps all."""
    here = str(Path(__file__).parent)
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "--factory",
        "incumbent_service:make",
        "--app-dir",
        here,
        "--log-level",
        "error",
    ]
    environ = {
        "DATABASE_URL": url.replace("postgresql://", "postgresql+asyncpg://"),
        "AGENTBREEDER_ENV": "production",
        "SECRET_KEY": "x" * 40,
        "JWT_SECRET_KEY": "x" * 40,
    }
    pid = stack.enter_context(running([*command, "--no-access-log", "--port", str(port)], environ, port))
    fields = {
        "name": "bench",
        "backend_type": "postgresql",
        "memory_type": "buffer",
        "team": "t",
        "owner": "u",
        "scope": "team",
    }
    config = asyncio.run(_made(port, http("POST", "/api/v1/memory/configs", json.dumps(fields).encode())))
    base = f"/api/v1/memory/configs/{config}"

    def post(client: int) -> bytes:
        body = {"session_id": f"s{client}", "role": "user", "content": TEXT, "agent_id": "a"}
        return http("POST", f"{base}/messages", json.dumps(body).encode())

    get = lambda n: http("GET", f"{base}/conversations/s{n}")  # noqa: E731
    return Server(name="AgentBreeder 2.7.3", port=port, pid=pid, post=post, get=get)


async def _database(url: str, name: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


async def _made(port: int, request: bytes) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    body = json.loads(await reader.readexactly(length))
    writer.close()
    return str(body["data"]["id"])


async def _fill(server: Server, messages: int) -> None:
    async def one(client: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(messages):
            writer.write(server.post(client))
            assert await answer(reader) == 201
        writer.close()

    await asyncio.gather(*(one(n) for n in range(32)))


def main() -> None:
    """A table on stdout."""
    from agentbreeder_sandbox.servers.postgres import PostgresServer
    from agentbreeder_sandbox.servers.process import free_port

    with ExitStack() as stack:
        url = stack.enter_context(PostgresServer()).url()
        asyncio.run(_database(url, "incumbent"))  # its table of configs has the same name as ours
        own = url.removesuffix("/postgres") + "/incumbent"
        servers = [*servers_of(stack, url), incumbent(stack, own, free_port())]
        before = 0
        for history in HISTORIES:
            for server in servers:
                asyncio.run(_fill(server, history - before))
            before = history
            for what in ("POST", "GET last 50"):
                for clients in (1, 32):
                    rates = {s.name: _median(s, what, clients) for s in servers}
                    shown = "   ".join(f"{name} {found:6.0f}/s" for name, found in rates.items())
                    print(f"{what:11} {history:5} before, {clients:2} clients   {shown}", flush=True)


def _median(server: Server, what: str, clients: int) -> float:
    request = server.post if what == "POST" else server.get
    return statistics.median(asyncio.run(rate(server.port, request, clients)) for _ in range(ROUNDS - 2))


if __name__ == "__main__":
    main()
