"""The log in Redis: three keys per session in one slot, one script call per turn.

`{am:NAMESPACE}:log` is the list of messages, `:order` the list of their ids, `:ids` the hash of the ids that are kept.
An append costs the same at ten messages and at a hundred thousand.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from substrate.connect.errors import StoreUnavailable
from substrate.connect.redis_calls import RedisCalls, Script

from .log import ANSWER_LOST

# ARGV: four numbers in one text, because the client spends more on each argument than Lua on taking them apart: ttl,
# window (0: all), limit of the answer (-1: none, 0: all), replace. Then ids and messages in turn. The answer is a list:
# joining fifty messages costs Redis four times what it costs the client.
_TURN = Script("""
local log, order, ids = KEYS[1], KEYS[2], KEYS[3]
local ttl, window, limit, renew = string.match(ARGV[1], '(%S+) (%S+) (%S+) (%S+)')
ttl, window, limit = tonumber(ttl), tonumber(window), tonumber(limit)
if renew == '1' then redis.call('DEL', log, order, ids) end
local length = -1
for i = 2, #ARGV, 2 do
  if redis.call('HSETNX', ids, ARGV[i], '') == 1 then
    redis.call('RPUSH', order, ARGV[i])
    length = redis.call('RPUSH', log, ARGV[i + 1])
  end
end
if window > 0 and length > window then
  redis.call('LTRIM', log, -window, -1)
  local old = redis.call('LPOP', order, length - window)
  for i = 1, #old, 1000 do redis.call('HDEL', ids, unpack(old, i, math.min(i + 999, #old))) end
end
if ttl > 0 then
  for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ttl) end
elseif redis.call('PERSIST', log) == 1 then
  redis.call('PERSIST', order)
  redis.call('PERSIST', ids)
end
if limit < 0 then return {} end
return redis.call('LRANGE', log, -limit, -1)
""")
_POP = Script("""
local message = redis.call('RPOP', KEYS[1])
if not message then return false end
redis.call('HDEL', KEYS[3], redis.call('RPOP', KEYS[2]))
return message
""")
_CLEAR = Script("return redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])")
_MOST = 2000  # messages of one call: what Lua can take


class RedisLog:
    """See `SessionLog`. `window` 0 keeps all; `ttl_s` 0 keeps for ever."""

    def __init__(self, url: str, *, window: int, ttl_s: int, ca_pem: str = "") -> None:
        self._redis = RedisCalls(url, ca_pem=ca_pem)
        self._window, self._ttl_s = window, ttl_s

    def unbounded(self) -> RedisLog:
        """Shares everything but the window."""
        made = copy.copy(self)
        made._window = 0
        return made

    async def connect(self) -> None:
        """PING."""
        await self._redis.connect()

    async def close(self) -> None:
        """Every connection."""
        await self._redis.close()

    async def load(self, session: str, limit: int) -> bytes:
        """LRANGE, and EXPIRE where there is a TTL."""
        return await self._turn(session, (), limit)

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        if ids:
            await self._turn(session, _pairs(ids, messages), -1)

    async def append_and_load(self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int) -> bytes:
        """One call."""
        return await self._turn(session, _pairs(ids, messages), limit)

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """One call."""
        keys, pairs = _keys(session), _pairs(ids, messages)
        await self._once(lambda: self._redis.once(_TURN, keys, f"{self._ttl_s} {self._window} -1 1", *pairs))

    async def pop(self, session: str) -> bytes | None:
        """One call."""

        found: bytes | None = await self._once(lambda: self._redis.once(_POP, _keys(session)))
        return found

    async def clear(self, session: str) -> None:
        """One call."""
        await self._once(lambda: self._redis.once(_CLEAR, _keys(session)))

    async def _once(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """What a second time may take from what others added since the first."""

        async def take(again: bool) -> Any:
            if again:
                raise StoreUnavailable(ANSWER_LOST)
            await self._redis.ready()
            return await call()

        return await self._redis.persistently(take)

    async def _turn(self, session: str, pairs: Sequence[str | bytes], limit: int) -> bytes:
        keys = _keys(session)
        arguments: tuple[Any, ...] = (f"{self._ttl_s} {self._window} {limit} 0", *pairs)
        # An id is added once, so a repeated call does no harm.
        found = await self._redis.persistently(lambda _: self._redis.once(_TURN, keys, *arguments))
        return b"[" + b",".join(found) + b"]"


def _keys(session: str) -> tuple[str, str, str]:
    return f"{{am:{session}}}:log", f"{{am:{session}}}:order", f"{{am:{session}}}:ids"


def _pairs(ids: Sequence[str], messages: Sequence[bytes]) -> list[str | bytes]:
    if len(ids) > _MOST:
        raise ValueError(f"at most {_MOST} messages at once")
    return [part for pair in zip(ids, messages, strict=True) for part in pair]
