"""Serving the API: one process or several, with an end that loses no write."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from agentbreeder_core.errors import ConfigError

from . import migrate
from .api.app import make_app
from .database import Database
from .settings import ServiceSettings
from .tokens import create_token

GRACE_S = 25
"""How long requests may take to end after SIGTERM: less than the thirty seconds that most platforms give."""
_SQLITE = "AGENTBREEDER_SQLITE"


def application() -> object:
    """What each worker process runs; its settings come from the environment."""
    sqlite = os.environ.get(_SQLITE, "")
    return make_app(ServiceSettings.from_environ(os.environ, sqlite_path=Path(sqlite) if sqlite else None))


def prepare_dev(path: Path, environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The environment for trying it out, with a token for one day of an admin of the team `default`.

    A file that is not there yet is made; one of another revision is not touched. Raises `ConfigError`.
    """
    # Nothing of what stands in the environment for another service counts here, nor does this token there.
    unset = dict.fromkeys(
        ("DATABASE_URL", "DATABASE_READ_URL", "AGENTBREEDER_JWT_PUBLIC_KEY", "AGENTBREEDER_JWKS_URL"), ""
    )
    made = {**unset, "AGENTBREEDER_JWT_SECRET": secrets.token_hex(32), _SQLITE: str(path)}
    if not path.exists():
        asyncio.run(_upgrade(Database(sqlite_path=path)))
    settings = ServiceSettings.from_environ({**environ, **made}, sqlite_path=path)
    token = create_token(settings.tokens, subject="dev", team="default", roles=("admin",), lifetime=timedelta(days=1))
    return made, token


def check_before(environ: Mapping[str, str]) -> None:
    """One line instead of a process that ends while it starts. Raises `ConfigError`."""
    sqlite = environ.get(_SQLITE, "")
    settings = ServiceSettings.from_environ(environ, sqlite_path=Path(sqlite) if sqlite else None)
    asyncio.run(_check(settings))


def check_port(host: str, port: int) -> None:
    """One line before anything is printed that would not hold. Raises `ConfigError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as e:
        raise ConfigError(
            f"{host}:{port} cannot be listened on ({e.strerror or type(e).__name__})",
            hint="choose another --port or --host",
        ) from e


def serve(host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or Ctrl-C. New connections are refused then, and requests that came in are answered, for at most
    25 seconds. Blocks."""
    import uvicorn

    folder = None
    if workers > 1 and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="agentbreeder-metrics-")
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder.name
    try:
        uvicorn.run(
            "agentbreeder_service.server:application",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=75,
        )
    finally:
        if folder is not None:
            folder.cleanup()


async def _upgrade(database: Database) -> None:
    await migrate.upgrade(database)
    await database.close()


async def _check(settings: ServiceSettings) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    database = Database(url=settings.database_url, sqlite_path=settings.sqlite_path)
    try:
        await migrate.check(database)
    except (SQLAlchemyError, OSError) as e:
        raise ConfigError(
            f"the database cannot be reached ({type(e).__name__})", hint="check DATABASE_URL, and that the server runs"
        ) from e
    finally:
        await database.close()
