"""The file format: JSON, one version number, strict both ways. Nothing unknown is ever dropped on a rewrite."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, NoReturn

from agentbreeder_core.errors import StateError, StateTooNew

from .json_text import json_text
from .reading import state_from
from .record import AgentRecord, InfraState, Resource

FORMAT_VERSION = 1
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From an older version to the next one. Empty as long as version 1 is the only one ever released."""

_UNVERSIONED = frozenset({"cloud", "region", "provisioned_by", "mode", "resources"})
_AGENT_NAMES = tuple(f.name for f in fields(AgentRecord))
_RESOURCE_NAMES = tuple(f.name for f in fields(Resource))
_agent_values, _resource_values = attrgetter(*_AGENT_NAMES), attrgetter(*_RESOURCE_NAMES)


def encode(state: InfraState) -> bytes:
    """UTF-8 JSON with sorted keys, two spaces, and a final newline: diffs stay small and bytes are stable.

    Raises `TypeError` or `ValueError` for a value that JSON cannot hold, such as a `Secret`.
    """
    document = {
        "format_version": FORMAT_VERSION,
        "lineage": state.lineage,
        "serial": state.serial,
        "tool_version": state.tool_version,
        "agents": {name: _agent_document(record) for name, record in state.agents.items()},
    }
    # A file name that is not UTF-8 holds lone surrogates; backslashreplace writes those as JSON's own \udcXX.
    return (json_text(document) + "\n").encode("utf-8", "backslashreplace")


def _agent_document(record: AgentRecord) -> dict[str, Any]:
    document = dict(zip(_AGENT_NAMES, _agent_values(record), strict=True))
    document["resources"] = [dict(zip(_RESOURCE_NAMES, _resource_values(r), strict=True)) for r in record.resources]
    return document


def decode(data: bytes, *, location: str) -> InfraState:
    """The state in `data`. Raises `StateError` (or `StateTooNew`) naming `location` and what is wrong; never guesses."""
    document = _to_current(_parse(data, location), location)
    try:
        return state_from(document)
    except ValueError as e:
        _refuse(location, f"it is not a valid state: {e}")


def _refuse(location: str, reason: str) -> NoReturn:
    raise StateError(
        f"{location}: {reason}; the file was left as it is",
        hint=f"restore it from version control or from {location}.bak; do not delete it: it says what exists in the cloud",
    ) from None


def _parse(data: bytes, location: str) -> dict[str, Any]:
    if not data:
        _refuse(location, "it is empty (0 bytes)")
    if not data.strip(b"\0 \r\n\t"):
        _refuse(location, "it holds nothing but zero bytes or blanks")
    _refuse_markers(data, location)
    try:
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique, parse_float=_finite, parse_constant=_not_json
        )
    except UnicodeDecodeError as e:
        _refuse(location, f"it is not UTF-8 (byte {e.start})")
    except json.JSONDecodeError as e:
        _refuse(location, f"it is not complete JSON (line {e.lineno}, column {e.colno}: {e.msg})")
    except RecursionError:
        _refuse(location, "its JSON is nested too deeply for a state")
    except ValueError as e:
        _refuse(location, str(e))
    if not isinstance(document, dict):
        _refuse(location, f"it holds {json.dumps(document)[:40]}, not a state")
    return document


def _refuse_markers(data: bytes, location: str) -> None:
    # JSON text never has a line that starts like this: a line break inside a string is written as \n.
    if b"<<<<<<<" not in data and b">>>>>>>" not in data and b"=======" not in data:
        return
    for number, line in enumerate(data.splitlines(), start=1):
        if line.startswith((b"<<<<<<<", b">>>>>>>")) or line == b"=======":
            _refuse(location, f"merge conflict markers at line {number}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return result


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _not_json(digits)


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"it holds {word[:40]}, which is no number of JSON")


def _to_current(document: dict[str, Any], location: str) -> dict[str, Any]:
    version = document.pop("format_version", None)
    if version is None:
        if _UNVERSIONED & document.keys():
            _refuse(location, "it has the older unversioned shape (cloud, region, provisioned_by, ... at the top)")
        _refuse(location, "it has no format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse(location, f"format_version must be a whole number, not {version!r}")
    if version > FORMAT_VERSION:
        raise StateTooNew(
            f"{location}: format version {version}, written by agentbreeder {document.get('tool_version', '(unknown)')}; "
            f"this one knows up to {FORMAT_VERSION}. The file was left as it is",
            hint="pip install --upgrade agentbreeder-memory",
        )
    for older in range(version, FORMAT_VERSION):
        document = MIGRATIONS[older](document)
    return document
