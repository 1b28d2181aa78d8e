"""`agentbreeder db`."""

from __future__ import annotations

from pathlib import Path

import click

from ..mode import Mode
from ..options import common_options


@click.group("db")
def command() -> None:
    """Prepare the database that keeps an agent's conversations.

    An agent makes its tables at its first connect; `init` is for databases where it may not. `upgrade` is for the memory
    service, which migrates nothing unasked.

    \b
    Example:
      agentbreeder db upgrade
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
    from agentbreeder_memory.postgres_sql import ADD_VECTOR, GRANTS, MIGRATIONS
    from substrate.capabilities.memory.durable_state import SCHEMA

    from ..views import out

    if print_:
        extension = [f"{ADD_VECTOR};"] if vector else []
        out.data("\n".join(["BEGIN;", *(m.strip() for m in MIGRATIONS), SCHEMA.strip(), *extension, "COMMIT;", GRANTS]))
        return
    url = os.environ.get(variable, "")
    if not url:
        raise ConfigError(f"{variable} is not set", hint="agentbreeder db init --print shows the SQL instead")
    _migrate(url, vector)
    out.talk(f"The tables of the memory are of version {len(MIGRATIONS)}.")


@command.command("upgrade")
@click.option("--variable", default="DATABASE_URL", show_default=True, metavar="NAME", help="Where the URL is.")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), help="A file of SQLite instead, such as .agentbreeder/memory.db."
)
@common_options
@click.pass_obj
def upgrade(mode: Mode, variable: str, file: Path | None) -> None:
    """Bring the memory service's database to this version.

    An agent may have made its tables there already; they are kept. A revision is applied whole or not at all.

    \b
    Example:
      agentbreeder db upgrade
    """
    import os

    from agentbreeder_core.errors import ConfigError, MissingExtra

    from ..views import out

    try:
        from agentbreeder_service.upgrading import upgrade_now
    except ImportError as e:
        raise MissingExtra(
            f"the service needs {e.name}, which is not installed", hint="pip install 'agentbreeder-memory[service]'"
        ) from e
    url = os.environ.get(variable, "").strip()
    if file is None and not url:
        raise ConfigError(
            f"{variable} is not set", hint="export it, or name a file: agentbreeder db upgrade --file PATH"
        )
    before, after = upgrade_now(url, file)
    if mode.json:
        out.document({"before": before or None, "after": after})
    else:
        out.talk(
            f"The database is at revision {after}."
            if before == after
            else f"Upgraded from {before or 'nothing'} to {after}."
        )


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
