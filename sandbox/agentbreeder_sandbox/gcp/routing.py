"""One checked request as the handlers get it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .discovery import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that its description allows. `body` is in camel case, with enum names and without output fields.

    `root` is the real address up to the resource's own path, for links: `https://sqladmin.googleapis.com/v1`.
    """

    method: Method
    variables: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: dict[str, Any] = field(repr=False)
    root: str

    def one(self, parameter: str) -> str:
        """A query parameter that is given once, "" when it is not."""
        return next(iter(self.query.get(parameter, ())), "")

    def flag(self, parameter: str) -> bool:
        """A boolean query parameter."""
        return self.one(parameter) == "true"


Handler = Callable[[Call], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """Who answers a method, and which of its query parameters count; any other is refused as not served."""

    handler: Handler
    parameters: frozenset[str] = frozenset()


def route(handler: Handler, *parameters: str) -> Route:
    """A route with these parameters."""
    return Route(handler, frozenset(parameters))
