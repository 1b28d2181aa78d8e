"""A `BaseCheckpointSaver` for LangGraph: `graph.compile(checkpointer=AgentBreederSaver(memory))`.

The checkpointer and not the store, because it is what lets a thread go on after a restart. Each checkpoint is one entry
of a log of its thread and namespace; `buffer_window` keeps the newest and lets old checkpoints go, which other savers keep
for ever. What tasks wrote is a log per checkpoint, where no window reaches: writes often arrive before their checkpoint, and
a step may have any number of them. A third log, one per thread, says which of these there are, so that they can be deleted.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import sha256
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from agentbreeder_core.namespaces import escape

from ..manager import MemoryManager, Message

_THREADS = 10_000  # of which this process remembers what it has recorded
_LOOKS = (1, 8, 64, None)  # how many of the newest entries are read, until the checkpoint is among them


class AgentBreederSaver(BaseCheckpointSaver[str]):
    """Asynchronous: use `ainvoke` and its like. The synchronous methods raise `NotImplementedError`."""

    def __init__(self, memory: MemoryManager, **options: Any) -> None:
        super().__init__(**options)
        self._memory, self._unbounded = memory, memory.unbounded()
        self._recorded: dict[str, set[str]] = {}

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Numbers that sort as text."""
        return f"{int(current or 0) + 1:032}"

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """One entry with the whole state; the same checkpoint is stored once."""
        thread, space = _place(config)
        entry = {
            "id": f"checkpoint:{checkpoint['id']}",
            "checkpoint": self._text(checkpoint),
            "metadata": self._text(get_checkpoint_metadata(config, metadata)),
            "parent": get_checkpoint_id(config) or "",
        }
        await self._record(thread, f"space:{space}")
        await self._memory.append(_session(thread, space), entry)
        return _config(thread, space, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """One entry per write; what a task wrote first stays, but for errors and interrupts, which replace."""
        thread, space = _place(config)
        of = get_checkpoint_id(config) or ""
        await self._record(thread, f"writes:{of}:{space}")
        entries = []
        for index, (channel, value) in enumerate(writes):
            place = WRITES_IDX_MAP.get(channel, index)
            entry: Message = {"task": task_id, "path": task_path, "place": place, "channel": channel}
            entry["value"] = self._text(value)
            if place >= 0:
                entry["id"] = f"write:{task_id}:{place}"
            entries.append(entry)
        await self._unbounded.append(_writes(thread, space, of), entries)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The named checkpoint, else the newest. Reads no more of the thread than it must."""
        thread, space = _place(config)
        wanted = get_checkpoint_id(config)
        for size in _LOOKS:
            entries = await self._memory.load(_session(thread, space), size)
            for entry in reversed(entries):
                checkpoint_id = _id_of(entry)
                if not wanted or checkpoint_id == wanted:
                    return await self._tuple(thread, space, entry)
            if size is None or len(entries) < size:
                return None
        return None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Of one thread, the newest first; without a `checkpoint_ns` those of its subgraphs too. Raises `ValueError` without
        a thread: threads are not listed."""
        if config is None:
            raise ValueError("this saver lists the checkpoints of a thread: give its config")
        thread, space = _place(config)
        spaces = [space] if "checkpoint_ns" in config["configurable"] else (await self._parts(thread))[0]
        entries = [(_id_of(e), s, e) for s in spaces for e in await self._memory.load(_session(thread, s))]
        wanted, until = get_checkpoint_id(config), get_checkpoint_id(before) if before else None
        given = 0
        for checkpoint_id, where, entry in sorted(entries, key=lambda e: e[0], reverse=True):
            if (wanted and checkpoint_id != wanted) or (until and checkpoint_id >= until):
                continue
            found = await self._tuple(thread, where, entry)
            if filter and any(dict(found.metadata).get(k) != v for k, v in filter.items()):
                continue
            if limit is not None and given >= limit:
                return
            given += 1
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        """The thread with its subgraphs."""
        spaces, writes = await self._parts(thread_id)
        for space in spaces:
            await self._memory.clear(_session(thread_id, space))
        for space, checkpoint_id in writes:
            await self._unbounded.clear(_writes(thread_id, space, checkpoint_id))
        await self._unbounded.clear(_index(thread_id))
        self._recorded.pop(thread_id, None)

    async def _record(self, thread: str, part: str) -> None:
        """Once per process and part, so that the usual call asks nothing more; and when a window's worth of writes has been
        recorded, delete those whose checkpoints have left the window."""
        if len(self._recorded) > _THREADS:
            self._recorded.clear()
        known = self._recorded.setdefault(thread, set())
        if part in known:
            return
        await self._unbounded.append(_index(thread), {"id": sha256(part.encode()).hexdigest(), "part": part})
        known.add(part)
        window = self._memory.settings.window
        if window and len(known) > 2 * window:
            known.clear()
            await self._prune(thread, window)

    async def _prune(self, thread: str, window: int) -> None:
        _, writes = await self._parts(thread)
        for space in {s for s, _ in writes}:
            of_space = [c for s, c in writes if s == space]
            for checkpoint_id in of_space[-4 * window : -window]:
                await self._unbounded.clear(_writes(thread, space, checkpoint_id))

    async def _parts(self, thread: str) -> tuple[list[str], list[tuple[str, str]]]:
        """The thread's namespaces, and (namespace, checkpoint) of the logs of writes, the oldest first."""
        parts = [str(e["part"]).partition(":")[::2] for e in await self._unbounded.load(_index(thread))]
        writes = [rest.partition(":")[::2] for kind, rest in parts if kind == "writes"]
        return list({"": 0} | {rest: 0 for kind, rest in parts if kind == "space"}), [(s, c) for c, s in writes]

    async def _tuple(self, thread: str, space: str, entry: Message) -> CheckpointTuple:
        checkpoint_id = _id_of(entry)
        writes: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for e in await self._unbounded.load(_writes(thread, space, checkpoint_id)):
            writes[e["task"], e["place"]] = (e["task"], e["channel"], self._value(e["value"]))
        return CheckpointTuple(
            config=_config(thread, space, checkpoint_id),
            checkpoint=self._value(entry["checkpoint"]),
            metadata=self._value(entry["metadata"]),
            parent_config=_config(thread, space, entry["parent"]) if entry["parent"] else None,
            pending_writes=list(writes.values()),
        )

    def _text(self, value: Any) -> list[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode()]

    def _value(self, kept: list[str]) -> Any:
        return self.serde.loads_typed((kept[0], base64.b64decode(kept[1])))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Use the asynchronous one."""
        raise NotImplementedError("this saver is asynchronous: use graph.ainvoke")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Use the asynchronous one."""
        raise NotImplementedError("this saver is asynchronous: use graph.ainvoke")


def _id_of(entry: Message) -> str:
    return str(entry["id"]).partition(":")[2]


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns") or "")


def _session(thread: str, space: str) -> str:
    return f"langgraph:{escape(thread)}:{escape(space)}"


def _writes(thread: str, space: str, checkpoint_id: str) -> str:
    return f"langgraph-writes:{escape(thread)}:{escape(space)}:{checkpoint_id}"


def _index(thread: str) -> str:
    return f"langgraph-thread:{escape(thread)}"


def _config(thread: str, space: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint_id}}
