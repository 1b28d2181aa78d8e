"""JSON that comes back as it went in, or is refused before anything is written.

orjson is used when it is installed, and the standard library for what orjson cannot hold: lone surrogates and integers
beyond 64 bits. What the standard library wrote begins with a tab, so that it reads it again.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

try:
    import orjson
except ImportError:  # an extra: everything works without it, slower
    orjson = None  # type: ignore[assignment]

_SLOW = b"\t"  # never inside JSON's texts, where a tab is escaped
_MAX_DEPTH = 200
# Characters that PostgreSQL's text cannot hold, and the one that marks them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff\ue000]")
_STORED = re.compile("\ue000([0-9a-f]{4})")
_FLOAT = "\ue000f"  # no escaped character begins like this
_BIG = re.compile("[0-9]{19}")
_EXPONENT = re.compile("[0-9][eE][-+]?[0-9]")


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8. Raises `ValueError` for what JSON cannot give back: NaN, dates, keys that are no text."""
    if orjson is not None:
        try:
            # datetimes and dataclasses would come back as something else, so they are not passed to orjson's own ways.
            text = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS)
        except (TypeError, orjson.JSONEncodeError):
            return _slow(value)
        if b"null" not in text:  # orjson writes null for NaN
            return bytes(text)
    return _slow(value) if orjson is None else _checked(value, text)


def loads(text: bytes | str) -> Any:
    """The value of what `dumps` wrote."""
    if orjson is None or text[:1] in (_SLOW, "\t"):
        return json.loads(text)
    return orjson.loads(text)


def loads_array(text: bytes) -> Any:
    """The list of what `dumps` wrote, joined by commas in brackets."""
    return json.loads(text) if orjson is None or _SLOW in text else orjson.loads(text)


def _checked(value: Any, text: bytes) -> bytes:
    _refuse_unfit(value, 0)
    return bytes(text)


def _slow(value: Any) -> bytes:
    _refuse_unfit(value, 0)
    return _SLOW + json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def _refuse_unfit(value: Any, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError(f"a message is nested deeper than {_MAX_DEPTH}")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("JSON has no NaN and no infinity")
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"a key of a JSON object is text, not {type(key).__name__}")
            _refuse_unfit(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_unfit(inner, depth + 1)
    else:
        raise ValueError(f"JSON cannot hold a {type(value).__name__}")


def to_storable(text: str) -> str:
    """Text that PostgreSQL can hold: NUL and lone surrogates as U+E000 and four digits, and U+E000 likewise."""
    return _UNSTORABLE.sub(lambda m: f"\ue000{ord(m[0]):04x}", text)


def from_storable(text: str) -> str:
    """The text that `to_storable` was given."""
    return _STORED.sub(lambda m: chr(int(m[1], 16)), text) if "\ue000" in text else text


def to_jsonb(value: Any) -> Any:
    """A value that PostgreSQL's jsonb gives back as it is: texts as in `to_storable`, and floats that need an exponent
    as text, because jsonb would make whole numbers of them."""
    if isinstance(value, str):
        return to_storable(value)
    if isinstance(value, float) and "e" in repr(value):
        return f"{_FLOAT}{value!r}"
    if isinstance(value, Mapping):
        return {to_storable(k): to_jsonb(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonb(v) for v in value]
    return value


def from_jsonb(value: Any) -> Any:
    """The value that `to_jsonb` was given."""
    if isinstance(value, str):
        return float(value[len(_FLOAT) :]) if value.startswith(_FLOAT) else from_storable(value)
    if isinstance(value, dict):
        return {from_storable(k): from_jsonb(v) for k, v in value.items()}
    if isinstance(value, list):
        return [from_jsonb(v) for v in value]
    return value


def jsonb_text(encoded: bytes) -> str:
    """What `dumps` wrote, as text that jsonb takes. Usually it is that already."""
    text = encoded.decode()
    if "\\u" not in text and "\ue000" not in text and not _EXPONENT.search(text):
        return text
    return dumps(to_jsonb(loads(encoded))).decode()


def from_jsonb_text(text: str) -> Any:
    """The value behind what jsonb gives back as text."""
    # Integers beyond 64 bits, which orjson would make floats of.
    found = json.loads(text) if _BIG.search(text) else loads(text)
    return from_jsonb(found) if "\ue000" in text else found


def as_messages(messages: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One or many, as a list. Raises `ValueError` for anything that is no JSON object."""
    found = [messages] if isinstance(messages, Mapping) else list(messages)
    for one in found:
        if not isinstance(one, Mapping):
            raise ValueError(f"a message is a JSON object, not {type(one).__name__}")
    return found


def named(messages: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[bytes]]:
    """Ids and encoded messages, each with its `id` in it. Raises `ValueError` for an id that is not 1 to 200 printable
    characters, for one that stands twice, and for what is no JSON."""
    ids: list[str] = []
    encoded: list[bytes] = []
    for message in messages:
        given = message.get("id")
        kept = message if isinstance(message, dict) else dict(message)
        if given is None:
            given = new_id()
            kept = {**kept, "id": given}
        if not isinstance(given, str) or not 0 < len(given) <= 200 or not given.isprintable():
            raise ValueError("a message's id is 1 to 200 printable characters")
        ids.append(given)
        encoded.append(dumps(kept))
    if len(set(ids)) != len(ids):
        raise ValueError("two messages of one call have the same id")
    return ids, encoded


def new_id() -> str:
    """128 random bits in hexadecimal."""
    return os.urandom(16).hex()
