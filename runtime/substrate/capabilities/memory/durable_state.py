"""State of sessions in PostgreSQL: one row per field, one call per operation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ...connect.cloud_sql import CloudSqlInstance
from ...connect.postgres_pool import PostgresPool
from ...kernel.codec import dumps, from_storable, loads, to_storable
from ...kernel.lifecycle import Connected
from ...kernel.storage.memory import checked_state

SCHEMA = """
CREATE TABLE IF NOT EXISTS session_states (
    session_id text COLLATE "C" PRIMARY KEY,
    expires_at timestamptz,
    outlived boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS session_states_expiry ON session_states (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS session_state_fields (
    session_id text COLLATE "C" NOT NULL REFERENCES session_states ON DELETE CASCADE,
    field text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (session_id, field)
) WITH (fillfactor = 70);

-- The session's row stays locked to the end, so that a set and an update at the same time do not mix.
CREATE OR REPLACE FUNCTION session_state_update(
    the_session text, fields text[], contents text[], ttl_s int, renew boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fresh timestamptz := CASE WHEN ttl_s > 0 THEN now() + make_interval(secs => ttl_s) END;
    gone boolean;
BEGIN
    INSERT INTO session_states AS s (session_id, expires_at) VALUES (the_session, fresh)
    ON CONFLICT (session_id) DO UPDATE SET outlived = coalesce(s.expires_at <= now(), false), expires_at = fresh
    RETURNING s.outlived INTO gone;
    IF renew OR gone THEN
        DELETE FROM session_state_fields WHERE session_id = the_session;
    END IF;
    INSERT INTO session_state_fields (session_id, field, value)
    SELECT the_session, g.field, g.value FROM unnest(fields, contents) AS g (field, value)
    ON CONFLICT (session_id, field) DO UPDATE SET value = EXCLUDED.value;
END $$;
"""
# An expired session is none: its row is taken over, and what it held goes.
_CREATE = """
WITH made AS (
    INSERT INTO session_states AS s (session_id, expires_at)
    VALUES ($1, CASE WHEN $4 > 0 THEN now() + make_interval(secs => $4) END)
    ON CONFLICT (session_id) DO UPDATE SET outlived = true WHERE s.expires_at <= now() RETURNING 1
)
SELECT session_state_update($1, $2, $3, $4, true) FROM made
"""
_REFRESH = """
UPDATE session_states SET expires_at = CASE WHEN $2 > 0 THEN now() + make_interval(secs => $2) END
WHERE session_id = $1 AND (expires_at IS NULL OR expires_at > now())
"""
_UPDATE = "SELECT session_state_update($1, $2, $3, $4, $5)"
_GET = """
SELECT field, value FROM session_state_fields WHERE session_id = (
    SELECT session_id FROM session_states WHERE session_id = $1 AND (expires_at IS NULL OR expires_at > now())
)
"""
_REMOVE = "DELETE FROM session_state_fields WHERE session_id = $1 AND field = ANY($2)"
_CLEAR = "DELETE FROM session_states WHERE session_id = $1"
_EXPIRED = """
DELETE FROM session_states WHERE session_id IN (
    SELECT session_id FROM session_states WHERE expires_at <= now() LIMIT 200 FOR UPDATE SKIP LOCKED
)
"""
_SWEEP_EVERY_S = 60.0


class DurableSessionStore(Connected):
    """See `SessionStore`. `ttl` in seconds counts from the last change, None keeps a session for ever.

    What outlived it is not read from that moment on, and deleted a little at a time beside later changes. Use one store per
    process. Every call may raise `StoreUnavailable` once the server was unreachable for some three seconds.
    """

    def __init__(self, database_url: str, ttl: int | None = None, *, instance: CloudSqlInstance | None = None) -> None:
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl is a number of seconds above 0, or None")
        self._pool = PostgresPool(database_url, instance=instance)
        self._ttl = ttl or 0
        self._swept = 0.0

    async def connect(self) -> None:
        """Connect, and make the tables when they are not there."""
        await self._pool.connect()
        await self._pool.create("session_states", SCHEMA)

    async def disconnect(self) -> None:
        """Let go of every connection."""
        await self._pool.close()

    async def get_state(self, session_id: str) -> dict[str, Any]:
        """One statement."""
        rows = await self._pool.run(lambda connection: connection.fetch(_GET, _key(session_id)))
        return {from_storable(row["field"]): loads(row["value"]) for row in rows}

    async def set_state(self, session_id: str, state: Mapping[str, Any]) -> None:
        """Replace in one step; an empty state leaves no row."""
        if state:
            await self._change(session_id, state, renew=True)
        else:
            await self.clear(session_id)

    async def update_state(self, session_id: str, changes: Mapping[str, Any]) -> None:
        """Merge in one step."""
        if changes:
            await self._change(session_id, changes, renew=False)

    async def create_state(self, session_id: str, state: Mapping[str, Any]) -> bool:
        """Keep it unless there is one, in one statement; whether it was kept. After a lost answer it may say no to itself."""
        values = (*_values(session_id, state), self._ttl)
        rows = await self._pool.run(lambda connection: connection.fetch(_CREATE, *values))
        return bool(rows)

    async def refresh_ttl(self, session_id: str) -> None:
        """One statement; what has outlived its TTL stays so."""
        await self._pool.run(lambda connection: connection.execute(_REFRESH, _key(session_id), self._ttl))

    async def remove(self, session_id: str, fields: Sequence[str]) -> None:
        """Take fields away; those that are not there do no harm."""
        values = (_key(session_id), [to_storable(f) for f in fields])
        await self._pool.run(lambda connection: connection.execute(_REMOVE, *values))

    async def clear(self, session_id: str) -> None:
        """Forget the session."""
        await self._pool.run(lambda connection: connection.execute(_CLEAR, _key(session_id)))

    async def _change(self, session_id: str, state: Mapping[str, Any], *, renew: bool) -> None:
        values = (*_values(session_id, state), self._ttl, renew)
        await self._pool.run(lambda connection: connection.execute(_UPDATE, *values))
        if self._ttl and time.monotonic() - self._swept > _SWEEP_EVERY_S:
            self._swept = time.monotonic()
            await self._pool.run(lambda connection: connection.execute(_EXPIRED))


def _key(session_id: str) -> str:
    checked_state(session_id, {})
    return to_storable(session_id)


def _values(session_id: str, state: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    checked_state(session_id, state)
    return _key(session_id), [to_storable(f) for f in state], [dumps(v).decode() for v in state.values()]
