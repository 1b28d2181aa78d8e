"""The service over a real PostgreSQL and over a file of SQLite, asked over ASGI without a socket."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_service import migrate
from agentbreeder_service.api.app import make_app
from agentbreeder_service.database import Database
from agentbreeder_service.settings import ServiceSettings, TokenSettings
from agentbreeder_service.tokens import create_token

TOKENS = TokenSettings(secret="a-secret-of-the-tests-that-is-long-enough-for-sha-512-as-well-as-256")
BASE = "/api/v1/memory/configs"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer(options=("fsync=off", "max_connections=200")) as server:
        yield server


@pytest.fixture
def database_url(postgres: PostgresServer) -> Iterator[str]:
    """An empty database of its own."""
    name = f"d{uuid4().hex}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield re.sub(r"/postgres(\?|$)", rf"/{name}\1", postgres.url())
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def token(team: str = "payments", *roles: str, agent: str = "", subject: str = "ann", **more: Any) -> str:
    lifetime = more.pop("lifetime", timedelta(hours=3))
    return create_token(TOKENS, subject=subject, team=team, roles=roles, agent_id=agent, lifetime=lifetime)


@dataclass(frozen=True)
class Client:
    """Asks as whoever the token says; the answer's envelope is checked each time."""

    http: httpx.AsyncClient

    async def ask(self, method: str, path: str, who: str | None = None, **more: Any) -> httpx.Response:
        headers = more.pop("headers", {}) | ({"Authorization": f"Bearer {who}"} if who else {})
        answer = await self.http.request(method, path, headers=headers, **more)
        body = answer.json()
        assert set(body) == {"data", "meta", "errors"}, body
        assert bool(body["errors"]) == (answer.status_code >= 400)
        return answer

    async def get(self, path: str, who: str | None = None, **more: Any) -> Any:
        answer = await self.ask("GET", path, who or token("payments", "admin"), **more)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def config(self, name: str, who: str | None = None, **fields: Any) -> dict[str, Any]:
        answer = await self.ask("POST", BASE, who or token("payments", "admin"), json={"name": name, **fields})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()["data"]
        return made

    async def say(
        self, config: str, text: Any, who: str | None = None, *, session: str = "s", **more: Any
    ) -> dict[str, Any]:
        body = {"session_id": session, "role": "user", "content": text, **more}
        answer = await self.ask("POST", f"{BASE}/{config}/messages", who or token("payments", "admin"), json=body)
        assert answer.status_code == 201, answer.text
        kept: dict[str, Any] = answer.json()["data"]
        return kept


@pytest.fixture
def chosen(request: pytest.FixtureRequest, tmp_path: Path) -> ServiceSettings:
    """PostgreSQL, unless the test says otherwise."""
    if getattr(request, "param", "postgresql") == "sqlite":
        return ServiceSettings(tokens=TOKENS, sqlite_path=tmp_path / "memory.db", rate="")
    return ServiceSettings(tokens=TOKENS, database_url=request.getfixturevalue("database_url"), rate="")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of the API runs on both databases, but for those that are marked to be about one."""
    if "chosen" in metafunc.fixturenames:
        only = metafunc.definition.get_closest_marker("only")
        metafunc.parametrize("chosen", only.args if only else ["postgresql", "sqlite"], indirect=True)


@pytest.fixture
async def settings(chosen: ServiceSettings) -> ServiceSettings:
    made = chosen
    database = Database(url=made.database_url, sqlite_path=made.sqlite_path)
    await migrate.upgrade(database)
    await database.close()
    return made


@pytest.fixture
async def client(settings: ServiceSettings) -> AsyncIterator[Client]:
    app = make_app(settings)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
            yield Client(http)
