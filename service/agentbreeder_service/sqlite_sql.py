"""The same tables in SQLite, and a full text index kept by triggers. Everything a user brings is a parameter."""

from __future__ import annotations

SCHEMA = (
    """
CREATE TABLE agentbreeder_sessions (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL UNIQUE,
    first_seq INTEGER NOT NULL DEFAULT 1,
    next_seq INTEGER NOT NULL DEFAULT 1,
    created_at REAL NOT NULL,
    expires_at REAL
)""",
    """
CREATE TABLE agentbreeder_messages (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES agentbreeder_sessions (id),
    seq INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    user_id TEXT,
    content TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (session, message_id)
)""",
    "CREATE INDEX agentbreeder_messages_seq ON agentbreeder_messages (session, seq)",
    "CREATE INDEX agentbreeder_messages_user ON agentbreeder_messages (user_id) WHERE user_id IS NOT NULL",
    """
CREATE VIRTUAL TABLE agentbreeder_search USING fts5(
    content, content='agentbreeder_messages', content_rowid='id', tokenize='porter unicode61'
)""",
    """
CREATE TRIGGER agentbreeder_search_add AFTER INSERT ON agentbreeder_messages BEGIN
    INSERT INTO agentbreeder_search (rowid, content) VALUES (new.id, new.content);
END""",
    """
CREATE TRIGGER agentbreeder_search_take AFTER DELETE ON agentbreeder_messages BEGIN
    INSERT INTO agentbreeder_search (agentbreeder_search, rowid, content) VALUES ('delete', old.id, old.content);
END""",
    # A session's messages go with it, and each with its words.
    """
CREATE TRIGGER agentbreeder_sessions_take BEFORE DELETE ON agentbreeder_sessions BEGIN
    DELETE FROM agentbreeder_messages WHERE session = old.id;
END""",
)
ALIVE = """
s.namespace >= :first AND s.namespace < :end AND (:only IS NULL OR matches(:only, s.namespace))
AND (s.expires_at IS NULL OR s.expires_at > :now)
"""
COUNT = "CASE WHEN :window > 0 THEN min(s.next_seq - s.first_seq, :window) ELSE s.next_seq - s.first_seq END"
EXPIRE = "DELETE FROM agentbreeder_sessions WHERE namespace = :namespace AND expires_at <= :now"
SWEEP = """
DELETE FROM agentbreeder_sessions WHERE id IN (SELECT id FROM agentbreeder_sessions WHERE expires_at <= :now LIMIT 200)
"""
TOUCH = """
INSERT INTO agentbreeder_sessions (namespace, created_at, expires_at) VALUES (:namespace, :now, :expires)
ON CONFLICT (namespace) DO UPDATE SET expires_at = excluded.expires_at
RETURNING id, next_seq, first_seq
"""
ADD = """
INSERT INTO agentbreeder_messages (session, seq, message_id, payload, user_id, content, created_at)
VALUES (:session, :seq, :id, :payload, :user, :content, :now) ON CONFLICT (session, message_id) DO NOTHING
"""
COUNTED = "UPDATE agentbreeder_sessions SET next_seq = :next, first_seq = :first WHERE id = :session"
EVICT = "DELETE FROM agentbreeder_messages WHERE session = :session AND seq < :first"
KEPT = """
SELECT message_id AS id, seq, payload, created_at FROM agentbreeder_messages
WHERE session = :session AND message_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq
"""
PAGE = """
SELECT m.message_id AS id, m.seq, m.payload, m.created_at
FROM agentbreeder_messages m JOIN agentbreeder_sessions s ON s.id = m.session
WHERE s.namespace = :namespace AND (s.expires_at IS NULL OR s.expires_at > :now)
    AND m.seq < coalesce(:before, s.next_seq) AND m.seq >= min(coalesce(:before, s.next_seq), s.next_seq) - :limit
    AND (:window = 0 OR m.seq >= s.next_seq - :window)
ORDER BY m.seq
"""
SESSIONS = f"""
SELECT s.namespace, {COUNT} AS messages, s.created_at,
    (SELECT m.created_at FROM agentbreeder_messages m WHERE m.session = s.id AND m.seq = s.next_seq - 1) AS last_at
FROM agentbreeder_sessions s WHERE {ALIVE} AND s.namespace > :after ORDER BY s.namespace LIMIT :limit
"""
STATS = f"SELECT count(*) AS sessions, coalesce(sum({COUNT}), 0) AS messages FROM agentbreeder_sessions s WHERE {ALIVE}"
SEARCH = f"""
SELECT s.namespace, m.message_id AS id, m.seq, m.payload, m.created_at, -bm25(agentbreeder_search) AS score,
    snippet(agentbreeder_search, 0, '\ue100', '\ue101', '…', 24) AS highlight
FROM agentbreeder_search JOIN agentbreeder_messages m ON m.id = agentbreeder_search.rowid
JOIN agentbreeder_sessions s ON s.id = m.session
WHERE agentbreeder_search MATCH :query AND {ALIVE} AND (:window = 0 OR m.seq >= s.next_seq - :window)
ORDER BY bm25(agentbreeder_search), m.created_at DESC, m.message_id LIMIT :limit
"""
DELETE_SESSION = "DELETE FROM agentbreeder_sessions WHERE namespace = :namespace"
_IN_PART = "s.namespace >= :first AND s.namespace < :end AND (:only IS NULL OR matches(:only, s.namespace))"
ENDING = f"""
SELECT s.namespace FROM agentbreeder_sessions s
WHERE {ALIVE} AND (:length = 0 OR substr(s.namespace, -:length) = :suffix) LIMIT :limit
"""
# Also what has expired and is not deleted yet.
DELETE_PART = f"DELETE FROM agentbreeder_sessions AS s WHERE {_IN_PART}"
USERS_SESSIONS = f"""
SELECT DISTINCT s.id, s.first_seq FROM agentbreeder_messages m JOIN agentbreeder_sessions s ON s.id = m.session
WHERE m.user_id = :user AND {_IN_PART}
"""
FORGET = "DELETE FROM agentbreeder_messages WHERE session = :session AND user_id = :user"
RENUMBER = """
UPDATE agentbreeder_messages SET seq = :first - 1 + (
    SELECT count(*) FROM agentbreeder_messages x WHERE x.session = :session AND x.seq <= agentbreeder_messages.seq
) WHERE session = :session
"""
EMPTY = "DELETE FROM agentbreeder_sessions WHERE id = :session AND next_seq = first_seq"
