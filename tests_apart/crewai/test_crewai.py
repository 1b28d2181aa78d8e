"""CrewAI's records under the real CrewAI: each method of its protocol, its own `Memory`, a crew, and a restart."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from agentbreeder_memory import MemorySettings, StoreMisconfigured
from agentbreeder_memory.adapters.crewai import AgentBreederStorage, use_for_crews


class Scripted(BaseLLM):
    """Never asked, because the records bring what it would find out."""

    def call(self, *args: Any, **kwargs: Any) -> str:
        raise AssertionError("no model is needed")


WORDS = ("python", "coffee", "ships", "music")


def embed(texts: list[str]) -> list[list[float]]:
    """How often each word stands in the text: near when they share words."""
    return [[float(text.lower().count(word)) for word in WORDS] for text in texts]


@pytest.fixture
def storage(settings: MemorySettings) -> Iterator[AgentBreederStorage]:
    made = AgentBreederStorage(settings)
    yield made
    made.close()


def record(text: str, scope: str = "/", **more: Any) -> MemoryRecord:
    return MemoryRecord(content=text, scope=scope, embedding=embed([text])[0], **more)


def contents(records: list[MemoryRecord]) -> list[str]:
    return [r.content for r in records]


def test_a_record_comes_back_as_it_was_after_a_restart(settings: MemorySettings) -> None:
    odd = {"nul": "a\x00b", "surrogate": "\ud800", "deep": [1.5, None, {"x": 10**30}], "k\x00": 1}
    given = record(
        "I like python \x00 \U0001f642", "/user/ann", metadata=odd, categories=["a\x00", "b"], source="s", private=True
    )
    first = AgentBreederStorage(settings)
    assert isinstance(first, StorageBackend)
    first.save([given])
    first.close()
    second = AgentBreederStorage(settings)
    found = second.get_record(given.id)
    assert found == given
    assert found is not None
    assert found.embedding == given.embedding
    assert second.get_record("never there") is None
    second.close()


def test_the_nearest_come_first_and_every_filter_holds(storage: AgentBreederStorage) -> None:
    storage.save(
        [
            record("python", "/a", categories=["x"], metadata={"n": 1, "who": {"id": 1}}),
            record("python python", "/a/b", categories=["y"], metadata={"n": 2}),
            record("coffee", "/ab", categories=["x", "y"], metadata={"n": 1}),
        ]
    )
    query = embed(["python"])[0]
    found = storage.search(query)
    assert contents([r for r, _ in found]) == ["python", "python python", "coffee"]
    assert [round(score, 3) for _, score in found] == [1.0, 0.5, round(1 / 3, 3)]
    assert contents([r for r, _ in storage.search(query, scope_prefix="/a")]) == ["python", "python python"]
    assert contents([r for r, _ in storage.search(query, categories=["y"])]) == ["python python", "coffee"]
    assert contents([r for r, _ in storage.search(query, metadata_filter={"n": 1})]) == ["python", "coffee"]
    assert contents([r for r, _ in storage.search(query, metadata_filter={"who": {"id": 1}})]) == ["python"]
    assert contents([r for r, _ in storage.search(query, min_score=0.4, limit=5)]) == ["python", "python python"]
    assert len(storage.search(query, limit=1)) == 1
    assert storage.search(query, scope_prefix="/' OR '1'='1", metadata_filter={"' OR 1=1 --": 1}) == []


def test_scopes_and_categories_are_counted_below_their_own_path_only(storage: AgentBreederStorage) -> None:
    old = datetime(2026, 1, 1)
    storage.save(
        [record("python", "/a/b/c", categories=["x"], created_at=old), record("coffee", "a/d/", categories=["x", "y"])]
    )
    storage.save([record("ships", "/ab", categories=["z"])])
    assert storage.count() == 3
    assert storage.count("/a") == 2
    assert storage.list_scopes() == ["/a", "/ab"]
    assert storage.list_scopes("/a") == ["/a/b", "/a/d"]
    assert storage.list_categories() == {"x": 2, "y": 1, "z": 1}
    assert storage.list_categories("/a/b") == {"x": 1}
    info = storage.get_scope_info("/a")
    assert (info.path, info.record_count, info.categories, info.child_scopes) == ("/a", 2, ["x", "y"], ["/a/b", "/a/d"])
    assert info.oldest_record is not None
    assert info.oldest_record.replace(tzinfo=None) == old
    assert contents(storage.list_records("/a")) == ["coffee", "python"]
    assert contents(storage.list_records("/a", limit=1, offset=1)) == ["python"]
    assert storage.get_scope_info("/nothing").record_count == 0


def test_what_is_deleted_is_what_fits_every_condition(storage: AgentBreederStorage) -> None:
    old = datetime.now() - timedelta(days=400)
    made = [
        record(w, f"/s/{n}", categories=[w], created_at=old if n < 2 else datetime.now()) for n, w in enumerate(WORDS)
    ]
    storage.save(made)
    assert storage.delete(record_ids=[made[3].id, made[0].id], scope_prefix="/s/3") == 1
    assert storage.delete(older_than=datetime.now() - timedelta(days=1), categories=["coffee", "ships"]) == 1
    assert storage.delete(metadata_filter={"not": "there"}) == 0
    assert sorted(contents(storage.list_records())) == ["python", "ships"]
    storage.reset("/s/0")
    assert contents(storage.list_records()) == ["ships"]
    storage.reset()
    assert storage.count() == 0


def test_an_update_replaces_and_keeps_the_vector_that_it_does_not_bring(storage: AgentBreederStorage) -> None:
    one = record("python", importance=0.1)
    storage.save([one])
    storage.update(one.model_copy(update={"content": "changed", "embedding": None}))
    before = storage.get_record(one.id)
    assert before is not None
    assert (before.content, before.embedding) == ("changed", one.embedding)
    storage.touch_records([one.id])
    after = storage.get_record(one.id)
    assert after is not None
    assert after.last_accessed > before.last_accessed
    assert after.created_at == one.created_at


def test_an_embedding_of_another_length_is_refused_before_anything_is_written(storage: AgentBreederStorage) -> None:
    storage.save([record("python")])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([record("coffee"), MemoryRecord(content="x", embedding=[1.0])])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0])
    assert storage.count() == 1


def test_an_agent_never_sees_anothers_and_another_backend_is_refused(
    storage: AgentBreederStorage, settings: MemorySettings
) -> None:
    storage.save([record("python")])
    other = AgentBreederStorage(replace(settings, agent=f"{settings.agent}-other"))
    assert other.count() == 0
    other.reset()
    other.close()
    assert storage.count() == 1
    with pytest.raises(StoreMisconfigured, match="must be postgresql"):
        AgentBreederStorage(replace(settings, backend="redis", url="redis://h"))


def test_threads_that_save_at_the_same_time_lose_nothing(storage: AgentBreederStorage) -> None:
    threads = [threading.Thread(target=storage.save, args=([record(f"python {n}")],)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.count() == 16


async def test_the_asynchronous_methods_do_the_same(storage: AgentBreederStorage) -> None:
    await storage.asave([record("python")])
    assert [r.content for r, _ in await storage.asearch(embed(["python"])[0])] == ["python"]
    assert await storage.adelete() == 1


def test_crewais_own_memory_remembers_after_a_restart(settings: MemorySettings) -> None:
    for n in range(2):
        storage = AgentBreederStorage(settings)
        memory = Memory(storage=storage, embedder=embed, llm=Scripted(model="scripted"))
        if n == 0:
            memory.remember("python is liked", scope="/user", categories=["taste"], importance=0.5, metadata={"k": "v"})
            memory.remember("coffee is not", scope="/user", categories=["taste"], importance=0.5, metadata={"k": "w"})
            memory.drain_writes()
        best = memory.recall("what of python", depth="shallow")[0]
        assert (best.record.content, best.record.metadata) == ("python is liked", {"k": "v"})
        assert math.isfinite(best.score)
        memory.close()


def test_every_memory_without_a_storage_of_its_own_is_ours_once_that_was_said(settings: MemorySettings) -> None:
    use_for_crews(settings)
    try:
        memory = Memory(embedder=embed, llm=Scripted(model="scripted"))
        memory.remember("ships", scope="/", categories=["c"], importance=0.5, metadata={"k": "w"})
        memory.drain_writes()
        looking = AgentBreederStorage(settings)
        assert looking.count() == 1
        looking.close()
        memory.close()
    finally:
        set_memory_storage_factory(None)
