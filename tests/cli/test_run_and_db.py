"""`run` hands an agent's environment to a program; `db init` makes the memory's tables, or shows how."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.servers.postgres import PostgresServer

from .conftest import Run, command_of, variables

SHOW = "import json, os, sys; print(json.dumps({k: v for k, v in os.environ.items() if k in sys.argv[1:]}))"


def test_a_program_gets_what_the_container_would_get_and_its_exit_code_is_the_commands(
    run: Run, cloud: AwsSandbox, agent_file: Path
) -> None:
    assert run("deploy", agent_file, "--yes").code == 0
    names = ["MEMORY_BACKEND", "DATABASE_URL", "AGENT_NAME"]
    base = command_of("run", "support", "--project-dir", agent_file.parent, "--")
    done = subprocess.run([*base, sys.executable, "-c", SHOW, *names], env=variables(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["MEMORY_BACKEND"], found["AGENT_NAME"]) == ("postgresql", "support")
    assert found["DATABASE_URL"].startswith("postgresql://agentbreeder:")
    ended = subprocess.run([*base, sys.executable, "-c", "raise SystemExit(7)"], env=variables(), capture_output=True)
    assert ended.returncode == 7
    missing = subprocess.run([*base, "no-such-program"], env=variables(), capture_output=True, text=True)
    assert missing.returncode == 2
    assert "no-such-program cannot be run" in missing.stderr


@pytest.mark.parametrize("printed", [True, False])
def test_the_tables_are_made_or_their_sql_is_shown(printed: bool) -> None:
    import asyncio

    with PostgresServer(options=("fsync=off",)) as server:
        environ = {**os.environ, **variables(), "DATABASE_URL": server.url()}
        arguments = ["db", "init", *(["--print"] if printed else [])]
        done = subprocess.run(command_of(*arguments), env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

        async def look() -> int:
            connection = await asyncpg.connect(server.url())
            try:
                if printed:
                    assert "CREATE TABLE agentbreeder_messages" in done.stdout
                    await connection.execute(done.stdout)
                return int(await connection.fetchval("SELECT version FROM agentbreeder_schema"))
            finally:
                await connection.close()

        assert asyncio.run(look()) == 1


def test_without_a_url_the_error_says_what_else_there_is(run: Run) -> None:
    outcome = run("db", "init", "--variable", "NO_SUCH_URL")
    assert outcome.code == 2
    assert "NO_SUCH_URL is not set" in outcome.err
    assert "--print" in outcome.err
