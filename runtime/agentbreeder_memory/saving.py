"""What `save` of the older manager gives, a whole conversation again and again, as what is new in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any

from substrate.kernel.codec import as_messages, new_id

Message = dict[str, Any]


def identified(messages: Sequence[Any]) -> tuple[list[Message], list[Message]]:
    """As dicts, each with an id; and those of them that had none. What was given keeps its new id, so that it is known the
    next time."""
    found, fresh = [], []
    for given, message in zip(messages, as_messages([_plain(m) for m in messages]), strict=True):
        made = {**message, "id": message.get("id") or new_id()}
        found.append(made)
        if not message.get("id"):
            fresh.append(made)
            if isinstance(given, MutableMapping):
                given["id"] = made["id"]
            elif not isinstance(given, Mapping):
                given.id = made["id"]
    return found, fresh


def newer(given: Sequence[Message], kept: Collection[str], window: int) -> list[Message]:
    """Those that are not kept. Of a full window, what stands before the first that is kept was in it once and has left."""
    known = set(kept)
    first = next((n for n, m in enumerate(given) if m["id"] in known), 0) if window and len(kept) >= window else 0
    new = [m for m in given[first:] if m["id"] not in known]
    return new[-window:] if window else new


def _plain(message: Any) -> Any:
    """A message of LangChain as the dict that it is made from again."""
    dump = getattr(message, "model_dump", None)
    return dump(mode="json") if callable(dump) else message
