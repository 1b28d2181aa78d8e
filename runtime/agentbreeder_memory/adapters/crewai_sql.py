"""Table and statements of CrewAI's records. Everything a user brings is a parameter."""

from __future__ import annotations

TABLE = "agentbreeder_records"
SCHEMA = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS agentbreeder_records (
    agent text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    categories text[] NOT NULL,
    metadata jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    last_accessed timestamptz NOT NULL,
    payload text NOT NULL,
    -- Of any length: crews embed with different models.
    embedding vector,
    PRIMARY KEY (agent, id)
);
CREATE INDEX IF NOT EXISTS agentbreeder_records_scope ON agentbreeder_records (agent, scope);
"""
_COLUMNS = "agent, id, scope, categories, metadata, created_at, last_accessed, payload, embedding"
SAVE = f"""
INSERT INTO agentbreeder_records ({_COLUMNS})
VALUES ($1, $2, $3, $4, $5::text::jsonb, $6, $7, $8, $9::text::vector)
ON CONFLICT (agent, id) DO UPDATE SET scope = EXCLUDED.scope, categories = EXCLUDED.categories,
    metadata = EXCLUDED.metadata, created_at = EXCLUDED.created_at, last_accessed = EXCLUDED.last_accessed,
    payload = EXCLUDED.payload,
    embedding = coalesce(EXCLUDED.embedding, agentbreeder_records.embedding)
"""
DIMENSIONS = """
SELECT vector_dims(embedding) FROM agentbreeder_records WHERE agent = $1 AND embedding IS NOT NULL LIMIT 1
"""
# Each condition holds for everything where its parameter is NULL.
FILTER = """
agent = $1
AND ($2::text IS NULL OR scope = $2 OR starts_with(scope, $2 || '/'))
AND ($3::text[] IS NULL OR categories && $3)
AND ($4::text = '{}' OR NOT EXISTS (
    SELECT FROM jsonb_each((SELECT $4::text::jsonb)) f WHERE metadata -> f.key IS DISTINCT FROM f.value
))
"""
# The parameter is read in a subquery of its own: once, not for each row.
SEARCH = f"""
SELECT r.payload, r.last_accessed, r.embedding::text AS embedding, 1 / (1 + power(near.distance, 2)) AS score
FROM (
    SELECT id, embedding <-> (SELECT $5::text::vector) AS distance
    FROM agentbreeder_records WHERE {FILTER} AND embedding IS NOT NULL ORDER BY distance, id LIMIT $6
) near JOIN agentbreeder_records r ON r.agent = $1 AND r.id = near.id
ORDER BY near.distance, near.id
"""
DELETE = f"""
DELETE FROM agentbreeder_records WHERE {FILTER}
AND ($5::text[] IS NULL OR id = ANY($5)) AND ($6::timestamptz IS NULL OR created_at < $6)
"""
GET = (
    "SELECT payload, last_accessed, embedding::text AS embedding FROM agentbreeder_records WHERE agent = $1 AND id = $2"
)
LIST = f"""
SELECT payload, last_accessed, embedding::text AS embedding FROM agentbreeder_records WHERE {FILTER}
ORDER BY created_at DESC, id LIMIT $5 OFFSET $6
"""
INFO = f"""
SELECT count(*) AS records, min(created_at) AS oldest, max(created_at) AS newest FROM agentbreeder_records WHERE {FILTER}
"""
SCOPES = f"SELECT DISTINCT scope FROM agentbreeder_records WHERE {FILTER} ORDER BY scope"
CATEGORIES = f"""
SELECT category, count(*) AS records FROM agentbreeder_records, unnest(categories) AS category WHERE {FILTER}
GROUP BY category ORDER BY category
"""
TOUCH = "UPDATE agentbreeder_records SET last_accessed = now() WHERE agent = $1 AND id = ANY($2)"
