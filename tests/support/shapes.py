"""Answers compared with recordings of the real service by shape alone: every field's path and its JSON type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NOT_TYPES = ("source", "status", "headers")
_NAMES = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_MAPS = ("labels", "userLabels", "tags")  # their keys are the user's


def shape_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, JSON type) of everything in it."""
    if path:
        yield path, _NAMES[type(value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            name = "*" if path.rpartition(".")[2] in _MAPS else key
            yield from shape_of(inner, f"{path}.{name}".lstrip("."))
    if isinstance(value, list):
        for inner in value:
            yield from shape_of(inner, f"{path}[]")


def differences(answer: Any, recorded: Mapping[str, Any]) -> set[str]:
    """What the answer lacks (`-path`), adds (`+path`), or has with another type (`~path`)."""
    ours = dict(shape_of(answer))
    theirs = {path: name for name, paths in recorded.items() if name not in _NOT_TYPES for path in paths}
    lacks = {f"-{path}" for path in theirs.keys() - ours.keys()}
    adds = {f"+{path}" for path in ours.keys() - theirs.keys()}
    return lacks | adds | {f"~{path}" for path in ours.keys() & theirs.keys() if ours[path] != theirs[path]}
