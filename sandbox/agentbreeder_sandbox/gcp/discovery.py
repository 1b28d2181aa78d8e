"""Google's own description of its APIs: the discovery documents that ship inside `google-api-python-client`.

They say which methods, parameters and fields exist. Each document is read once per process, when it is first needed, and
only what can be reached from the methods in use is kept (Compute's is 5 MB).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from agentbreeder_core.errors import MissingExtra

Schema = Mapping[str, Any]

# Order matters where two APIs share a path (`v1/projects/P/locations`): the first one has it.
APIS: tuple[tuple[str, str], ...] = (
    ("sqladmin", "v1"),
    ("redis", "v1"),
    ("secretmanager", "v1"),
    ("servicenetworking", "v1"),
    ("serviceusage", "v1"),
    ("cloudresourcemanager", "v1"),
    ("compute", "v1"),
)
_OLD_SQL = ("sqladmin", "v1beta4")
_COMPUTE_RESOURCES = ("networks", "globalAddresses")
_VARIABLE = re.compile(r"\{\+?(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method. `path` is the template with a variable per segment; `query` maps its parameters to their schemas.

    `message_fields` are path variables that the request message has as fields of its own, so that a body may repeat them.
    """

    api: str
    id: str
    http: str
    path: str
    query: Mapping[str, Schema] = field(repr=False)
    request: str
    response: str
    message_fields: frozenset[str]

    @property
    def literal_length(self) -> int:
        """Characters that are not variables: of two templates that fit, the longer one is meant."""
        return len(_VARIABLE.sub("", self.path))

    def pattern(self) -> re.Pattern[str]:
        """The template as an expression with one named group per variable."""
        parts = _VARIABLE.split(self.path)
        literal = [re.escape(p) if n % 2 == 0 else f"(?P<{p}>[^/]+)" for n, p in enumerate(parts)]
        return re.compile("".join(literal))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One API: its address, its title, its methods, and the schemas that these reach."""

    host: str
    title: str
    methods: tuple[Method, ...] = field(repr=False)
    schemas: Mapping[str, Schema] = field(repr=False)
    common: Mapping[str, Schema] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A request's method, its document, and the path's variables."""

    method: Method
    document: Document
    variables: Mapping[str, str]


@cache
def document(api: str, version: str) -> Document:
    """Raises `MissingExtra` when the documents are not installed."""
    try:
        from googleapiclient.discovery_cache import get_static_doc
    except ImportError as e:
        raise MissingExtra(
            f"the Google Cloud sandbox needs google-api-python-client: {e.name} is not installed",
            hint="pip install 'agentbreeder-memory[sandbox]'",
        ) from e
    raw = json.loads(get_static_doc(api, version))
    resources = raw["resources"]
    if api == "compute":
        resources = {name: resources[name] for name in _COMPUTE_RESOURCES}
    methods = tuple(_method(api, raw["servicePath"], m) for m in _methods(resources))
    roots = {name for m in methods for name in (m.request, m.response) if name}
    return Document(
        host=raw["rootUrl"].removeprefix("https://").rstrip("/"),
        title=raw["title"],
        methods=methods,
        schemas=_reachable(raw["schemas"], roots),
        common=raw["parameters"],
    )


def _methods(resources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in resources.values():
        yield from resource.get("methods", {}).values()
        yield from _methods(resource.get("resources", {}))


def _method(api: str, service_path: str, raw: Mapping[str, Any]) -> Method:
    request = raw.get("request", {}).get("$ref", "")
    whole = frozenset(_VARIABLE.findall(raw["path"])) if request.endswith("Request") else frozenset()
    return Method(
        api=api,
        id=raw["id"],
        http=raw["httpMethod"],
        path="/" + service_path + (raw.get("flatPath") or raw["path"]),
        query={name: p for name, p in raw.get("parameters", {}).items() if p["location"] == "query"},
        request=request,
        response=raw.get("response", {}).get("$ref", ""),
        message_fields=whole,
    )


def _reachable(schemas: Mapping[str, Schema], roots: set[str]) -> dict[str, Schema]:
    kept: dict[str, Schema] = {}
    open_names = set(roots)
    while open_names:
        name = open_names.pop()
        kept[name] = schemas[name]
        open_names |= set(_references(schemas[name])) - set(kept)
    return kept


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)


Index = dict[tuple[str, int], list[tuple[re.Pattern[str], Method, Document]]]


@cache
def _index(apis: tuple[tuple[str, str], ...]) -> Index:
    found: Index = defaultdict(list)
    for api, version in apis:
        whole = document(api, version)
        for method in whole.methods:
            found[method.http, method.path.count("/")].append((method.pattern(), method, whole))
    for entries in found.values():
        entries.sort(key=lambda entry: -entry[1].literal_length)
    return dict(found)


def load() -> None:
    """Read every document now, so that a missing package is told at the start. Blocks for about 0.2 s, once."""
    _index(APIS)


def match(http: str, path: str) -> Match | None:
    """The method that this request is for. Cloud SQL's older `/sql/v1beta4/` paths are known too."""
    apis = (_OLD_SQL,) if path.startswith("/sql/v1beta4/") else APIS
    for pattern, method, whole in _index(apis).get((http, path.count("/")), ()):
        fits = pattern.fullmatch(path)
        if fits:
            return Match(method=method, document=whole, variables=fits.groupdict())
    return None
