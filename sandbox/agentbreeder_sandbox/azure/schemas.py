"""What a body may say: the fields and JSON types of the SDK's own models, so that a typo is a 400 here as it is there."""

from __future__ import annotations

import importlib
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from agentbreeder_core.errors import MissingExtra

from .wire import Refused

Shape = str | tuple[str, Any] | dict[str, Any]
"""A JSON type ("str", "int", "bool", "number", "any"), ("list" or "map", shape), or a dict of field to shape."""

_JSON: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "number": (int, float),
}
_WORDS: Mapping[str, str] = {
    "str": "str",
    "int": "int",
    "long": "int",
    "float": "number",
    "bool": "bool",
    "object": "any",
    "iso-8601": "str",
    "duration": "str",
}
_ENVELOPE: Mapping[str, Shape] = {"id": "str", "name": "str", "type": "str", "systemData": "any", "etag": "str"}
_NATIVE: Mapping[Any, str] = {str: "str", int: "int", bool: "bool", float: "number"}


def check(body: Mapping[str, Any], package: str, model: str) -> None:
    """Raises `Refused` 400 for a field that `package.models.model` does not have, or a value of another JSON type.

    Fields that only the service sets are accepted and ignored, as Azure does with a document sent back to it.
    Raises `MissingExtra` without the SDK.
    """
    shape = shape_of(package, model)
    refuse_unfit(body, {**_ENVELOPE, **shape} if isinstance(shape, dict) else shape)


def refuse_unfit(body: Mapping[str, Any], shape: Shape) -> None:
    """`check`, against a shape written by hand. ARM's code; the words are the stand-in's own."""
    problem = _problem(body, shape, "")
    if problem:
        message = f"The request content was invalid and could not be deserialized: '{problem}'."
        raise Refused(400, "InvalidRequestContent", message)


def _problem(value: Any, shape: Shape, path: str) -> str:
    if value is None or shape == "any":
        return ""
    if isinstance(shape, str):
        fits = isinstance(value, _JSON[shape]) and (shape == "bool" or not isinstance(value, bool))
        return "" if fits else f"Error converting value {value!r} to type '{shape}'. Path '{path}'"
    if isinstance(shape, tuple):
        return _in_container(value, shape, path)
    if not isinstance(value, Mapping):
        return f"Error converting value {value!r} to an object. Path '{path}'"
    for name, inner in value.items():
        at = f"{path}.{name}".lstrip(".")
        if name not in shape:
            return f"Could not find member '{name}' on the object. Path '{at}'"
        if found := _problem(inner, shape[name], at):
            return found
    return ""


def _in_container(value: Any, shape: tuple[str, Any], path: str) -> str:
    kind, inner = shape
    if not isinstance(value, list if kind == "list" else Mapping):
        return f"Error converting value {value!r} to a {kind}. Path '{path}'"
    items: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, Mapping) else list(enumerate(value))
    return next((found for key, item in items if (found := _problem(item, inner, f"{path}[{key}]"))), "")


@cache
def shape_of(package: str, model: str) -> Shape:
    """The shape of one model of `azure.mgmt.PACKAGE`. Raises `MissingExtra` when that is not installed."""
    try:
        models = importlib.import_module(f"azure.mgmt.{package}.models")
    except ImportError as e:
        raise MissingExtra(
            f"the Azure sandbox checks bodies against the SDK's models: {e.name} is not installed",
            hint="pip install 'agentbreeder-memory[azure,sandbox]'",
        ) from e
    return _of_model(vars(models)[model], vars(models), ())


def _of_model(model: type, models: Mapping[str, Any], seen: tuple[type, ...]) -> Shape:
    if model in seen:
        return "any"
    if "_attribute_map" in dir(model):
        return _of_old(model, models, (*seen, model))
    hints = typing.get_type_hints(model, {"_models": types.SimpleNamespace(**models), **_module_of(model)}, None)
    fields = {f: v for base in reversed(model.__mro__) for f, v in vars(base).items() if hasattr(v, "_rest_name_input")}
    return {
        (rest._rest_name_input or attribute): _of_hint(hints[attribute], models, (*seen, model))
        for attribute, rest in fields.items()
    }


def _module_of(model: type) -> dict[str, Any]:
    return dict(vars(importlib.import_module(model.__module__)))


def _of_hint(hint: Any, models: Mapping[str, Any], seen: tuple[type, ...]) -> Shape:
    origin, args = typing.get_origin(hint), [a for a in typing.get_args(hint) if a is not type(None)]
    if origin is typing.Union or origin is types.UnionType:
        return "str" if str in args else _of_hint(args[0], models, seen)
    if origin is list:
        return ("list", _of_hint(args[0], models, seen))
    if origin is dict:
        return ("map", _of_hint(args[1], models, seen))
    if hint in _NATIVE:
        return _NATIVE[hint]
    if isinstance(hint, type) and hint.__module__.startswith("azure.") and not issubclass(hint, str):
        return _of_model(hint, models, seen)
    return "str" if isinstance(hint, type) and hint.__module__ in ("datetime", "enum") else "any"


def _of_old(model: type, models: Mapping[str, Any], seen: tuple[type, ...]) -> Shape:
    shape: dict[str, Any] = {}
    attributes: Mapping[str, Mapping[str, str]] = vars(model).get("_attribute_map") or model._attribute_map  # type: ignore[attr-defined]
    if any(not entry["key"] for entry in attributes.values()):
        return "any"  # additional properties: the service takes any
    for entry in attributes.values():
        *parents, last = (part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", entry["key"]))
        place = shape
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = _of_word(entry["type"], models, seen)
    return shape


def _of_word(word: str, models: Mapping[str, Any], seen: tuple[type, ...]) -> Shape:
    if word[0] in "[{":
        return ("list" if word[0] == "[" else "map", _of_word(word[1:-1], models, seen))
    if word in _WORDS:
        return _WORDS[word]
    found = models.get(word)
    if not isinstance(found, type) or issubclass(found, str):
        return "str" if found is not None else "any"
    return _of_model(found, models, seen)
