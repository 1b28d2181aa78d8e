"""Real servers for the whole session, on free ports; `TEST_DATABASE_URL` and `TEST_REDIS_URL` name others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis that all tests share: each uses sessions of its own."""
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield given
        return
    with RedisServer() as server:
        yield server.url


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """A PostgreSQL that all tests share: each uses agents and sessions of its own."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    with PostgresServer(options=("fsync=off", "max_connections=200")) as server:
        yield server.url()


@pytest.fixture
def unique() -> str:
    """A name that no other test uses."""
    return f"t{uuid4().hex[:12]}"
