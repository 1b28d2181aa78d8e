"""The statements of `DurableHistoryProvider`. Everything a user brings is a parameter."""

from __future__ import annotations

LOCK = 4_837_201_955
SCHEMA = (
    """
CREATE TABLE IF NOT EXISTS history_sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_type text NOT NULL,
    agent_key text NOT NULL,
    session_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    message_count bigint NOT NULL DEFAULT 0,
    next_seq bigint NOT NULL DEFAULT 1,
    UNIQUE (agent_type, agent_key, session_id)
)""",
    """
CREATE TABLE IF NOT EXISTS history_messages (
    session bigint NOT NULL REFERENCES history_sessions (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    message_id text NOT NULL,
    run_id text,
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session, seq),
    UNIQUE (session, message_id)
)""",
    "CREATE INDEX IF NOT EXISTS history_messages_run ON history_messages (session, run_id) WHERE run_id IS NOT NULL",
)
# The counter's row is locked until the messages are in, so sequence numbers have no gaps and no doubles; the numbers
# come from RETURNING alone, never from a look at the messages.
APPEND = """
WITH given AS (
    SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:payloads AS text[])) WITH ORDINALITY AS g (message_id, payload, n)
), counted AS (
    INSERT INTO history_sessions AS s (agent_type, agent_key, session_id, message_count, next_seq)
    VALUES (:agent_type, :agent_key, :session_id, CAST(:count AS bigint), CAST(:count AS bigint) + 1)
    ON CONFLICT (agent_type, agent_key, session_id) DO UPDATE
        SET next_seq = s.next_seq + CAST(:count AS bigint),
            message_count = s.message_count + CAST(:count AS bigint), updated_at = now()
    RETURNING s.id, s.next_seq
)
INSERT INTO history_messages (session, seq, message_id, run_id, payload)
SELECT counted.id, counted.next_seq - CAST(:count AS bigint) + given.n - 1, given.message_id, :run_id, CAST(given.payload AS jsonb)
FROM counted, given
"""
_SESSION = "(SELECT id FROM history_sessions WHERE agent_type = :agent_type AND agent_key = :agent_key AND session_id = :session_id)"
KNOWN = f"SELECT message_id FROM history_messages WHERE session = {_SESSION} AND message_id = ANY(CAST(:ids AS text[]))"
# By range of the number, not by ORDER BY and LIMIT over all of a session: an unanalysed table would be read whole.
LAST = f"""
SELECT CAST(payload AS text) FROM history_messages WHERE session = {_SESSION} ORDER BY seq DESC LIMIT :n
"""
RANGE = f"""
SELECT CAST(payload AS text) FROM history_messages WHERE session = {_SESSION} ORDER BY seq OFFSET :start LIMIT :n
"""
COUNT = f"SELECT message_count FROM history_sessions WHERE id = {_SESSION}"
CLEAR = f"DELETE FROM history_sessions WHERE id = {_SESSION}"
CLEAR_RUN = f"""
WITH locked AS (
    SELECT id FROM history_sessions WHERE id = {_SESSION} FOR UPDATE
), gone AS (
    DELETE FROM history_messages m USING locked WHERE m.session = locked.id AND m.run_id = :run_id RETURNING 1
), counted AS (
    UPDATE history_sessions s SET message_count = s.message_count - (SELECT count(*) FROM gone)
    FROM locked WHERE s.id = locked.id
)
SELECT count(*) FROM gone
"""
TOUCH = f"UPDATE history_sessions SET updated_at = now() WHERE id = {_SESSION}"
EXPIRED = """
DELETE FROM history_sessions WHERE id IN (
    SELECT id FROM history_sessions WHERE updated_at < now() - make_interval(secs => :ttl) LIMIT :batch
    FOR UPDATE SKIP LOCKED
)
"""
