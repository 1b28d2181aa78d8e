"""Physical names: deterministic, computed offline, never cut at the hash."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence

from agentbreeder_core.errors import NameTaken

_HASH_LENGTH = 10
_GENERATION = re.compile(r"(?P<stem>.+)-g(?P<number>[0-9]{1,2})")
_FRAME = len("ab--") + _HASH_LENGTH


LAST_GENERATION = 99


def next_generation(name: str) -> str:
    """The name to try when a deleted resource still holds this one: `x`, `x-g2`, `x-g3`. Raises `NameTaken` after 99."""
    found = _GENERATION.fullmatch(name)
    stem, number = (found["stem"], int(found["number"])) if found else (name, 1)
    if number >= LAST_GENERATION:
        raise NameTaken(f"{stem!r} and {number - 1} later generations of it are all held by deleted resources")
    return f"{stem}-g{number + 1}"


def base_name(identity: Sequence[str], agent: str, *, limit: int = 32) -> str:
    """`ab-<readable>-<hash>`, at most `limit` characters of `a-z0-9-`; starts with a letter, no `--`, no `-` at the end.

    `identity` is everything that keeps two names apart where the cloud does not: its parts are hashed exactly as
    given, so agents that differ only in case, in `_` and `-`, or past the cut get different names.
    """
    digest = base64.b32encode(hashlib.sha256(json.dumps(list(identity)).encode()).digest()).decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", agent.lower()).strip("-")[: limit - _FRAME].strip("-") or "agent"
    return f"ab-{slug}-{digest[:_HASH_LENGTH]}"
