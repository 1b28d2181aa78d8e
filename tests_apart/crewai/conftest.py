"""Tests that need an environment of their own: CrewAI's pins are not those of the other frameworks. `make test` makes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

# Before CrewAI is imported: it must neither call home nor write into anybody's home folder.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from agentbreeder_memory import MemorySettings
from agentbreeder_sandbox.servers.postgres import PostgresServer


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tmp_path_factory.mktemp("home"))
    os.environ.update(HOME=folder, XDG_DATA_HOME=folder, CREWAI_STORAGE_DIR=folder)


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """A PostgreSQL that all tests share, or that of `TEST_DATABASE_URL`."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    with PostgresServer(options=("fsync=off",)) as server:
        yield server.url()


@pytest.fixture
def settings(database_url: str) -> MemorySettings:
    """Of an agent that no other test uses."""
    return MemorySettings(backend="postgresql", agent=f"t{uuid4().hex[:12]}", url=database_url)
