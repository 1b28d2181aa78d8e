"""YAML as nodes with positions. Only what is read is ever turned into values, so nothing foreign is judged or expanded."""

from __future__ import annotations

from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from agentbreeder_core.errors import ConfigError, Problem

MAX_BYTES = 1024 * 1024
MAX_EXPANDED = 100_000
"""How many nodes a file may have once every alias is written out."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Problems:
    """Collects every problem of one file, in the order of the file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def add(self, code: str, message: str, node: Node | None = None, key: str = "") -> None:
        """Note a problem at a node (or about the whole file)."""
        line, column = (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (0, 0)
        self.found.append(Problem(code=code, message=message, file=self.file, line=line, column=column, key=key))

    def where(self, node: Node) -> str:
        """`file:line:column` of a node."""
        return f"{self.file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"

    def raise_if_any(self) -> None:
        """Raise `ConfigError` with all of them, sorted by position."""
        if self.found:
            raise ConfigError(problems=sorted(self.found, key=lambda p: (p.line, p.column)))


def read_text(path: Path) -> str:
    """The file as text: UTF-8 whatever the locale, a byte order mark dropped. Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"no such file: {path}", hint="name the agent file, or a folder with agent.yaml") from None
    except OSError as e:
        raise ConfigError(f"{path} cannot be read: {e.strerror}") from None
    if len(data) > MAX_BYTES:
        raise _file_error(path, "TOO_LARGE", "it is larger than 1 MiB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _file_error(path, "NOT_UTF8", "it is UTF-16 (byte offset 0); save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise _file_error(
            path, "NOT_UTF8", f"it is not UTF-8 (byte offset {e.start}); save it as UTF-8", line
        ) from None


def _file_error(path: Path, code: str, message: str, line: int = 0, column: int = 0) -> ConfigError:
    return ConfigError(problems=[Problem(code=code, message=message, file=str(path), line=line, column=column)])


def compose(text: str, path: Path) -> Node | None:
    """The root node of the only document. Raises `ConfigError` for anything that is not one well-formed document."""
    documents = compose_all(text, path)
    if len(documents) > 1:
        mark = documents[1].start_mark
        raise _file_error(
            path, "SEVERAL_DOCUMENTS", "only one YAML document is allowed here", mark.line + 1, mark.column + 1
        )
    return documents[0] if documents else None


def compose_all(text: str, path: Path) -> list[Node]:
    """Every document's root node, checked for duplicate keys and alias bombs."""
    try:
        documents = [n for n in yaml.compose_all(text, Loader=_Loader) if n is not None]
    except yaml.YAMLError as e:
        raise _syntax(e, text, path) from None
    except RecursionError:
        raise _file_error(path, "TOO_DEEP", "it is nested too deeply") from None
    problems = Problems(str(path))
    for root in documents:
        _check(root, problems, aliases="*" in text and "&" in text)
    problems.raise_if_any()
    return documents


def _syntax(error: yaml.YAMLError, text: str, path: Path) -> ConfigError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 0
        return _file_error(path, "YAML_SYNTAX", "it holds a character that YAML does not allow", line)
    lines = text.splitlines()
    shown = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in shown[: mark.column + 1] or shown.startswith("\t"):
        message = "a tab is used for indentation; YAML allows only spaces"
    else:
        message = f"not valid YAML: {getattr(error, 'problem', None) or 'syntax error'}"
    return _file_error(path, "YAML_SYNTAX", message, mark.line + 1, mark.column + 1)


def _check(root: Node, problems: Problems, *, aliases: bool) -> None:
    """Duplicate keys anywhere, each node once; then the size with aliases written out."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ScalarNode):
            continue
        if aliases:
            if id(node) in seen:
                continue
            seen.add(id(node))
        if isinstance(node, MappingNode):
            keys = [k.value for k, _ in node.value if isinstance(k, ScalarNode)]
            if len(set(keys)) != len(keys):
                _report_duplicates(node, problems)
            stack += [v for _, v in node.value]
        elif isinstance(node, SequenceNode):
            stack += node.value
    if aliases and not problems.found:
        _refuse_bomb(root, problems)


def _report_duplicates(node: MappingNode, problems: Problems) -> None:
    first: dict[str, Node] = {}
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            continue
        if key.value in first:
            line = first[key.value].start_mark.line + 1
            again = key.start_mark.line + 1
            message = f"the key {key.value!r} stands twice, on line {line} and on line {again}"
            problems.add("DUPLICATE_KEY", message, key, key.value)
        else:
            first[key.value] = key


def _refuse_bomb(root: Node, problems: Problems) -> None:
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes.get(id(c), 1) for c in _children(node))
            if sizes[id(node)] > MAX_EXPANDED:
                message = f"its aliases expand to more than {MAX_EXPANDED} values"
                problems.add("ALIAS_LIMIT", message, node)
                return
        elif id(node) in open_nodes:
            problems.add("ALIAS_LIMIT", "an alias refers to the value that it stands in", node)
            return
        elif id(node) not in sizes:
            open_nodes.add(id(node))
            stack.append((node, True))
            stack += [(c, False) for c in _children(node)]


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [n for pair in node.value for n in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []
