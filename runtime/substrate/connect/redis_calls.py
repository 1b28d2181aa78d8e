"""Sending commands and scripts, with a broken connection told apart from everything else."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..kernel.retrying import again_after, mark_unsent, was_unsent
from .errors import StoreRefused, StoreUnavailable, reason
from .redis_client import open_redis

T = TypeVar("T")


class Script:
    """A Lua script, sent by its digest and once in full to a server that does not know it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisCalls:
    """One client per process and URL, made at the first call. Bound to the event loop that is running then."""

    def __init__(self, url: str, *, ca_pem: str = "") -> None:
        self._url, self._ca_pem = url, ca_pem
        self._client: Any = None
        self._transient: tuple[type[BaseException], ...] = ()
        self._no_script: type[BaseException] = Exception
        self._not_done: tuple[type[BaseException], ...] = ()
        self._read_only: type[BaseException] = Exception
        self._refused: type[BaseException] = Exception

    async def connect(self) -> None:
        """Make the client and see that the server answers. Raises `StoreUnavailable`, `StoreMisconfigured`,
        `DriverMissing`."""
        if self._client is None:
            client = open_redis(self._url, ca_pem=self._ca_pem)
            from redis import exceptions as e

            self._transient = (
                *(e.ConnectionError, e.TimeoutError, e.BusyLoadingError, e.ReadOnlyError),
                *(e.RedisClusterException, e.ClusterDownError, e.TryAgainError),
            )
            self._not_done = (e.BusyLoadingError, e.ReadOnlyError, e.ClusterDownError, e.TryAgainError)
            self._read_only = e.ReadOnlyError
            self._refused = e.RedisError
            self._no_script = e.NoScriptError
            self._client = client
        await self.command("PING")

    async def close(self) -> None:
        """Let go of every connection. A later call connects anew."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def command(self, *parts: Any) -> Any:
        """One command that may be repeated without harm."""
        return await self.persistently(lambda _: self._client.execute_command(*parts))

    async def script(self, script: Script, key: str | bytes, *arguments: Any) -> Any:
        """One script on one key, or on keys of one slot; it may be repeated without harm."""
        return await self.persistently(lambda _: self.once(script, (key,), *arguments))

    async def once(self, script: Script, keys: tuple[str | bytes, ...], *arguments: Any) -> Any:
        """One script, sent once."""
        if self._client is None:
            raise StoreUnavailable("it was closed in the meantime")
        run = self._client.execute_command
        try:
            return await run("EVALSHA", script.digest, len(keys), *keys, *arguments)
        except self._no_script:
            return await run("EVAL", script.text, len(keys), *keys, *arguments)

    async def ready(self) -> None:
        """See that there is a connection that is alive, before something is sent that must not be sent twice."""
        pool = getattr(self._client, "connection_pool", None)
        if pool is None:
            return  # a cluster's connections are its nodes' own
        try:
            await pool.release(await pool.get_connection())
        except self._transient as e:
            mark_unsent(e)
            raise

    async def persistently(self, call: Callable[[bool], Awaitable[T]]) -> T:
        """See `kernel.retrying`. Connects when nobody has yet. Raises `StoreUnavailable`."""
        if self._client is None:
            await self.connect()
        try:
            try:
                return await call(False)
            except self._transient as e:
                return await again_after(e, call, self._transient, self._between, self._unsent)
        except self._transient as e:
            raise StoreUnavailable(f"Redis could not be reached ({reason(e)})") from e
        except self._refused as e:
            raise StoreRefused(f"Redis does not take it ({reason(e)})") from e

    async def _between(self, error: BaseException) -> None:
        """After a failover the old connections lead to what is a replica now; the name leads elsewhere."""
        pool = getattr(self._client, "connection_pool", None)
        if isinstance(error, self._read_only) and pool is not None:
            await pool.disconnect(inuse_connections=False)

    def _unsent(self, error: BaseException) -> bool:
        """Whether nothing was done: there was no connection, or the server said that it is not the time for it."""
        return was_unsent(error) or isinstance(error, self._not_done)
