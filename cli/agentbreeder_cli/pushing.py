"""`config memory push`: what memory.yaml says, into the project's file or the service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentbreeder_core.errors import ConfigError

if TYPE_CHECKING:
    from agentbreeder_resolver.configs import MemoryConfig
    from agentbreeder_service.access import ConfigAccess

_FIXED = ("name", "namespace_pattern")


def push_file(file: Path, access: ConfigAccess) -> list[tuple[str, str]]:
    """(name, what was done) for each: created, updated or unchanged. Raises `ConfigError` before anything is written."""
    from agentbreeder_resolver.configs import FileMemoryConfigs
    from agentbreeder_service.access import checked
    from agentbreeder_service.models import ConfigIn

    if not file.exists():
        raise ConfigError(f"{file} is not there", hint="agentbreeder config memory push PATH")
    source = FileMemoryConfigs(file)
    wanted = [_fields(found) for name in source.names() if (found := source.get(name))]
    for fields in wanted:
        checked(ConfigIn, fields)
    # A global one of another team may have the same name, and stands in nobody's way.
    known = {name: c for name in source.names() if (c := access.find(name)) and not _of_others(c, access)}
    for fields in wanted:
        there = known.get(fields["name"])
        if there and there["namespace_pattern"] != fields["namespace_pattern"]:
            raise ConfigError(
                f"{fields['name']}: its namespace pattern is {there['namespace_pattern']!r} and cannot change",
                hint="it says where messages are: take another name, or delete the config first",
            )
    return [(fields["name"], _put(fields, known.get(fields["name"]), access)) for fields in wanted]


def _of_others(config: dict[str, Any], access: ConfigAccess) -> bool:
    return bool(config["scope"] == "global" and config["team"] != access.team())


def _put(fields: dict[str, Any], there: dict[str, Any] | None, access: ConfigAccess) -> str:
    if there is None:
        access.create(fields)
        return "created"
    whole = {"max_messages": None, **fields}
    changes = {k: v for k, v in whole.items() if k not in _FIXED and there[k] != v}
    if changes.get("max_messages", 0) is None:
        del changes["max_messages"]
    if not changes:
        return "unchanged"
    access.update(there["id"], changes)
    return "updated"


def _fields(config: MemoryConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": config.name,
        "backend_type": config.backend,
        "memory_type": config.memory_type,
        "ttl_seconds": config.ttl_seconds or None,
        "namespace_pattern": config.namespace_pattern,
        "scope": config.scope,
        "linked_agents": list(config.linked_agents),
    }
    return fields | ({"max_messages": config.max_messages} if config.memory_type == "buffer_window" else {})
