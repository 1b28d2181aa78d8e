"""The log in Redis: two keys per session in one slot, one script call per turn.

`{am:NAMESPACE}:log` is a list of `ID LF MESSAGE`; `{am:NAMESPACE}:ids` is a hash of the ids that are kept. An append
costs the same at ten messages and at a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from substrate.connect.redis_calls import RedisCalls, Script

# ARGV: ttl, window (0: all), limit of the answer (-1: none, 0: all), replace, then ids and elements in turn.
_TURN = Script("""
local log, ids = KEYS[1], KEYS[2]
local ttl, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[4] == '1' then redis.call('DEL', log, ids) end
local length = -1
for i = 5, #ARGV, 2 do
  if redis.call('HSETNX', ids, ARGV[i], '') == 1 then
    length = redis.call('RPUSH', log, ARGV[i] .. '\\n' .. ARGV[i + 1])
  end
end
if window > 0 and length > window then
  local old = redis.call('LPOP', log, length - window)
  for i, e in ipairs(old) do old[i] = string.sub(e, 1, string.find(e, '\\n', 1, true) - 1) end
  for i = 1, #old, 1000 do redis.call('HDEL', ids, unpack(old, i, math.min(i + 999, #old))) end
end
if ttl > 0 then
  redis.call('EXPIRE', log, ttl)
  redis.call('EXPIRE', ids, ttl)
end
if limit < 0 then return 1 end
return redis.call('LRANGE', log, -limit, -1)
""")
_MOST = 2000  # messages of one call: what Lua can take


class RedisLog:
    """See `SessionLog`. `window` 0 keeps all; `ttl_s` 0 keeps for ever."""

    def __init__(self, url: str, *, window: int, ttl_s: int) -> None:
        self._redis = RedisCalls(url)
        self._window, self._ttl_s = window, ttl_s

    async def connect(self) -> None:
        """PING."""
        await self._redis.connect()

    async def close(self) -> None:
        """Every connection."""
        await self._redis.close()

    async def load(self, session: str, limit: int) -> list[bytes]:
        """LRANGE, and EXPIRE where there is a TTL."""
        if self._ttl_s:
            return await self._turn(session, (), limit)
        found = await self._redis.command("LRANGE", _keys(session)[0], -limit, -1)
        return [_message(e) for e in found]

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        if ids:
            await self._turn(session, _pairs(ids, messages), -1)

    async def append_and_load(
        self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int
    ) -> list[bytes]:
        """One call."""
        return await self._turn(session, _pairs(ids, messages), limit)

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        await self._turn(session, _pairs(ids, messages), -1, replace=1)

    async def clear(self, session: str) -> None:
        """DEL."""
        await self._redis.command("DEL", *_keys(session))

    async def _turn(self, session: str, pairs: Sequence[str | bytes], limit: int, *, replace: int = 0) -> list[bytes]:
        keys = _keys(session)
        arguments: tuple[Any, ...] = (self._ttl_s, self._window, limit, replace, *pairs)
        # An id is added once, so a repeated call does no harm.
        found = await self._redis.persistently(lambda _: self._redis.once(_TURN, keys, *arguments))
        return [] if limit < 0 else [_message(e) for e in found]


def _keys(session: str) -> tuple[str, str]:
    return f"{{am:{session}}}:log", f"{{am:{session}}}:ids"


def _pairs(ids: Sequence[str], messages: Sequence[bytes]) -> list[str | bytes]:
    if len(ids) > _MOST:
        raise ValueError(f"at most {_MOST} messages at once")
    return [part for pair in zip(ids, messages, strict=True) for part in pair]


def _message(element: bytes) -> bytes:
    return element[element.index(b"\n") + 1 :]
