"""State of sessions in Redis: one hash per session, one JSON value per field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...connect.redis_calls import RedisCalls, Script
from ...kernel.codec import dumps, loads
from ...kernel.lifecycle import Connected
from ...kernel.storage.memory import checked_state

_EXPIRE = (
    "if tonumber(ARGV[1]) > 0 then redis.call('EXPIRE', KEYS[1], ARGV[1]) "
    "else redis.call('PERSIST', KEYS[1]) end return 1"
)
_SET = Script(f"redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], unpack(ARGV, 2)) {_EXPIRE}")
_CREATE = Script(
    f"if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('HSET', KEYS[1], unpack(ARGV, 2)) {_EXPIRE}"
)
_UPDATE = Script(f"redis.call('HSET', KEYS[1], unpack(ARGV, 2)) {_EXPIRE}")
_MAX_FIELDS = 3000  # what one script call can unpack


class RedisSessionStore(Connected):
    """See `SessionStore`. `ttl` in seconds counts from the last change, None keeps a session for ever.

    The keys are `session:state:<session_id>`. One client per store; use one store per process. Every call may raise
    `StoreUnavailable` once the server was unreachable for some three seconds.
    """

    def __init__(self, redis_url: str, ttl: int | None = None, *, ca_pem: str = "") -> None:
        """`ca_pem` is the authority that a server with TLS shows, where the system does not know it (Memorystore)."""
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl is a number of seconds above 0, or None")
        self._redis = RedisCalls(redis_url, ca_pem=ca_pem)
        self._ttl = ttl or 0

    async def connect(self) -> None:
        """See that the server answers. Raises `StoreUnavailable`, `StoreMisconfigured`, `DriverMissing`."""
        await self._redis.connect()

    async def disconnect(self) -> None:
        """Let go of every connection."""
        await self._redis.close()

    async def get_state(self, session_id: str) -> dict[str, Any]:
        """HGETALL."""
        found = await self._redis.command("HGETALL", _key(session_id))
        return {_text(k): loads(v) for k, v in found.items()}

    async def set_state(self, session_id: str, state: Mapping[str, Any]) -> None:
        """DEL, HSET and EXPIRE in one step; an empty state leaves no key."""
        if not state:
            await self.clear(session_id)
            return
        await self._redis.script(_SET, _key(session_id), self._ttl, *_fields(session_id, state))

    async def update_state(self, session_id: str, changes: Mapping[str, Any]) -> None:
        """HSET and EXPIRE in one step."""
        if changes:
            await self._redis.script(_UPDATE, _key(session_id), self._ttl, *_fields(session_id, changes))

    async def create_state(self, session_id: str, state: Mapping[str, Any]) -> bool:
        """Keep it unless there is one, in one step; whether it was kept. After a lost answer it may say no to itself."""
        fields = _fields(session_id, state)
        return bool(await self._redis.script(_CREATE, _key(session_id), self._ttl, *fields))

    async def refresh_ttl(self, session_id: str) -> None:
        """EXPIRE, or PERSIST without a TTL."""
        given = ("EXPIRE", _key(session_id), self._ttl) if self._ttl else ("PERSIST", _key(session_id))
        await self._redis.command(*given)

    async def remove(self, session_id: str, fields: Sequence[str]) -> None:
        """HDEL; those that are not there do no harm."""
        if fields:
            await self._redis.command("HDEL", _key(session_id), *(f.encode("utf-8", "surrogatepass") for f in fields))

    async def clear(self, session_id: str) -> None:
        """DEL."""
        await self._redis.command("DEL", _key(session_id))


def _key(session_id: str) -> bytes:
    checked_state(session_id, {})
    return b"session:state:" + session_id.encode("utf-8", "surrogatepass")


def _fields(session_id: str, state: Mapping[str, Any]) -> list[bytes]:
    checked_state(session_id, state)
    if len(state) > _MAX_FIELDS:
        raise ValueError(f"a session's state has at most {_MAX_FIELDS} fields")
    return [part for k, v in state.items() for part in (k.encode("utf-8", "surrogatepass"), dumps(v))]


def _text(field: Any) -> str:
    return field.decode("utf-8", "surrogatepass") if isinstance(field, bytes) else str(field)
