"""Memory configs on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mode import Mode
from . import out

_COLUMNS = ("NAME", "BACKEND", "TYPE", "KEEPS", "TTL", "SCOPE", "LINKED AGENTS")


def made(mode: Mode, config: dict[str, Any], location: str) -> None:
    """One that was just made."""
    if mode.json:
        out.document(config)
        return
    out.talk(f"Made {config['name']} in {location}.")
    out.talk(f"An agent uses it with `memory_config: {config['name']}` in its agent.yaml.")


def shown(mode: Mode, config: dict[str, Any]) -> None:
    """All of one."""
    if mode.json:
        out.document(config)
        return
    width = max(map(len, config))
    for name, value in config.items():
        text = ", ".join(value) if isinstance(value, list) else value
        out.data(f"{name:{width}}  {'-' if text in (None, '') else text}")


def listed(mode: Mode, configs: Sequence[dict[str, Any]], location: str) -> None:
    """One line each, by name."""
    found = sorted(configs, key=lambda c: (c["name"], c["team"]))
    if mode.json:
        out.document(found)
        return
    if not found:
        out.talk(f"No memory configs in {location}. Make one: agentbreeder config memory create --name ...")
        return
    rows = [_COLUMNS, *(_row(c) for c in found)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS) - 1)]
    for row in rows:
        out.data("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]).rstrip())


def deleted(mode: Mode, name: str, messages: int) -> None:
    """What is gone."""
    if mode.json:
        out.document({"name": name, "deleted_messages": messages})
    else:
        out.talk(f"Deleted {name} and {messages} message{'' if messages == 1 else 's'}.")


def pushed(mode: Mode, done: Sequence[tuple[str, str]], location: str) -> None:
    """What became of each."""
    if mode.json:
        out.document([{"name": name, "done": what} for name, what in done])
        return
    for name, what in done:
        out.data(f"{what:9}  {name}")
    out.talk(f"{len(done)} memory config{'' if len(done) == 1 else 's'} in {location}.")


def _row(c: dict[str, Any]) -> tuple[str, ...]:
    keeps = "all" if c["memory_type"] == "buffer" else str(c["max_messages"])
    ttl = f"{c['ttl_seconds']} s" if c["ttl_seconds"] else "-"
    return (
        c["name"],
        c["backend_type"],
        c["memory_type"],
        keeps,
        ttl,
        c["scope"],
        ", ".join(c["linked_agents"]) or "-",
    )
