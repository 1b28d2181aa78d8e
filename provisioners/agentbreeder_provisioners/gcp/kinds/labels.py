"""Google's labels: keys and values of `a-z0-9_-`, at most 63 characters. Our tags are mapped to them and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from ...engine.ownership import AGENT, LINEAGE, MANAGED_BY, TEAM, Owner

_KEYS = {
    MANAGED_BY: "managed-by",
    AGENT: "agentbreeder-agent",
    TEAM: "agentbreeder-team",
    LINEAGE: "agentbreeder-lineage",
}
_PLAIN = re.compile(r"[a-z0-9_-]{0,63}")
_HASH_LENGTH = 10


def label_value(text: str) -> str:
    """The text itself where it is a legal value; otherwise a readable part and a hash of the exact text."""
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
    readable = re.sub(r"[^a-z0-9_-]+", "-", text.lower())[: 62 - _HASH_LENGTH].strip("-")
    return f"{readable}-{digest}"


def to_labels(owner: Owner) -> dict[str, str]:
    """The owner's tags as labels for a create call."""
    return {_KEYS[key]: label_value(value) for key, value in owner.tags().items()}


def from_labels(labels: Mapping[str, str] | None, owner: Owner) -> dict[str, str]:
    """Labels as our tags. A value that `owner`'s own would be written as reads as the owner's own."""
    found = dict(labels or {})
    tags: dict[str, str] = {}
    for key, value in owner.tags().items():
        label = found.get(_KEYS[key])
        if label is not None:
            tags[key] = value if label == label_value(value) else label
    return tags
