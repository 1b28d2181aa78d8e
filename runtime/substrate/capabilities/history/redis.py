"""Conversations in Redis: one list per session, `{"run_id": ..., "msg": {...}}` per element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...connect.redis_calls import RedisCalls, Script
from ...kernel.codec import as_messages, dumps, loads, named
from ...kernel.lifecycle import Connected
from ...kernel.storage.history import ChatMessage, SessionKey

# ARGV: ttl, max, again, count, and the elements. A repeated append, and one of messages that came with ids, looks whether
# they are there already, in the spelling in which they were written; others have no need to.
_APPEND = Script("""
local n, first = tonumber(ARGV[4]), 5
local there = {}
if ARGV[3] == '1' then
  for _, e in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do there[e] = true end
end
for i = first, first + n - 1 do
  if not there[ARGV[i]] then redis.call('RPUSH', KEYS[1], ARGV[i]) end
end
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[2]), -1)
if tonumber(ARGV[1]) > 0 then redis.call('EXPIRE', KEYS[1], ARGV[1]) else redis.call('PERSIST', KEYS[1]) end
return 1
""")
_CLEAR_RUN = Script("""
local removed = 0
for _, e in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local start = string.sub(e, 1, 1) == '\\t' and 2 or 1
  if string.sub(e, start, start + #ARGV[1] - 1) == ARGV[1] then removed = removed + redis.call('LREM', KEYS[1], 1, e) end
end
return removed
""")
_MOST = 500  # messages of one append


class RedisHistoryProvider(Connected):
    """See `HistoryProvider`. Keeps the newest `max_messages`; `ttl` in seconds counts from the last append or refresh.

    The keys are `ravi:hist:{agent_type}:{agent_key}:{session_id}`. A message that comes with an id and is there already, as
    it is, is not added again; of two that share an id and differ, both are.
    """

    def __init__(self, redis_url: str, ttl: int | None = None, max_messages: int = 200) -> None:
        if max_messages < 1 or (ttl is not None and ttl <= 0):
            raise ValueError("max_messages is at least 1; ttl is a number of seconds above 0, or None")
        self._redis = RedisCalls(redis_url)
        self._ttl, self._max = ttl or 0, max_messages

    async def connect(self) -> None:
        """See that the server answers. Raises `StoreUnavailable`, `StoreMisconfigured`, `DriverMissing`."""
        await self._redis.connect()

    async def disconnect(self) -> None:
        """Let go of every connection."""
        await self._redis.close()

    async def append(
        self, key: SessionKey, messages: ChatMessage | Sequence[ChatMessage], *, run_id: str | None = None
    ) -> list[str]:
        """In one step with the trim and the TTL."""
        given = as_messages(messages)
        ids, encoded = named(given)
        if len(ids) > _MOST:
            raise ValueError(f"at most {_MOST} messages at once")
        if not ids:
            return []
        head = _head(run_id)
        elements = [_element(head, e) for e in encoded]
        name, own = _key(key), any(m.get("id") for m in given)
        numbers = (self._ttl, self._max)
        await self._redis.persistently(
            lambda again: self._redis.once(_APPEND, (name,), *numbers, int(again or own), len(elements), *elements)
        )
        return ids

    async def last(self, key: SessionKey, n: int) -> list[dict[str, Any]]:
        """LRANGE from the end."""
        return await self._slice(key, -n, -1) if n > 0 else []

    async def range(self, key: SessionKey, start: int, stop: int) -> list[dict[str, Any]]:
        """LRANGE."""
        return await self._slice(key, max(0, start), stop - 1) if stop > max(0, start) else []

    async def _slice(self, key: SessionKey, first: int, last: int) -> list[dict[str, Any]]:
        found = await self._redis.command("LRANGE", _key(key), first, last)
        return [_message(e) for e in found]

    async def count(self, key: SessionKey) -> int:
        """LLEN."""
        return int(await self._redis.command("LLEN", _key(key)))

    async def clear(self, key: SessionKey) -> None:
        """DEL."""
        await self._redis.command("DEL", _key(key))

    async def clear_run(self, key: SessionKey, run_id: str) -> int:
        """In one step on the server, so nothing that others append meanwhile is touched."""
        return int(await self._redis.script(_CLEAR_RUN, _key(key), _head(run_id)))

    async def refresh_ttl(self, key: SessionKey) -> None:
        """EXPIRE, or PERSIST without a TTL."""
        given = ("EXPIRE", _key(key), self._ttl) if self._ttl else ("PERSIST", _key(key))
        await self._redis.command(*given)


def _key(key: SessionKey) -> str:
    return f"ravi:hist:{key.composed}"


def _head(run_id: str | None) -> bytes:
    """How every element of a run begins, and of no other: the quoted text ends it."""
    return b'{"run_id":' + dumps(run_id).strip() + b',"msg":'


def _element(head: bytes, message: bytes) -> bytes:
    """A tab in front of the message, which says who can read it, stands in front of the whole element."""
    if message[:1] == b"\t":
        return b"\t" + head + message[1:] + b"}"
    return head + message + b"}"


def _message(element: bytes) -> dict[str, Any]:
    found: dict[str, Any] = loads(element)["msg"]
    return found
