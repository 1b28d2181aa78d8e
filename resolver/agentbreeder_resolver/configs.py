"""Named memory configs. Here they come from memory.yaml beside agent.yaml; the service adds another source later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from yaml.nodes import MappingNode, Node

from .reader import Section, suggest
from .yaml_nodes import Problems, compose_all, read_text

CONFIG_FILE = "memory.yaml"
BACKENDS = ("in_memory", "postgresql", "redis")
MEMORY_TYPES = ("buffer_window", "buffer")
SCOPES = ("agent", "team", "global")
KEYS = (
    "name",
    "backend",
    "backend_type",
    "memory_type",
    "max_messages",
    "ttl_seconds",
    "namespace_pattern",
    "scope",
    "linked_agents",
)
MAX_MESSAGES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """One named config. `ttl_seconds` 0 means no expiry. `where` is its place, for messages. `team` "" is the agent's own."""

    name: str
    where: str
    backend: str = "in_memory"
    memory_type: str = "buffer_window"
    max_messages: int = 100
    ttl_seconds: int = 0
    namespace_pattern: str = "{agent_id}:{session_id}"
    scope: str = "agent"
    linked_agents: tuple[str, ...] = ()
    team: str = ""


class MemoryConfigSource(Protocol):
    """Where named configs come from. May block; raises `ConfigError` when the source itself is broken."""

    @property
    def location(self) -> str:
        """Where it looks, for messages."""
        ...

    def get(self, name: str) -> MemoryConfig | None:
        """The config of that name, or None."""
        ...

    def names(self) -> Sequence[str]:
        """All names, for suggestions."""
        ...


class FileMemoryConfigs:
    """memory.yaml, one YAML document per config. Read when first asked; an absent file is an empty source."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._configs: dict[str, MemoryConfig] | None = None

    @property
    def location(self) -> str:
        return str(self._path)

    def get(self, name: str) -> MemoryConfig | None:
        """See `MemoryConfigSource.get`."""
        return self._loaded().get(name)

    def names(self) -> Sequence[str]:
        """See `MemoryConfigSource.names`."""
        return tuple(self._loaded())

    def _loaded(self) -> dict[str, MemoryConfig]:
        if self._configs is None:
            self._configs = _load(self._path) if self._path.exists() else {}
        return self._configs


class ChainedConfigs:
    """Asks one source after another; the first that has a config of the name decides."""

    def __init__(self, *sources: MemoryConfigSource) -> None:
        self._sources = sources

    @property
    def location(self) -> str:
        return " or ".join(source.location for source in self._sources)

    def get(self, name: str) -> MemoryConfig | None:
        """See `MemoryConfigSource.get`."""
        return next((found for source in self._sources if (found := source.get(name)) is not None), None)

    def names(self) -> Sequence[str]:
        """See `MemoryConfigSource.names`."""
        return tuple(dict.fromkeys(name for source in self._sources for name in source.names()))


def _load(path: Path) -> dict[str, MemoryConfig]:
    problems = Problems(str(path))
    configs: dict[str, MemoryConfig] = {}
    for node in compose_all(read_text(path), path):
        config = _read(node, problems)
        if config is None:
            continue
        if config.name in configs:
            message = f"the config {config.name!r} stands twice; the first is at {configs[config.name].where}"
            problems.add("DUPLICATE_CONFIG", message, node, "name")
        configs[config.name] = config
    problems.raise_if_any()
    return configs


def _read(node: Node, problems: Problems) -> MemoryConfig | None:
    if not isinstance(node, MappingNode):
        problems.add("NOT_A_MAPPING", "each document must be a mapping (key: value lines)", node)
        return None
    section = Section(node, "", problems)
    section.refuse_unknown(KEYS)
    name = section.text("name")
    if not name:
        if section.node_of("name") is None:
            problems.add("NAME_MISSING", "a memory config needs a name", node, "name")
        return None
    both = section.text("backend"), section.text("backend_type")
    if both[0] and both[1] and both[0] != both[1]:
        message = f"backend is {both[0]!r} and backend_type is {both[1]!r}; keep one"
        problems.add("BACKEND_CONFLICT", message, section.node_of("backend_type"), "backend_type")
    key = "backend" if both[0] else "backend_type"
    return MemoryConfig(
        name=name,
        where=problems.where(node),
        backend=_choice(section, key, BACKENDS, "in_memory"),
        memory_type=_choice(section, "memory_type", MEMORY_TYPES, "buffer_window"),
        max_messages=_number(section, "max_messages", 1, MAX_MESSAGES, 100),
        ttl_seconds=_number(section, "ttl_seconds", 0, 10 * 365 * 86400, 0),
        namespace_pattern=section.text("namespace_pattern") or "{agent_id}:{session_id}",
        scope=_choice(section, "scope", SCOPES, "agent"),
        linked_agents=tuple(t for t, _ in section.texts("linked_agents")),
    )


def _choice(section: Section, key: str, choices: tuple[str, ...], default: str) -> str:
    text = section.text(key)
    if text is None:
        return default
    if text not in choices:
        message = f"{key} {text!r} is not known{suggest(text, choices)}"
        section.problems.add("UNKNOWN_VALUE", message, section.node_of(key), key)
    return text


def _number(section: Section, key: str, least: int, most: int, default: int) -> int:
    number = section.integer(key)
    if number is None:
        return default
    if not least <= number <= most:
        message = f"{key} must be from {least} to {most}, not {number}"
        section.problems.add("OUT_OF_RANGE", message, section.node_of(key), key)
    return number
