"""The file format: JSON, one version number, strict both ways. Nothing unknown is ever dropped on a rewrite."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any, NoReturn

from agentbreeder_core.errors import StateError, StateTooNew

from .record import AgentRecord, InfraState, Resource

FORMAT_VERSION = 1
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From an older version to the next one. Empty as long as version 1 is the only one ever released."""

_PHASES = frozenset({"intent", "created", "ready", "deleting", "gone"})
_UNVERSIONED = frozenset({"cloud", "region", "provisioned_by", "mode", "resources"})
_TIMES = frozenset({"created_at", "updated_at"})
_TUPLES = frozenset({"needs", "kept"})
_MARKERS = (b"<<<<<<<", b"=======", b">>>>>>>")


def encode(state: InfraState) -> bytes:
    """UTF-8 JSON with sorted keys, two spaces, and a final newline: diffs stay small and bytes are stable."""
    document = {"format_version": FORMAT_VERSION, **asdict(state)}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, default=_plain)
    return (text + "\n").encode()


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"state cannot hold a {type(value).__name__}")


def decode(data: bytes, *, location: str) -> InfraState:
    """The state in `data`. Raises `StateError` (or `StateTooNew`) naming `location` and what is wrong; never guesses."""
    document = _parse(data, location)
    document = _to_current(document, location)
    try:
        return _state(document)
    except (TypeError, ValueError, KeyError, AttributeError) as e:
        _refuse(location, f"it is not a valid state: {_reason(e)}")


def _refuse(location: str, reason: str) -> NoReturn:
    raise StateError(
        f"{location}: {reason}; the file was left as it is",
        hint=f"restore it from version control or from {location}.bak; do not delete it: it says what exists in the cloud",
    )


def _reason(error: Exception) -> str:
    return f"missing {error}" if isinstance(error, KeyError) else str(error)


def _parse(data: bytes, location: str) -> dict[str, Any]:
    if not data:
        _refuse(location, "it is empty (0 bytes)")
    if not data.strip(b"\0 \r\n\t"):
        _refuse(location, "it holds nothing but zero bytes or blanks")
    for number, line in enumerate(data.splitlines(), start=1):
        if line.startswith(_MARKERS[0]) or line.startswith(_MARKERS[2]) or line == _MARKERS[1]:
            _refuse(location, f"merge conflict markers at line {number}")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_unique)
    except UnicodeDecodeError as e:
        _refuse(location, f"it is not UTF-8 (byte {e.start})")
    except json.JSONDecodeError as e:
        _refuse(location, f"it is not complete JSON (line {e.lineno}, column {e.colno}: {e.msg})")
    except (ValueError, RecursionError) as e:
        _refuse(location, str(e))
    if not isinstance(document, dict):
        _refuse(location, f"it holds {json.dumps(document)[:40]}, not a state")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return result


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
    while version < FORMAT_VERSION:
        document = MIGRATIONS[version](document)
        version += 1
    return document


def _state(document: dict[str, Any]) -> InfraState:
    _known(InfraState, document, "the file")
    agents = {str(name): _agent(str(name), raw) for name, raw in document["agents"].items()}
    serial, lineage = document["serial"], document["lineage"]
    if not isinstance(serial, int) or isinstance(serial, bool) or serial < 0:
        raise ValueError(f"serial must be a whole number, not {serial!r}")
    if not isinstance(lineage, str) or not lineage:
        raise ValueError("lineage must be a text")
    return InfraState(lineage=lineage, serial=serial, tool_version=str(document["tool_version"]), agents=agents)


def _agent(name: str, raw: dict[str, Any]) -> AgentRecord:
    where = f"agent {name!r}"
    values = _values(AgentRecord, raw, where)
    if values["agent"] != name:
        raise ValueError(f"{where} is recorded under another name, {values['agent']!r}")
    values["resources"] = tuple(_resource(r, where) for r in raw["resources"])
    ids = [r.step_id for r in values["resources"]]
    if len(set(ids)) != len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise ValueError(f"{where} records {twice!r} twice")
    return AgentRecord(**values)


def _resource(raw: dict[str, Any], where: str) -> Resource:
    values = _values(Resource, raw, f"a resource of {where}")
    if values["phase"] not in _PHASES:
        raise ValueError(f"{where}: unknown phase {values['phase']!r}")
    if values["ownership"] not in ("owned", "adopted"):
        raise ValueError(f"{where}: unknown ownership {values['ownership']!r}")
    return Resource(**values)


def _values(record: type, raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    _known(record, raw, where)
    values = dict(raw)
    for field in fields(record):
        value = raw[field.name]
        if field.name in _TIMES:
            values[field.name] = _time(value)
        elif field.name in _TUPLES:
            values[field.name] = tuple(str(v) for v in value)
        elif field.type == "str" and not isinstance(value, str):
            raise ValueError(f"{where}: {field.name} must be a text, not {value!r}")
        elif str(field.type).startswith("dict") and not isinstance(value, dict):
            raise ValueError(f"{where}: {field.name} must be an object")
    return values


def _known(record: type, raw: Mapping[str, Any], where: str) -> None:
    names = {f.name for f in fields(record)}
    missing, extra = names - raw.keys(), raw.keys() - names
    if missing:
        raise ValueError(f"{where} lacks {', '.join(sorted(missing))}")
    if extra:
        raise ValueError(f"{where} has fields this version does not know: {', '.join(sorted(extra))}")


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    parsed = datetime.fromisoformat(value)
    if parsed.tzinfo is None:
        raise ValueError(f"time without a zone: {value!r}")
    return parsed.astimezone(UTC)
