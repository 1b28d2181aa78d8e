"""What `save` of the older manager gives, a whole conversation again and again, as what is new in it."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping, Sequence
from typing import Any

from substrate.kernel.codec import as_messages, new_id

Message = dict[str, Any]


def identified(messages: Sequence[Any]) -> list[Message]:
    """As dicts, each with an id. One that is a dict already keeps its new id, so that it is known the next time."""
    found = []
    for message in as_messages([_plain(m) for m in messages]):
        made = {**message, "id": message.get("id") or new_id()}
        if isinstance(message, MutableMapping):
            message["id"] = made["id"]
        found.append(made)
    return found


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
