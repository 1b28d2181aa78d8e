"""Tables and functions of the log in PostgreSQL, by version. `agentbreeder db init --print` shows `MIGRATIONS`."""

from __future__ import annotations

LOCK = 4_837_201_955
# Not to_regclass: after waiting for the lock it may still answer from before, out of the session's own cache.
IS_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'agentbreeder_schema' AND pg_table_is_visible(oid))"
VERSION = "SELECT version FROM agentbreeder_schema"
FIRST = """
CREATE TABLE agentbreeder_schema (version int NOT NULL);
INSERT INTO agentbreeder_schema VALUES (1);

CREATE TABLE agentbreeder_sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL UNIQUE,
    first_seq bigint NOT NULL DEFAULT 1,
    next_seq bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    -- The hour of it: an index that changes once an hour leaves the other updates cheap.
    expires_hour int,
    outlived boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX agentbreeder_sessions_expiry ON agentbreeder_sessions (expires_hour) WHERE expires_hour IS NOT NULL;

CREATE TABLE agentbreeder_messages (
    session bigint NOT NULL REFERENCES agentbreeder_sessions (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session, seq),
    UNIQUE (session, message_id)
);

-- One turn in one round trip. Each statement inside sees what was committed before it, and the session's row stays
-- locked to the end, so numbers have no gaps and no doubles, and nobody reads half a turn.
CREATE FUNCTION agentbreeder_turn(
    the_namespace text, ids text[], payloads text[], ttl_s int, max_messages int, answer int, renew boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    given int := coalesce(array_length(ids, 1), 0);
    one record;
    added int;
    fresh timestamptz := CASE WHEN ttl_s > 0 THEN now() + make_interval(secs => ttl_s) END;
    hour int := extract(epoch FROM fresh)::bigint / 3600;
BEGIN
    IF given > 0 OR renew THEN
        INSERT INTO agentbreeder_sessions AS s (namespace, next_seq, expires_at, expires_hour)
        VALUES (the_namespace, 1 + given, fresh, hour)
        ON CONFLICT (namespace) DO UPDATE SET next_seq = s.next_seq + given,
            outlived = coalesce(s.expires_at <= now(), false), expires_at = fresh, expires_hour = hour
        RETURNING s.id, s.next_seq - given AS seq, s.first_seq, s.outlived INTO one;
        IF renew OR one.outlived THEN
            DELETE FROM agentbreeder_messages WHERE session = one.id;
            UPDATE agentbreeder_sessions SET first_seq = one.seq WHERE id = one.id;
            one.first_seq := one.seq;
        END IF;
    ELSE
        SELECT s.id, s.next_seq AS seq, s.first_seq, s.expires_at INTO one
        FROM agentbreeder_sessions s WHERE s.namespace = the_namespace AND (s.expires_at IS NULL OR s.expires_at > now());
        IF NOT FOUND THEN RETURN NULL; END IF;
        -- Use renews the life, but not every read has to write.
        IF (fresh IS NULL AND one.expires_at IS NOT NULL)
            OR (fresh IS NOT NULL AND (one.expires_at IS NULL OR one.expires_at < fresh - 0.1 * (fresh - now())))
        THEN
            UPDATE agentbreeder_sessions SET expires_at = fresh, expires_hour = hour WHERE id = one.id;
        END IF;
    END IF;
    IF given > 0 THEN
        INSERT INTO agentbreeder_messages (session, seq, message_id, payload)
        SELECT one.id, one.seq + g.n - 1, g.message_id, g.payload
        FROM unnest(ids, payloads) WITH ORDINALITY AS g (message_id, payload, n)
        ON CONFLICT (session, message_id) DO NOTHING;
        GET DIAGNOSTICS added = ROW_COUNT;
        IF added < given THEN
            -- Some were there: number the others again, without gaps. What the window has left behind does not count.
            DELETE FROM agentbreeder_messages WHERE session = one.id
                AND (seq >= one.seq OR (max_messages > 0 AND seq < one.seq - max_messages));
            IF max_messages > 0 AND one.first_seq < one.seq - max_messages THEN
                one.first_seq := one.seq - max_messages;
            END IF;
            INSERT INTO agentbreeder_messages (session, seq, message_id, payload)
            SELECT one.id, one.seq + row_number() OVER (ORDER BY g.n) - 1, g.message_id, g.payload
            FROM unnest(ids, payloads) WITH ORDINALITY AS g (message_id, payload, n)
            WHERE NOT EXISTS (
                SELECT 1 FROM agentbreeder_messages m WHERE m.session = one.id AND m.message_id = g.message_id
            );
            GET DIAGNOSTICS added = ROW_COUNT;
            UPDATE agentbreeder_sessions SET next_seq = one.seq + added, first_seq = one.first_seq WHERE id = one.id;
        END IF;
        one.seq := one.seq + added;
        -- Evicted some at a time, a tenth of the window late; nobody reads beyond the window meanwhile.
        IF max_messages > 0 AND one.seq - one.first_seq > max_messages + greatest(20, max_messages / 10) THEN
            DELETE FROM agentbreeder_messages WHERE session = one.id AND seq < one.seq - max_messages;
            UPDATE agentbreeder_sessions SET first_seq = one.seq - max_messages WHERE id = one.id;
        END IF;
    END IF;
    IF answer < 0 THEN RETURN NULL; END IF;
    IF max_messages > 0 AND (answer = 0 OR answer > max_messages) THEN answer := max_messages; END IF;
    IF given > 0 OR renew THEN
        RETURN (
            SELECT string_agg(m.payload, ',' ORDER BY m.seq) FROM agentbreeder_messages m
            WHERE m.session = one.id AND m.seq >= CASE WHEN answer = 0 THEN 0 ELSE one.seq - answer END
        );
    END IF;
    -- Without the session's lock its counter may have moved on since: the range and what is in it come from one look.
    RETURN (
        SELECT string_agg(m.payload, ',' ORDER BY m.seq) FROM agentbreeder_messages m
        WHERE m.session = one.id AND m.seq >= CASE WHEN answer = 0 THEN 0 ELSE (
            SELECT s.next_seq - answer FROM agentbreeder_sessions s WHERE s.id = one.id
        ) END
    );
END $$;

CREATE FUNCTION agentbreeder_pop(the_namespace text, max_messages int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    one record;
    newest record;
BEGIN
    SELECT s.id, s.first_seq, s.next_seq INTO one FROM agentbreeder_sessions s
    WHERE s.namespace = the_namespace AND (s.expires_at IS NULL OR s.expires_at > now()) FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- What has left the window and is not evicted yet must not come back into it.
    IF max_messages > 0 AND one.next_seq - one.first_seq > max_messages THEN
        DELETE FROM agentbreeder_messages m WHERE m.session = one.id AND m.seq < one.next_seq - max_messages;
        UPDATE agentbreeder_sessions s SET first_seq = one.next_seq - max_messages WHERE s.id = one.id;
    END IF;
    DELETE FROM agentbreeder_messages m WHERE m.session = one.id
        AND m.seq = (SELECT max(x.seq) FROM agentbreeder_messages x WHERE x.session = one.id)
    RETURNING m.seq, m.payload INTO newest;
    IF NOT FOUND THEN RETURN NULL; END IF;
    UPDATE agentbreeder_sessions SET next_seq = newest.seq WHERE id = one.id;
    RETURN newest.payload;
END $$;
"""
MIGRATIONS = (FIRST,)
"""In order; the n-th makes version n."""
GRANTS = """
-- What an agent's own user needs, where it is not the one that ran this; put its name for AGENT:
-- GRANT SELECT ON agentbreeder_schema TO AGENT;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON agentbreeder_sessions, agentbreeder_messages TO AGENT;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON session_states, session_state_fields TO AGENT;
""".strip()
HAS_VECTOR = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"
ADD_VECTOR = "CREATE EXTENSION IF NOT EXISTS vector"
TURN = "SELECT agentbreeder_turn($1, $2, $3, $4, $5, $6, $7)"
POP = "SELECT agentbreeder_pop($1, $2)"
CLEAR = "DELETE FROM agentbreeder_sessions WHERE namespace = $1"
EXPIRED = """
DELETE FROM agentbreeder_sessions WHERE id IN (
    SELECT id FROM agentbreeder_sessions
    WHERE expires_hour <= extract(epoch FROM now())::bigint / 3600 AND expires_at <= now()
    LIMIT $1 FOR UPDATE SKIP LOCKED
)
"""
