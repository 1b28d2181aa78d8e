"""Is a request as its description says? The body is checked field by field and comes back in one spelling.

Wordings are those of Google's JSON transcoder as public reports quote them. Accepted as Google does: field names in
snake case, 64-bit integers as numbers or strings, enum values as names or numbers, null for "not set".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .discovery import Document, Method, Schema
from .enums import NUMBERS, name_of
from .errors import invalid

_PACKAGES = {"redis": "google.cloud.redis.v1", "secretmanager": "google.cloud.secretmanager.v1"}
_WHOLE = re.compile(r"-?\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"-?\d+(\.\d{1,9})?s")
_OUTPUT = re.compile(r"^\W*output[ -]only", re.IGNORECASE)
_DROPPED = object()


def snake(name: str) -> str:
    """`memorySizeGb` as `memory_size_gb`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def camel(name: str) -> str:
    """`memory_size_gb` as `memorySizeGb`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


class BodyCheck:
    """Checks one body against one method's request schema; every violation is collected, as Google does."""

    def __init__(self, document: Document, method: Method) -> None:
        self._schemas = document.schemas
        self._method = method
        self._package = _PACKAGES.get(method.api, f"google.{method.api}")
        self._violations: list[tuple[str, str]] = []

    def run(self, body: Any) -> dict[str, Any]:
        """The body with output fields left out. Raises `Refused` (400) that names every violation."""
        root, schema = self._root(), self._method.request
        if not isinstance(body, dict):
            self._violations.append(("", "Invalid JSON payload received. Root element must be a message."))
            raise invalid(self._method.api, self._violations)
        if not schema:
            for name in body:
                self._unknown(root, name)
        found = self._message(root, schema, body) if schema else {}
        if self._violations:
            raise invalid(self._method.api, self._violations)
        return found

    def _root(self) -> str:
        """Where Google's messages say that the body is: a message of its own, or one field of the request."""
        schema = self._method.request
        if schema.endswith("Request") or not schema:
            return ""
        return "body" if self._method.api == "sqladmin" else snake(schema)

    def _message(self, at: str, schema_name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        schema = self._schemas[schema_name]
        fields: Mapping[str, Schema] = schema.get("properties", {})
        found: dict[str, Any] = {}
        for key, value in given.items():
            name = key if key in fields else camel(key)
            if name in fields:
                checked = self._field(f"{at}.{snake(name)}".lstrip("."), schema_name, name, fields[name], value)
                if checked is not _DROPPED:
                    found[name] = checked
            elif not (schema_name == self._method.request and name in self._method.message_fields):
                self._unknown(at, key)
        return found

    def _unknown(self, at: str, name: str, why: str = "Cannot find field.") -> None:
        where = f" at '{at}'" if at else ""
        text = f'Invalid JSON payload received. Unknown name "{name}"{where}: {why}'
        self._violations.append((at, text))

    def _field(self, at: str, owner: str, name: str, schema: Schema, value: Any) -> Any:
        if value is None:
            return _DROPPED
        checked = self._value(at, owner, name, schema, value)
        output = schema.get("readOnly") or _OUTPUT.match(schema.get("description", ""))
        return _DROPPED if output else checked

    def _value(self, at: str, owner: str, name: str, schema: Schema, value: Any) -> Any:
        if schema.get("type") == "array":
            return self._list(at, owner, name, schema["items"], value)
        if isinstance(value, list):
            parent, _, last = at.rpartition(".")
            self._unknown(parent, camel(last), "Proto field is not repeating, cannot start list.")
            return _DROPPED
        if "$ref" in schema:
            if isinstance(value, dict):
                return self._message(at, schema["$ref"], value)
            return self._wrong(at, f"type.googleapis.com/{self._package}.{schema['$ref']}", value)
        if schema.get("type") == "object":
            return self._map(at, owner, name, schema, value)
        if isinstance(value, dict):
            return self._say(at, f"Invalid value at '{at}' ({snake(name)}), Starting an object on a scalar field")
        return self._scalar(at, owner, name, schema, value)

    def _list(self, at: str, owner: str, name: str, items: Schema, value: Any) -> Any:
        given = value if isinstance(value, list) else [value]
        checked = [self._value(f"{at}[{n}]", owner, name, items, v) for n, v in enumerate(given)]
        return [v for v in checked if v is not _DROPPED]

    def _map(self, at: str, owner: str, name: str, schema: Schema, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._wrong(at, "Map", value)
        items = schema.get("additionalProperties")
        if items is None:
            return self._inline(at, owner, schema, value)
        if items.get("type") == "any":
            return value
        return {
            key: self._value(f"{at}[{n}].value", owner, name, items, v)
            for n, (key, v) in enumerate(value.items())
            if v is not None
        }

    def _inline(self, at: str, owner: str, schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
        fields: Mapping[str, Schema] = schema.get("properties", {})
        for key in value.keys() - fields.keys():
            self._unknown(at, key)
        return {k: self._value(f"{at}.{snake(k)}", owner, k, fields[k], v) for k, v in value.items() if k in fields}

    def _scalar(self, at: str, owner: str, name: str, schema: Schema, value: Any) -> Any:
        if "enum" in schema:
            return self._enum(at, owner, name, schema, value)
        kind = (str(schema.get("type")), str(schema.get("format", "")))
        label, check = _SCALARS.get(kind) or _SCALARS[kind[0], ""]
        checked = check(value)
        return self._wrong(at, label, value) if checked is None else checked

    def _enum(self, at: str, owner: str, name: str, schema: Schema, value: Any) -> Any:
        if isinstance(value, str) and value in schema["enum"]:
            return value
        if isinstance(value, int) and not isinstance(value, bool) and (owner, name) in NUMBERS:
            known = name_of(owner, name, value)
            if known in schema["enum"]:
                return known
        return self._wrong(at, f"type.googleapis.com/{self._package}.{owner}.{name[:1].upper()}{name[1:]}", value)

    def _wrong(self, at: str, label: str, value: Any) -> Any:
        shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else value
        return self._say(at, f"Invalid value at '{at}' ({label}), {shown}")

    def _say(self, at: str, text: str) -> Any:
        self._violations.append((at, text))
        return _DROPPED


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else None


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value)
    return value if isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) or (isinstance(value, str) and _WHOLE.fullmatch(value)):
        return int(value)
    return None


def _int32(value: Any) -> Any:
    found = _whole(value)
    return found if found is not None and -(2**31) <= found < 2**31 else None


def _int64(value: Any) -> Any:
    found = _whole(value)
    return str(found) if found is not None and -(2**63) <= found < 2**64 else None


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    try:
        plain = base64.b64decode(value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return base64.b64encode(plain).decode()


def _matching(pattern: re.Pattern[str]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and pattern.fullmatch(value) else None


_SCALARS: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("string", ""): ("TYPE_STRING", _text),
    ("string", "int64"): ("TYPE_INT64", _int64),
    ("string", "uint64"): ("TYPE_UINT64", _int64),
    ("string", "byte"): ("TYPE_BYTES", _bytes),
    ("string", "google-datetime"): ("type.googleapis.com/google.protobuf.Timestamp", _matching(_TIME)),
    ("string", "google-duration"): ("type.googleapis.com/google.protobuf.Duration", _matching(_DURATION)),
    ("integer", ""): ("TYPE_INT32", _int32),
    ("boolean", ""): ("TYPE_BOOL", _flag),
    ("number", ""): ("TYPE_DOUBLE", _number),
    ("any", ""): ("any", lambda value: value),
}


def check_query(document: Document, method: Method, given: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The method's own parameters. Raises `Refused` (400) for unknown names and wrong values."""
    violations = list(_query_violations(document, method, given))
    if violations:
        raise invalid(method.api, violations)
    return {name: values for name, values in given.items() if name in method.query}


def _query_violations(document: Document, method: Method, given: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for name, values in given.items():
        if name in document.common or name == "$alt":
            continue
        schema = method.query.get(name)
        if schema is None:
            yield (
                "",
                (
                    f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
                    f"Field '{name}' could not be found in request message."
                ),
            )
            continue
        if len(values) > 1 and not schema.get("repeated"):
            yield name, f"Invalid value at '{snake(name)}': the parameter may be given once"
        for value in values:
            label, check = _SCALARS.get((schema["type"], schema.get("format", ""))) or _SCALARS[schema["type"], ""]
            if check(value) is None or ("enum" in schema and value not in schema["enum"]):
                yield name, f"Invalid value at '{snake(name)}' ({label}), \"{value}\""
    for name, schema in method.query.items():
        if schema.get("required") and name not in given:
            yield name, f"Missing required parameter: {name}"


def with_numbers(document: Document, schema_name: str, value: Any) -> Any:
    """An answer with its enum values as numbers, as `$alt=json;enum-encoding=int` asks; what is inside an Any stays."""
    fields: Mapping[str, Schema] = document.schemas.get(schema_name, {}).get("properties", {})
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, inner in value.items():
        schema = fields.get(name, {})
        numbers = NUMBERS.get((schema_name, name))
        if "enum" in schema and numbers and isinstance(inner, str):
            found[name] = numbers[inner]
        elif "$ref" in schema:
            found[name] = with_numbers(document, schema["$ref"], inner)
        elif isinstance(inner, list) and "$ref" in schema.get("items", {}):
            found[name] = [with_numbers(document, schema["items"]["$ref"], v) for v in inner]
        else:
            found[name] = inner
    return found
