"""`agentbreeder db`."""

from __future__ import annotations

import click

from ..mode import Mode
from ..options import common_options


@click.group("db")
def command() -> None:
    """Prepare the database that keeps an agent's conversations.

    An agent makes its tables at its first connect. This is for databases where it may not.

    \b
    Example:
      agentbreeder db init --print
    """


@command.command("init")
@click.option("--print", "print_", is_flag=True, help="Only print the SQL, for somebody who may run it.")
@click.option("--vector", is_flag=True, help="Also the extension that a knowledge base in the same database needs.")
@click.option("--variable", default="DATABASE_URL", show_default=True, metavar="NAME", help="Where the URL is.")
@common_options
@click.pass_obj
def init(mode: Mode, print_: bool, vector: bool, variable: str) -> None:
    """Make or bring up to date the tables of the memory.

    \b
    Example:
      agentbreeder db init --print | psql "$DATABASE_URL"
    """
    import os

    from agentbreeder_core.errors import ConfigError
    from agentbreeder_memory.postgres_sql import ADD_VECTOR, MIGRATIONS

    from ..views import out

    if print_:
        extension = [f"{ADD_VECTOR};"] if vector else []
        out.data("\n".join(["BEGIN;", *(m.strip() for m in MIGRATIONS), *extension, "COMMIT;"]))
        return
    url = os.environ.get(variable, "")
    if not url:
        raise ConfigError(f"{variable} is not set", hint="agentbreeder db init --print shows the SQL instead")
    _migrate(url, vector)
    out.talk(f"The tables of the memory are of version {len(MIGRATIONS)}.")


def _migrate(url: str, vector: bool) -> None:
    import asyncio

    from agentbreeder_core.errors import ConfigError
    from agentbreeder_memory import StoreError
    from agentbreeder_memory.postgres_log import PostgresLog

    async def connect() -> None:
        log = PostgresLog(url, window=0, ttl_s=0, vectors=vector)
        try:
            await log.connect()
        finally:
            await log.close()

    try:
        asyncio.run(connect())
    except StoreError as e:
        raise ConfigError(str(e), hint="check the URL, and that the user may make tables") from e
