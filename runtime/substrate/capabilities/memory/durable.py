"""Long-term memories in PostgreSQL, found by full text search. No embeddings are needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...connect.postgres_pool import PostgresPool
from ...kernel.codec import dumps, from_jsonb_text, from_storable, jsonb_text, new_id, to_storable
from ...kernel.lifecycle import Connected

SCHEMA = """
CREATE TABLE IF NOT EXISTS agent_memories (
    id text PRIMARY KEY,
    agent_name text NOT NULL,
    content text NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    namespace varchar(255) NOT NULL DEFAULT 'default',
    search_vec tsvector GENERATED ALWAYS AS (to_tsvector('english', left(content, 200000))) STORED,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS agent_memories_search ON agent_memories USING gin (search_vec);
CREATE INDEX IF NOT EXISTS agent_memories_agent ON agent_memories (agent_name, namespace, created_at);
"""
_SAVE = """
INSERT INTO agent_memories (id, agent_name, content, metadata, namespace) VALUES ($1, $2, $3, $4::text::jsonb, $5)
ON CONFLICT (id) DO NOTHING
"""
# A question rarely has exactly the words of the answer, so any of them will do; one that has them all comes first. The
# queries are subqueries of their own: computed once, not for each row, and usable by the index.
_ANY = "(SELECT replace(plainto_tsquery('english', $3)::text, ' & ', ' | ')::tsquery)"
_NONE = "(SELECT replace(plainto_tsquery('english', $6)::text, ' & ', ' | ')::tsquery)"
_SEARCH = f"""
SELECT id, content, metadata::text AS metadata, namespace, created_at, score FROM (
    SELECT id, content, metadata, namespace, created_at, ts_rank_cd(search_vec, {_ANY})
              + CASE WHEN search_vec @@ (SELECT websearch_to_tsquery('english', $2)) THEN 1 ELSE 0 END AS score
    FROM agent_memories
    WHERE agent_name = $1 AND ($4::text IS NULL OR namespace = $4) AND search_vec @@ {_ANY}%s
) found ORDER BY score DESC, created_at DESC, id LIMIT $5
"""
_WITHOUT = f" AND NOT search_vec @@ {_NONE}"
_DELETE = "DELETE FROM agent_memories WHERE id = $1 AND agent_name = $2"
_EXCLUDED = re.compile(r"(?:^|(?<=\s))-(\w+)")
_MAX_QUERY = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing worth remembering. `score` says how well it fits the search that found it."""

    id: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    namespace: str = "default"
    created_at: datetime
    score: float = 0.0


class DurableMemoryStore(Connected):
    """Memories of agents, each of which sees its own only. Use one store per process.

    Every call may raise `StoreUnavailable` once the server was unreachable for some three seconds.
    """

    def __init__(self, database_url: str) -> None:
        self._pool = PostgresPool(database_url)

    async def connect(self) -> None:
        """Connect, and make the table when it is not there."""
        await self._pool.connect()
        await self.create_tables()

    async def disconnect(self) -> None:
        """Let go of every connection."""
        await self._pool.close()

    async def create_tables(self) -> None:
        """`SCHEMA`, under a lock, when the table is not there."""
        await self._pool.create("agent_memories", SCHEMA)

    async def save(
        self, agent_id: str, content: str, metadata: Mapping[str, Any] | None = None, *, namespace: str = "default"
    ) -> str:
        """Keep it, and return its id. Raises `ValueError` for metadata that is no JSON."""
        if not agent_id or len(namespace) > 255:
            raise ValueError("agent_id is not empty, and namespace has at most 255 characters")
        memory_id = new_id()
        kept = jsonb_text(dumps(dict(metadata or {})))
        values = (memory_id, to_storable(agent_id), to_storable(content), kept, to_storable(namespace))
        await self._pool.run(lambda connection: connection.execute(_SAVE, *values))
        return memory_id

    async def search(self, agent_id: str, query: str, limit: int = 5, *, namespace: str | None = None) -> list[Memory]:
        """The best first. Any word of the query may match; `-word` excludes; quotes and `or` are understood, and no
        text is a syntax error. A query without a word finds nothing."""
        if limit < 1:
            raise ValueError("limit is at least 1")
        text = to_storable(query[:_MAX_QUERY])
        excluded = " ".join(_EXCLUDED.findall(text))
        wanted = _EXCLUDED.sub(" ", text)
        where = None if namespace is None else to_storable(namespace)
        values: tuple[Any, ...] = (to_storable(agent_id), text, wanted, where, limit)
        if excluded:
            values = (*values, excluded)
        statement = _SEARCH % (_WITHOUT if excluded else "")
        rows = await self._pool.run(lambda connection: connection.fetch(statement, *values))
        return [_memory(row) for row in rows]

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        """Forget one of the agent's own; False when it has none of that id."""
        values = (to_storable(memory_id), to_storable(agent_id))
        done = await self._pool.run(lambda connection: connection.execute(_DELETE, *values))
        return bool(done != "DELETE 0")


def _memory(row: Any) -> Memory:
    return Memory(
        id=row["id"],
        content=from_storable(row["content"]),
        metadata=from_jsonb_text(row["metadata"]),
        namespace=from_storable(row["namespace"]),
        created_at=row["created_at"],
        score=float(row["score"]),
    )
