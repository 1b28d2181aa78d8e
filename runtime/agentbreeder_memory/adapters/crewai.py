"""CrewAI's storage seam: `Memory(storage=AgentBreederStorage())`, or `use_for_crews()` once for every crew of a process.

CrewAI asks its storage for the nearest embeddings, so this is for PostgreSQL with pgvector (every database that deploy
makes has it); conversations are not kept by CrewAI. Searches are exact: no index of vectors is made, because crews of one
database may embed with models of different lengths.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord, ScopeInfo

from substrate.connect.errors import StoreMisconfigured
from substrate.connect.postgres_pool import PostgresPool
from substrate.kernel.codec import dumps, from_storable, jsonb_text, loads, to_storable
from substrate.kernel.loop_thread import LoopThread

from ..settings import MemorySettings
from . import crewai_sql as sql

T = TypeVar("T")


def use_for_crews(settings: MemorySettings | None = None) -> None:
    """Every `Memory` made from now on without a storage of its own keeps its records with us."""
    storage = AgentBreederStorage(settings)
    set_memory_storage_factory(lambda spec: storage if spec == "lancedb" else None)


class AgentBreederStorage:
    """A `StorageBackend`. Each agent sees its own records only. Connected at the first call; blocks on the network.

    Raises `StoreUnavailable` once the server was unreachable for some three seconds, `EmbeddingDimensionMismatchError` for
    an embedding of another length than those that are there.
    """

    def __init__(self, settings: MemorySettings | None = None) -> None:
        """From the given settings, else from the environment. Raises `StoreMisconfigured` for another backend."""
        self._settings = settings or MemorySettings.from_environ(os.environ)
        if self._settings.backend != "postgresql":
            raise StoreMisconfigured("CrewAI's memory needs vectors: MEMORY_BACKEND must be postgresql")
        self._agent = to_storable(self._settings.agent)
        self._pool = PostgresPool(self._settings.url, instance=self._settings.cloud_sql)
        self._thread: LoopThread | None = None
        self._starting = threading.Lock()
        self._created = False

    def __deepcopy__(self, memo: object) -> AgentBreederStorage:
        return self  # CrewAI copies crews; the copies share the store, as they would any server

    def close(self) -> None:
        """Let go of every connection; a later call connects anew."""
        thread, self._thread, self._created = self._thread, None, False
        if thread is not None:
            thread.run(self._pool.close())
            thread.stop()

    def save(self, records: list[MemoryRecord]) -> None:
        """All or none; a record with a known id replaces it."""
        self._run(self._save(records))

    async def asave(self, records: list[MemoryRecord]) -> None:
        """See `save`."""
        await self._await(self._save(records))

    def update(self, record: MemoryRecord) -> None:
        """Replace the record of this id."""
        self.save([record])

    def touch_records(self, record_ids: list[str]) -> None:
        """Say that they were read just now."""
        self._run(self._execute(sql.TOUCH, self._agent, [to_storable(i) for i in record_ids]))

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The nearest first, with 1 / (1 + d²) as the score, as CrewAI's own storage counts it."""
        which = self._which(scope_prefix, categories, metadata_filter)
        return self._run(self._search(query_embedding, which, limit, min_score))

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """See `search`."""
        which = self._which(scope_prefix, categories, metadata_filter)
        return await self._await(self._search(query_embedding, which, limit, min_score))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """What fits every condition that is given; without any, all."""
        return self._run(self._delete(self._which(scope_prefix, categories, metadata_filter), record_ids, older_than))

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """See `delete`."""
        which = self._which(scope_prefix, categories, metadata_filter)
        return await self._await(self._delete(which, record_ids, older_than))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """None when there is none."""
        rows = self._run(self._fetch(sql.GET, self._agent, to_storable(record_id)))
        return _record(rows[0]) if rows else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The newest first."""
        return [_record(row) for row in self._run(self._fetch(sql.LIST, *self._which(scope_prefix), limit, offset))]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Of a scope and what is below it."""
        row = self._run(self._fetch(sql.INFO, *self._which(scope)))[0]
        return ScopeInfo(
            path=scope or "/",
            record_count=row["records"],
            categories=sorted(self.list_categories(scope)),
            oldest_record=row["oldest"],
            newest_record=row["newest"],
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below."""
        base = _path(parent) or ""
        scopes = (from_storable(row["scope"]) for row in self._run(self._fetch(sql.SCOPES, *self._which(parent))))
        below = {s[len(base) + 1 :].partition("/")[0] for s in scopes if s.startswith(f"{base}/")}
        return sorted(f"{base}/{name}" for name in below if name)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """How many records each has."""
        rows = self._run(self._fetch(sql.CATEGORIES, *self._which(scope_prefix)))
        return {from_storable(row["category"]): row["records"] for row in rows}

    def count(self, scope_prefix: str | None = None) -> int:
        """In a scope and below it."""
        return int(self._run(self._fetch(sql.INFO, *self._which(scope_prefix)))[0]["records"])

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget a scope and what is below it; all of the agent's without one."""
        self.delete(scope_prefix)

    async def _save(self, records: list[MemoryRecord]) -> None:
        vectors = [r.embedding for r in records if r.embedding]
        if vectors:
            await self._check_length(len(vectors[0]), *(len(v) for v in vectors))
        rows = [self._row(r) for r in records]

        async def write(connection: Any) -> None:
            async with connection.transaction():
                await connection.executemany(sql.SAVE, rows)

        await self._ready()
        await self._pool.run(write)

    async def _search(
        self, embedding: list[float], which: tuple[Any, ...], limit: int, min_score: float
    ) -> list[tuple[MemoryRecord, float]]:
        await self._check_length(len(embedding))
        rows = await self._fetch(sql.SEARCH, *which, _vector(embedding), limit)
        return [(_record(row), row["score"]) for row in rows if row["score"] >= min_score]

    async def _delete(self, which: tuple[Any, ...], ids: list[str] | None, older_than: datetime | None) -> int:
        given = None if ids is None else [to_storable(i) for i in ids]
        done = await self._execute(sql.DELETE, *which, given, _aware(older_than) if older_than else None)
        return int(done.rpartition(" ")[2])

    async def _check_length(self, wanted: int, *lengths: int) -> None:
        rows = await self._fetch(sql.DIMENSIONS, self._agent)
        stored = rows[0][0] if rows else wanted
        for length in (wanted, *lengths):
            if length != stored:
                raise EmbeddingDimensionMismatchError(stored, length)

    def _row(self, record: MemoryRecord) -> tuple[Any, ...]:
        payload = record.model_dump(mode="json")
        return (
            self._agent,
            to_storable(record.id),
            to_storable(_path(record.scope) or "/"),
            [to_storable(c) for c in record.categories],
            jsonb_text(dumps(payload["metadata"])),
            _aware(record.created_at),
            _aware(record.last_accessed),
            dumps(payload).decode(),
            _vector(record.embedding) if record.embedding else None,
        )

    def _which(
        self,
        scope: str | None = None,
        categories: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> tuple[Any, ...]:
        """The first four parameters of `FILTER`."""
        path = _path(scope)
        wanted = [to_storable(c) for c in categories] if categories else None
        return self._agent, None if path is None else to_storable(path), wanted, jsonb_text(dumps(metadata or {}))

    async def _fetch(self, statement: str, *values: Any) -> list[Any]:
        await self._ready()
        return list(await self._pool.run(lambda connection: connection.fetch(statement, *values)))

    async def _execute(self, statement: str, *values: Any) -> str:
        await self._ready()
        return str(await self._pool.run(lambda connection: connection.execute(statement, *values)))

    async def _ready(self) -> None:
        if not self._created:
            await self._pool.create(sql.TABLE, sql.SCHEMA)
            self._created = True

    def _loop(self) -> LoopThread:
        with self._starting:
            if self._thread is None:
                self._thread = LoopThread("agentbreeder-crewai")
            return self._thread

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop().run(work)

    async def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(self._loop().start(work))


def _record(row: Any) -> MemoryRecord:
    record = MemoryRecord.model_validate(loads(row["payload"]))
    # Without a zone, as CrewAI's own are, so that the two can be compared.
    record.last_accessed = row["last_accessed"].astimezone(UTC).replace(tzinfo=None)
    if row["embedding"]:
        record.embedding = [float(n) for n in row["embedding"].strip("[]").split(",")]
    return record


def _path(scope: str | None) -> str | None:
    """With one slash before each part and none at the end; None for everything."""
    parts = [p for p in (scope or "").split("/") if p]
    return "/" + "/".join(parts) if parts else None


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _vector(numbers: Sequence[float]) -> str:
    return "[" + ",".join(repr(float(n)) for n in numbers) + "]"
