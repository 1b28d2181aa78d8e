"""What the service adds to the runtime's tables in PostgreSQL, and asks of them. Everything a user brings is a parameter."""

from __future__ import annotations

SCHEMA = r"""
-- A payload as jsonb, with what jsonb cannot hold (NUL, lone surrogates) as U+E000 and four digits, as the runtime writes it
-- elsewhere. Only after an even number of backslashes does \u begin an escape.
CREATE FUNCTION agentbreeder_json(payload text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN payload::jsonb;
EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
    RETURN regexp_replace(
        payload,
        '(?<!\\)((?:\\\\)*)\\u(0000|d[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2}\\u)d[c-f][0-9a-f]{2})',
        '\1\\ue000\2', 'g'
    )::jsonb;
END $$;

-- What is searched of a message: its content, in text or in parts, and as one more word the config's part (see there). Text
-- of very many different words does not fit a tsvector: then the beginning is searched.
CREATE FUNCTION agentbreeder_text(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE content jsonb := agentbreeder_json(payload) -> 'content';
BEGIN
    RETURN left(CASE jsonb_typeof(content) WHEN 'string' THEN content #>> '{}' ELSE content::text END, 200000);
EXCEPTION WHEN OTHERS THEN
    RETURN ''; -- no text of a user keeps a message from being stored
END $$;
CREATE FUNCTION agentbreeder_words(payload text, part text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE content text := coalesce(agentbreeder_text(payload), '');
BEGIN
    RETURN to_tsvector('english', content) || array_to_tsvector(ARRAY[' ' || part]);
EXCEPTION WHEN program_limit_exceeded THEN
    RETURN to_tsvector('english', left(content, 20000)) || array_to_tsvector(ARRAY[' ' || part]);
END $$;

CREATE FUNCTION agentbreeder_user(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE found jsonb := agentbreeder_json(payload) -> 'user_id';
BEGIN
    RETURN CASE jsonb_typeof(found) WHEN 'string' THEN left(found #>> '{}', 512) END; -- an index holds no more
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- TEAM/CONFIG/, which a config's namespaces begin with. Among the words of each of its messages it is one that no text has,
-- so that a search reads its own config's part of the index, however large the others are.
CREATE FUNCTION agentbreeder_part(namespace text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(substring(namespace FROM '^[^/]+/[^/]+/'), '')
$$;

ALTER TABLE agentbreeder_messages ADD COLUMN part text COLLATE "C" NOT NULL DEFAULT '';
UPDATE agentbreeder_messages m SET part = agentbreeder_part(s.namespace) FROM agentbreeder_sessions s
WHERE s.id = m.session;
CREATE FUNCTION agentbreeder_say_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.part := agentbreeder_part((SELECT s.namespace FROM agentbreeder_sessions s WHERE s.id = NEW.session));
    RETURN NEW;
END $$;
CREATE TRIGGER agentbreeder_say_part BEFORE INSERT ON agentbreeder_messages
FOR EACH ROW EXECUTE FUNCTION agentbreeder_say_part();

ALTER TABLE agentbreeder_messages
    ADD COLUMN search tsvector GENERATED ALWAYS AS (agentbreeder_words(payload, part)) STORED,
    ADD COLUMN user_id text COLLATE "C" GENERATED ALWAYS AS (agentbreeder_user(payload)) STORED;
-- For a session whose agent is not known: what follows the agent in its namespace is.
CREATE INDEX agentbreeder_sessions_backwards ON agentbreeder_sessions ((reverse(namespace) COLLATE "C"));
CREATE INDEX agentbreeder_messages_search ON agentbreeder_messages USING gin (search);
CREATE INDEX agentbreeder_messages_user ON agentbreeder_messages (user_id) WHERE user_id IS NOT NULL;

-- Keep messages and say under which numbers, in one round trip; a message whose id is known stays as it was.
CREATE FUNCTION agentbreeder_post(the_namespace text, ids text[], payloads text[], ttl_s int, max_messages int)
RETURNS TABLE (id text, seq bigint, payload text, created_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM agentbreeder_turn(the_namespace, ids, payloads, ttl_s, max_messages, -1, false);
    RETURN QUERY SELECT m.message_id, m.seq, m.payload, m.created_at FROM agentbreeder_messages m
    WHERE m.session = (SELECT s.id FROM agentbreeder_sessions s WHERE s.namespace = the_namespace)
        AND m.message_id = ANY (ids) ORDER BY m.seq;
END $$;

-- The newest before a number, in order, as one JSON array that nobody has to take apart; by range of the number, whatever
-- the planner knows of the table.
CREATE FUNCTION agentbreeder_page(the_namespace text, before bigint, count int, max_messages int)
RETURNS TABLE (first bigint, messages bigint, body text) LANGUAGE plpgsql STABLE SET timezone = 'UTC' AS $$
DECLARE
    one record;
    upper bigint;
BEGIN
    SELECT s.id, s.next_seq INTO one FROM agentbreeder_sessions s
    WHERE s.namespace = the_namespace AND (s.expires_at IS NULL OR s.expires_at > now());
    IF NOT FOUND THEN RETURN; END IF;
    upper := least(coalesce(before, one.next_seq), one.next_seq);
    RETURN QUERY SELECT min(m.seq), count(*), string_agg(
        -- After a tab, what the runtime writes for some odd texts.
        concat('{"seq":', m.seq, ',"created_at":', to_json(m.created_at), ',',
            substr(m.payload, CASE WHEN starts_with(m.payload, E'\t') THEN 3 ELSE 2 END)), ',' ORDER BY m.seq)
    FROM agentbreeder_messages m
    WHERE m.session = one.id AND m.seq < upper AND m.seq >= upper - count
        AND m.seq >= CASE WHEN max_messages > 0 THEN one.next_seq - max_messages ELSE 0 END;
END $$;

-- Take a user's messages out of one session and number the rest anew, without gaps.
CREATE FUNCTION agentbreeder_forget(the_session bigint, the_user text[], max_messages int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    one record;
    gone bigint;
    kept bigint;
BEGIN
    SELECT s.id, s.first_seq, s.next_seq INTO one FROM agentbreeder_sessions s WHERE s.id = the_session FOR UPDATE;
    IF NOT FOUND THEN RETURN 0; END IF;
    -- What has left the window and is not evicted yet must not come back into it.
    DELETE FROM agentbreeder_messages m WHERE m.session = the_session AND max_messages > 0 AND m.seq < one.next_seq - max_messages;
    DELETE FROM agentbreeder_messages m WHERE m.session = the_session AND m.user_id = ANY (the_user);
    GET DIAGNOSTICS gone = ROW_COUNT;
    -- Through negative numbers, because the key is checked row by row.
    UPDATE agentbreeder_messages m SET seq = -n.place FROM (
        SELECT x.seq, row_number() OVER (ORDER BY x.seq) AS place FROM agentbreeder_messages x WHERE x.session = the_session
    ) n WHERE m.session = the_session AND m.seq = n.seq;
    GET DIAGNOSTICS kept = ROW_COUNT;
    UPDATE agentbreeder_messages m SET seq = one.first_seq - 1 - m.seq WHERE m.session = the_session;
    UPDATE agentbreeder_sessions s SET next_seq = one.first_seq + kept WHERE s.id = the_session;
    IF kept = 0 THEN DELETE FROM agentbreeder_sessions s WHERE s.id = the_session; END IF;
    RETURN gone;
END $$;
"""
POST = "SELECT * FROM agentbreeder_post($1, $2, $3, $4, $5)"
PAGE = "SELECT * FROM agentbreeder_page($1, $2, $3, $4)"
# The sessions of a part that are alive: $1 and $2 are the first namespace and the one after the last, $3 a pattern or NULL.
ALIVE = """
s.namespace >= $1 AND s.namespace < $2 AND ($3::text IS NULL OR s.namespace ~ $3)
AND (s.expires_at IS NULL OR s.expires_at > now())
"""
_COUNT = "CASE WHEN $4 > 0 THEN least(s.next_seq - s.first_seq, $4) ELSE s.next_seq - s.first_seq END"
SESSIONS = f"""
SELECT s.namespace, {_COUNT} AS messages, s.created_at,
    (SELECT m.created_at FROM agentbreeder_messages m WHERE m.session = s.id AND m.seq = s.next_seq - 1) AS last_at
FROM agentbreeder_sessions s WHERE {ALIVE} AND s.namespace > $5 ORDER BY s.namespace LIMIT $6
"""
STATS = f"""
SELECT count(*) AS sessions, coalesce(sum({_COUNT}), 0)::bigint AS messages FROM agentbreeder_sessions s WHERE {ALIVE}
"""
# The index first, whatever the planner guesses of a query it does not know, and of it this config's part; and at most ten
# thousand matches are ranked: a word that stands in a million messages is not ranked a million times.
SEARCH = f"""
WITH wanted AS (SELECT websearch_to_tsquery('english', $4) AS query), matched AS MATERIALIZED (
    SELECT m.session, m.message_id, m.seq, m.payload, m.created_at, m.search FROM agentbreeder_messages m
    WHERE m.search @@ (SELECT query && quote_literal(' ' || $1)::tsquery FROM wanted WHERE numnode(query) > 0)
), found AS (
    SELECT s.namespace, m.message_id, m.seq, m.payload, m.created_at, m.search
    FROM matched m JOIN agentbreeder_sessions s ON s.id = m.session
    WHERE {ALIVE} AND ($6 = 0 OR m.seq >= s.next_seq - $6)
    LIMIT 10000
), best AS (
    SELECT found.*, ts_rank_cd(search, (SELECT query FROM wanted)) AS score FROM found
    ORDER BY score DESC, created_at DESC, message_id LIMIT $5
)
SELECT namespace, message_id AS id, seq, payload, created_at, score, ts_headline('english', agentbreeder_text(payload),
    (SELECT query FROM wanted), 'StartSel=\ue100, StopSel=\ue101, MaxFragments=2, MaxWords=24, MinWords=8') AS highlight
FROM best ORDER BY score DESC, created_at DESC, message_id
"""
DELETE_SESSION = "DELETE FROM agentbreeder_sessions WHERE namespace = $1"
DELETE_PART = """
DELETE FROM agentbreeder_sessions WHERE id IN (
    SELECT s.id FROM agentbreeder_sessions s WHERE s.namespace >= $1 AND s.namespace < $2
    AND ($3::text IS NULL OR s.namespace ~ $3) LIMIT $4
)
"""
COUNT_PART = f"SELECT coalesce(sum(s.next_seq - s.first_seq), 0)::bigint FROM agentbreeder_sessions s WHERE {ALIVE}"
# Also of sessions that have expired and are not deleted yet.
USERS_SESSIONS = """
SELECT DISTINCT s.id FROM agentbreeder_messages m JOIN agentbreeder_sessions s ON s.id = m.session
WHERE m.user_id = ANY ($4) AND s.namespace >= $1 AND s.namespace < $2 AND ($3::text IS NULL OR s.namespace ~ $3)
"""
FORGET = "SELECT agentbreeder_forget($1, $2, $3)"
# Sessions that begin and end so: $1 and $2 are bounds of the namespace, $3 and $4 of the namespace backwards.
BETWEEN = """
WITH found AS MATERIALIZED (
    SELECT s.namespace FROM agentbreeder_sessions s WHERE reverse(s.namespace) COLLATE "C" >= $3
    AND reverse(s.namespace) COLLATE "C" < $4 AND (s.expires_at IS NULL OR s.expires_at > now())
)
SELECT namespace FROM found WHERE namespace >= $1 AND namespace < $2 LIMIT $5
"""
BEGINNING = """
SELECT s.namespace FROM agentbreeder_sessions s
WHERE s.namespace >= $1 AND s.namespace < $2 AND (s.expires_at IS NULL OR s.expires_at > now()) LIMIT $3
"""
# Before a window grows: what a smaller one has left behind must not come back.
TRIM = """
WITH late AS (
    SELECT s.id, s.next_seq - $3 AS least FROM agentbreeder_sessions s
    WHERE s.namespace >= $1 AND s.namespace < $2 AND s.next_seq - s.first_seq > $3 LIMIT $4 FOR UPDATE
), gone AS (
    DELETE FROM agentbreeder_messages m USING late WHERE m.session = late.id AND m.seq < late.least
)
UPDATE agentbreeder_sessions s SET first_seq = late.least FROM late WHERE s.id = late.id
"""
