"""An agent in a container and the service see the same conversation, whoever was there first."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentbreeder_core.errors import ConfigError
from agentbreeder_memory import MemoryManager, MemorySettings
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.configs import MemoryConfig
from agentbreeder_service import migrate
from agentbreeder_service.database import Database
from agentbreeder_service.settings import ServiceSettings
from agentbreeder_service.upgrading import upgrade_now

from .conftest import BASE, Client, token


class Source:
    """Configs as the command hands them to the resolver."""

    location = "the service"

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    def get(self, name: str) -> MemoryConfig | None:
        c = self._config
        return MemoryConfig(
            name=name,
            where="there",
            backend=c["backend_type"],
            memory_type=c["memory_type"],
            max_messages=c["max_messages"] or 100,
            namespace_pattern=c["namespace_pattern"],
            scope=c["scope"],
            team=c["team"],
        )

    def names(self) -> list[str]:
        return [self._config["name"]]


def environment(folder: Path, config: dict[str, Any], agent: str, url: str) -> dict[str, str]:
    """What deploy hands to the agent's container."""
    text = f"name: {agent}\nversion: 1.0.0\nteam: payments\nmemory_config: {config['name']}\ndeploy: {{cloud: local}}\n"
    (folder / "agent.yaml").write_text(text)
    plan = resolve_path(folder, configs=Source(config))
    return {**plan.env, "DATABASE_URL": url, "AGENT_NAME": agent}


@pytest.mark.only("postgresql")
@pytest.mark.parametrize(
    ("fields", "user"),
    [
        ({}, ""),
        ({"scope": "team"}, ""),
        ({"namespace_pattern": "{team}/{agent_id}:{user_id}"}, "u/1"),
        ({"memory_type": "buffer"}, ""),
    ],
)
async def test_what_an_agent_says_the_service_reads_and_the_other_way_round(
    client: Client, settings: ServiceSettings, tmp_path: Path, fields: dict[str, Any], user: str
) -> None:
    config = await client.config("shared", backend_type="postgresql", **fields)
    environ = environment(tmp_path, config, "triage", settings.database_url)
    params = {"session_id": "s 1", "agent_id": "triage", **({"user_id": user} if user else {})}
    async with MemoryManager(MemorySettings.from_environ(environ)) as memory:
        await memory.append("s 1", {"role": "user", "content": "from the container"}, user_id=user)
        await client.say(
            "shared", "from the service", session="s 1", **{k: v for k, v in params.items() if k != "session_id"}
        )
        await memory.append("s 1", {"role": "assistant", "content": "NUL \x00 again"}, user_id=user)
        said = ["from the container", "from the service", "NUL \x00 again"]
        assert [m["content"] for m in await memory.load("s 1", user_id=user)] == said
    found = await client.get(f"{BASE}/shared/messages", params=params)
    assert [m["content"] for m in found] == said
    assert [m["seq"] for m in found] == [1, 2, 3]
    assert len(await client.get(f"{BASE}/shared/search?q=container")) == 1
    assert (await client.get(f"{BASE}/shared/stats"))["total_messages"] == 3


async def test_tables_that_an_agent_made_before_are_kept_and_searched(database_url: str) -> None:
    settings = MemorySettings(
        backend="postgresql", agent="a", url=database_url, namespace_pattern="default/early/{agent_id}:{session_id}"
    )
    async with MemoryManager(settings) as memory:
        await memory.append(
            "s", [{"role": "user", "content": "an early needle"}, {"role": "user", "content": "NUL \x00"}]
        )
        database = Database(url=database_url)
        assert await migrate.upgrade(database) == ("", "0001")
        assert await migrate.upgrade(database) == ("0001", "0001")
        await migrate.check(database)
        await database.close()
        await memory.append("s", {"role": "user", "content": "a later needle"})
        assert len(await memory.load("s")) == 3
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT count(*), min(part), max(part) FROM agentbreeder_messages WHERE search @@ to_tsquery('needle')"
        ).fetchone()
        assert found == (2, "default/early/", "default/early/")
    async with MemoryManager(replace(settings, agent="b")) as memory:
        assert await memory.load("s") == []


async def test_upgrades_at_the_same_time_make_one_schema(database_url: str) -> None:
    databases = [Database(url=database_url) for _ in range(5)]
    done = await asyncio.gather(*(migrate.upgrade(d) for d in databases))
    assert {after for _, after in done} == {"0001"}
    await asyncio.gather(*(d.close() for d in databases))


async def test_a_database_that_was_not_upgraded_is_refused_and_nothing_is_made(database_url: str) -> None:
    database = Database(url=database_url)
    with pytest.raises(ConfigError, match="revision none") as caught:
        await migrate.check(database)
    assert caught.value.hint == "agentbreeder db upgrade"
    await database.close()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'memory%'").fetchone() == (0,)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda url: url.replace("postgres:", "nobody:"), "refused"),
        (lambda url: url.rpartition("/")[0] + "/nowhere", "refused"),
        (lambda url: url.replace("127.0.0.1:", "127.0.0.1:1"), "reached|URL|port"),
    ],
)
def test_an_upgrade_that_cannot_be_done_says_why_without_the_url(database_url: str, change: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        upgrade_now(change(database_url), None)
    password = database_url.split(":")[2].partition("@")[0]
    assert password not in caught.value.detail


async def test_a_person_of_another_team_is_told_nothing(client: Client) -> None:
    await client.config("shared")
    answer = await client.ask("GET", f"{BASE}/shared/search?q=x", token("sales"))
    assert answer.status_code == 404
