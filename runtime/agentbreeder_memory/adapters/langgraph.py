"""A `BaseCheckpointSaver` for LangGraph: `graph.compile(checkpointer=AgentBreederSaver(memory))`.

The checkpointer and not the store, because it is what lets a thread go on after a restart. Each checkpoint is one entry
of the thread's log, each task's writes are one more; `buffer_window` keeps the newest and lets old checkpoints go, which
other savers keep for ever.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
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

from ..manager import MemoryManager, Message

_LOOKS = (1, 8, 64, None)  # how many of the newest entries are read, until the checkpoint is among them


class AgentBreederSaver(BaseCheckpointSaver[str]):
    """Asynchronous: use `ainvoke` and its like. The synchronous methods raise `NotImplementedError`."""

    def __init__(self, memory: MemoryManager, **options: Any) -> None:
        super().__init__(**options)
        self._memory = memory

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
        await self._memory.append(_session(thread, space), entry)
        return _config(thread, space, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """One entry per write; what a task wrote first stays, but for errors and interrupts, which replace."""
        thread, space = _place(config)
        of = get_checkpoint_id(config) or ""
        entries = []
        for index, (channel, value) in enumerate(writes):
            place = WRITES_IDX_MAP.get(channel, index)
            entry: Message = {"of": of, "task": task_id, "path": task_path, "place": place, "channel": channel}
            entry["value"] = self._text(value)
            if place >= 0:
                entry["id"] = f"write:{of}:{task_id}:{place}"
            entries.append(entry)
        await self._memory.append(_session(thread, space), entries)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The named checkpoint, else the newest. Reads no more of the thread than it must: the newest is among the last few
        entries, and what belongs to a checkpoint comes after it."""
        thread, space = _place(config)
        wanted = get_checkpoint_id(config)
        for size in _LOOKS:
            entries = await self._memory.load(_session(thread, space), size)
            for entry in reversed(entries):
                checkpoint_id = _id_of(entry)
                if checkpoint_id and (not wanted or checkpoint_id == wanted):
                    return self._tuple(thread, space, checkpoint_id, entry, entries)
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
        """Of one thread, the newest first. Raises `ValueError` without a thread: threads are not listed."""
        if config is None:
            raise ValueError("this saver lists the checkpoints of a thread: give its config")
        thread, space = _place(config)
        entries = await self._memory.load(_session(thread, space))
        wanted, until = get_checkpoint_id(config), get_checkpoint_id(before) if before else None
        given = 0
        for entry in reversed(entries):
            checkpoint_id = _id_of(entry)
            if not checkpoint_id or (wanted and checkpoint_id != wanted) or (until and checkpoint_id >= until):
                continue
            found = self._tuple(thread, space, checkpoint_id, entry, entries)
            if filter and any(dict(found.metadata).get(k) != v for k, v in filter.items()):
                continue
            if limit is not None and given >= limit:
                return
            given += 1
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        """The thread's own checkpoints; those of its subgraphs go with their TTL."""
        await self._memory.clear(_session(thread_id, ""))

    def _tuple(
        self, thread: str, space: str, checkpoint_id: str, entry: Message, entries: list[Message]
    ) -> CheckpointTuple:
        writes: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for e in entries:
            if e.get("of") == checkpoint_id and "channel" in e:
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
    """A checkpoint's id; "" for a write."""
    return str(entry["id"]).partition(":")[2] if "checkpoint" in entry else ""


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns") or "")


def _session(thread: str, space: str) -> str:
    return f"langgraph:{thread}:{space}"


def _config(thread: str, space: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint_id}}
