"""From parsed JSON to records. Every field has one check here; a wrong one is refused with its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from .record import AgentRecord, InfraState, Ownership, Phase, Resource

Check = Callable[[Any], Any]
"""Returns the value as the record holds it; raises `ValueError` with what was expected."""

_WORDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def state_from(document: dict[str, Any]) -> InfraState:
    """The state in a parsed file of the current version, `format_version` taken off. Raises `ValueError`."""
    values = _checked(document, _STATE, "the file")
    for name, record in values["agents"].items():
        if record.agent != name:
            raise ValueError(f"agents.{name} is recorded under another name, {record.agent!r}")
    return InfraState(**values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a text, not {_what(value)}")
    return value


def _name(value: Any) -> str:
    if not _text(value):
        raise ValueError("must not be empty")
    return cast(str, value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list, not {_what(value)}")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, not {_what(value)}")
    return value


def _env(value: Any) -> dict[str, str]:
    return {name: _text(item) for name, item in _object(value).items()}


def _references(value: Any) -> dict[str, dict[str, str]]:
    return {name: _env(item) for name, item in _object(value).items()}


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_what(value)}")
    return value


def _serial(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("must be a whole number, 0 or more")
    return value


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        parsed = datetime.fromisoformat(_text(value))
    except ValueError:
        raise ValueError("must be an ISO time or null") from None
    if parsed.tzinfo is None:
        raise ValueError("is a time without a zone")
    return parsed.astimezone(UTC)


def _phase(value: Any) -> Phase:
    if value not in ("intent", "created", "ready", "deleting", "gone"):
        raise ValueError(f"is an unknown phase, {str(value)[:40]!r}")
    return cast(Phase, value)


def _ownership(value: Any) -> Ownership:
    if value not in ("owned", "adopted"):
        raise ValueError(f"must be owned or adopted, not {str(value)[:40]!r}")
    return cast(Ownership, value)


def _resources(value: Any) -> tuple[Resource, ...]:
    made: dict[str, Resource] = {}
    for number, item in enumerate(_list(value)):
        resource = Resource(**_checked(_at(f"[{number}]", _object, item), _RESOURCE, f"[{number}]"))
        if resource.step_id in made:
            raise ValueError(f"records {resource.step_id!r} twice")
        made[resource.step_id] = resource
    return tuple(made.values())


def _agents(value: Any) -> dict[str, AgentRecord]:
    records = {}
    for name, item in _object(value).items():
        place = f".{name}"
        records[name] = AgentRecord(**_checked(_at(place, _object, item), _AGENT, place))
    return records


_STATE: dict[str, Check] = {"lineage": _name, "serial": _serial, "tool_version": _text, "agents": _agents}

_AGENT: dict[str, Check] = {
    "agent": _name,
    "team": _text,
    "cloud": _text,
    "account": _text,
    "region": _text,
    "plan_digest": _text,
    "source": _text,
    "env": _env,
    "secret_env": _references,
    "resources": _resources,
    "kept": _texts,
    "updated_at": _time,
}

_RESOURCE: dict[str, Check] = {
    "step_id": _name,
    "kind": _name,
    "name": _text,
    "account": _text,
    "region": _text,
    "needs": _texts,
    "physical_id": _text,
    "inputs": _object,
    "outputs": _object,
    "phase": _phase,
    "ownership": _ownership,
    "unused": _flag,
    "created_at": _time,
    "updated_at": _time,
    "last_error": _text,
}


def _checked(raw: Mapping[str, Any], checks: Mapping[str, Check], place: str) -> dict[str, Any]:
    if raw.keys() != checks.keys():
        missing, extra = checks.keys() - raw.keys(), raw.keys() - checks.keys()
        if missing:
            raise ValueError(f"{place} lacks {', '.join(sorted(missing))}")
        raise ValueError(f"{place} has fields this version does not know: {', '.join(sorted(extra))}")
    prefix = "" if checks is _STATE else f"{place}."
    values = {}
    for field, check in checks.items():
        try:
            values[field] = check(raw[field])
        except ValueError as e:
            raise ValueError(_joined(prefix + field, str(e))) from None
    return values


def _at(place: str, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as e:
        raise ValueError(f"{place} {e}") from None


def _joined(place: str, reason: str) -> str:
    """`agents` and `.a.env must be ...` become one dotted place."""
    return place + reason if reason.startswith((".", "[")) else f"{place} {reason}"


def _what(value: Any) -> str:
    return _WORDS.get(type(value), type(value).__name__)
