"""`agentbreeder serve` as a process: it is stopped, killed, and loses its database, and no acknowledged message is lost."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.process import free_port
from agentbreeder_service.upgrading import upgrade_now

from .conftest import BASE, TOKENS, token

ADMIN = {"Authorization": f"Bearer {token('payments', 'admin')}"}


@contextmanager
def serving(url: str, port: int, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    environ = {
        **os.environ,
        "DATABASE_URL": url,
        "AGENTBREEDER_JWT_SECRET": TOKENS.secret,
        "AGENTBREEDER_RATE_LIMIT": "",
    }
    command = [sys.executable, "-m", "agentbreeder_cli", "serve", "--port", str(port), *more]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.poll()
        process.wait()
        if process.stderr:
            process.stderr.close()


@pytest.fixture
def upgraded(database_url: str) -> str:
    upgrade_now(database_url, None)
    return database_url


async def load(port: int, writers: int, disturb: Callable[[], Awaitable[None]], after: int) -> dict[str, list[int]]:
    """Each writer says numbers to its own session and to a shared one until it was disturbed and went on for a while; what
    was not acknowledged is said again with the same key. Returns what was acknowledged, by session."""
    acknowledged: dict[str, list[int]] = {}
    counted = 0
    disturbed = asyncio.Event()

    async def say(http: httpx.AsyncClient, session: str, writer: int, number: int) -> None:
        nonlocal counted
        text = str(writer * 10_000 + number)
        body = {
            "session_id": session,
            "role": "user",
            "content": text,
            "agent_id": "a",
            "idempotency_key": f"{session}:{text}",
        }
        deadline = time.monotonic() + 30
        while True:
            try:
                answer = await http.post(f"{BASE}/load/messages", json=body, headers=ADMIN)
                if answer.status_code == 201:
                    break
                assert answer.status_code == 503, answer.text
            except httpx.HTTPError:
                await asyncio.sleep(0.05)
            assert time.monotonic() < deadline, "the service did not come back"
            await asyncio.sleep(0.02)
        acknowledged.setdefault(session, []).append(int(text))
        counted += 1
        if counted == after:
            disturbed.set()

    async def write(writer: int) -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as http:
            for number in range(12):
                await say(http, f"own-{writer}", writer, number)
                await say(http, "shared", writer, number)

    async def disturbing() -> None:
        await disturbed.wait()
        await disturb()

    await asyncio.gather(disturbing(), *(write(n) for n in range(writers)))
    return acknowledged


async def kept(port: int, session: str) -> list[int]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as http:
        params = {"session_id": session, "agent_id": "a", "limit": 1000}
        answer = await http.get(f"{BASE}/load/messages", params=params, headers=ADMIN)
        return [int(m["content"]) for m in answer.json()["data"]]


async def check(port: int, acknowledged: dict[str, list[int]]) -> None:
    for session, numbers in acknowledged.items():
        found = await kept(port, session)
        assert sorted(found) == sorted(numbers), session
        for writer in {n // 10_000 for n in numbers}:
            own = [n for n in found if n // 10_000 == writer]
            assert own == sorted(own), session


async def make_config(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        body = {"name": "load", "memory_type": "buffer", "backend_type": "postgresql"}
        answer = await http.post(BASE, json=body, headers=ADMIN)
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_ends_in_the_middle_loses_nothing_that_it_acknowledged(
    upgraded: str, how: signal.Signals
) -> None:
    port = free_port()
    with ExitStack() as stack:
        first = stack.enter_context(serving(upgraded, port))
        await make_config(port)

        async def disturb() -> None:
            first.send_signal(how)
            await asyncio.to_thread(first.wait)
            await asyncio.to_thread(stack.enter_context, serving(upgraded, port))

        await check(port, await load(port, 6, disturb, 40))
        assert first.returncode == (0 if how == signal.SIGTERM else -how)


async def test_a_database_that_dies_in_the_middle_loses_nothing_that_was_acknowledged() -> None:
    with PostgresServer(options=("max_connections=200",)) as server:
        await asyncio.to_thread(upgrade_now, server.url(), None)
        port = free_port()
        with serving(server.url(), port):
            await make_config(port)

            async def disturb() -> None:
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(0.3)
                await asyncio.to_thread(server.start)

            await check(port, await load(port, 6, disturb, 40))
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                assert (await http.get("/readyz")).status_code == 200


async def test_several_processes_answer_on_one_port_and_count_together(upgraded: str) -> None:
    port = free_port()
    with serving(upgraded, port, "--workers", "2"):
        await make_config(port)

        async def nothing() -> None:
            """Undisturbed."""

        acknowledged = await load(port, 8, nothing, 1)
        await check(port, acknowledged)
        metrics = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        found = re.search(r'requests_total\{method="POST",route="\S+/messages",status="201"\} ([0-9.]+)', metrics)
        assert found is not None
        assert float(found[1]) == sum(map(len, acknowledged.values()))


def test_what_stops_a_start_is_one_line(database_url: str, tmp_path: Path) -> None:
    base = {k: v for k, v in os.environ.items() if not k.startswith("AGENTBREEDER")} | {"NO_COLOR": "1"}
    secret = {"AGENTBREEDER_JWT_SECRET": TOKENS.secret}
    cases: list[tuple[dict[str, str], list[str], str]] = [
        ({}, [], "DATABASE_URL is not set"),
        ({"DATABASE_URL": database_url}, [], "exactly one of"),
        ({"DATABASE_URL": database_url, **secret}, [], "agentbreeder db upgrade"),
        ({"DATABASE_URL": "postgresql://u:hidden@127.0.0.1:9/d", **secret}, [], "cannot be reached"),
        ({}, ["--dev", "--host", "0.0.0.0"], "--dev listens on this machine only"),
    ]
    for environ, arguments, says in cases:
        command = [sys.executable, "-m", "agentbreeder_cli", "serve", *arguments]
        done = subprocess.run(command, env=base | environ, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr
        assert "hidden" not in done.stderr
