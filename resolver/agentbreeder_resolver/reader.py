"""Typed readers over nodes. Each notes a problem and answers None, so that all problems of a file come at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from .yaml_nodes import Problems

_TAG = "tag:yaml.org,2002:"
STR, INT, FLOAT, BOOL, NULL, MERGE, TIMESTAMP = (
    _TAG + t for t in ("str", "int", "float", "bool", "null", "merge", "timestamp")
)
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_PLAIN_INT = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_BOOLS = {"true": True, "false": False}
_PLACEHOLDER = re.compile(r"(?<!\$)\$\{([^}]*)\}")
_MERGE_LIMIT = 1000


class Section:
    """A mapping with its dotted path; `<<` merges are laid under its own keys."""

    def __init__(self, node: MappingNode, path: str, problems: Problems) -> None:
        self.node, self.path, self.problems = node, path, problems
        self.items: dict[str, tuple[Node, Node]] = {}
        self._merge(node, 0)

    def _merge(self, node: MappingNode, depth: int) -> None:
        merged: list[Node] = []
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.problems.add("BAD_KEY", "a key must be a plain text", key, self.path)
            elif key.tag == MERGE:
                merged.append(value)
            else:
                self.items.setdefault(key.value, (key, value))
        for value in merged:
            for part in value.value if isinstance(value, SequenceNode) else [value]:
                if isinstance(part, MappingNode) and depth < _MERGE_LIMIT:
                    self._merge(part, depth + 1)

    def key(self, name: str) -> str:
        """The dotted path of one of its keys."""
        return f"{self.path}.{name}" if self.path else name

    def node_of(self, name: str) -> Node | None:
        """The value node of a key, or None."""
        item = self.items.get(name)
        return item[1] if item else None

    def refuse_unknown(self, known: Iterable[str], *, ours: bool = True) -> None:
        """Every key that is not in `known` is a problem, with the nearest known one named."""
        known = tuple(known)
        for name, (key_node, _) in self.items.items():
            if name not in known:
                self.problems.add(
                    "UNKNOWN_KEY", f"unknown key {name!r}{suggest(name, known)}", key_node, self.key(name)
                )

    def text(self, name: str, *, exact_numbers: bool = False) -> str | None:
        """A text. A boolean, null, date or number is a problem ("quote it"); numbers pass with `exact_numbers`."""
        node = self.node_of(name)
        return None if node is None else text_of(node, self.key(name), self.problems, exact_numbers=exact_numbers)

    def integer(self, name: str) -> int | None:
        """A whole number in plain decimal."""
        node = self.node_of(name)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and node.tag == INT and _PLAIN_INT.fullmatch(node.value):
            return int(node.value)
        self.problems.add("WRONG_TYPE", f"{self.key(name)} must be a whole number", node, self.key(name))
        return None

    def boolean(self, name: str) -> bool | None:
        """`true` or `false`, and no other spelling."""
        node = self.node_of(name)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and node.tag == BOOL and node.value.lower() in _BOOLS:
            return _BOOLS[node.value.lower()]
        self.problems.add("WRONG_TYPE", f"{self.key(name)} must be true or false", node, self.key(name))
        return None

    def section(self, name: str) -> Section | None:
        """A mapping under a key; null counts as absent there."""
        node = self.node_of(name)
        if node is None or (isinstance(node, ScalarNode) and node.tag == NULL):
            return None
        if isinstance(node, MappingNode):
            return Section(node, self.key(name), self.problems)
        self.problems.add("WRONG_TYPE", f"{self.key(name)} must be a mapping (key: value lines)", node, self.key(name))
        return None

    def sequence(self, name: str) -> list[Node]:
        """The items of a list under a key; absent or null is empty."""
        node = self.node_of(name)
        if node is None or (isinstance(node, ScalarNode) and node.tag == NULL):
            return []
        if isinstance(node, SequenceNode):
            return list(node.value)
        self.problems.add("WRONG_TYPE", f"{self.key(name)} must be a list", node, self.key(name))
        return []

    def texts(self, name: str) -> list[tuple[str, Node]]:
        """A list of texts, each with its node."""
        found = [
            (text_of(item, f"{self.key(name)}[{i}]", self.problems), item) for i, item in enumerate(self.sequence(name))
        ]
        return [(t, n) for t, n in found if t is not None]


def text_of(node: Node, key: str, problems: Problems, *, exact_numbers: bool = False) -> str | None:
    """The text of a scalar, exactly as written. Notes a problem for anything that YAML would read as another type."""
    if not isinstance(node, ScalarNode):
        problems.add("WRONG_TYPE", f"{key} must be a text", node, key)
        return None
    if node.tag == STR:
        return str(node.value)
    if exact_numbers and (node.tag == TIMESTAMP or (node.tag in (INT, FLOAT) and _PLAIN_NUMBER.fullmatch(node.value))):
        return str(node.value)
    if node.tag == NULL:
        problems.add("EMPTY_VALUE", f"{key} has no value; give it one or remove the key", node, key)
        return None
    kind = {BOOL: "a boolean", INT: "a number", FLOAT: "a number", TIMESTAMP: "a date"}.get(node.tag, "another type")
    # The value is not shown: an unquoted number may be a password.
    problems.add("WRONG_TYPE", f"{key} must be a text, but YAML reads this as {kind}; put it in quotes", node, key)
    return None


def placeholders(text: str) -> list[str]:
    """The names in `${NAME}` that nobody filled in (`$${` is a literal)."""
    return [m.group(1).split(":")[0].split("-")[0] or "?" for m in _PLACEHOLDER.finditer(text)]


def suggest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or the list of known ones when there are few."""
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(names)}" if names else ""


def near_miss(name: str, known: Mapping[str, str] | Iterable[str]) -> str:
    """A known name that this one is surely a misspelling of, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), list(known), n=1, cutoff=0.8)
    return close[0] if close else ""
