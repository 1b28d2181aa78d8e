"""Where a memory config's conversations are: one rule for deploy, the container and the service. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

SPECIAL = re.compile(r"[^A-Za-z0-9_.@+=-]")
"""What no escaped value holds, but for the `%` of the escape itself."""
DEFAULT_TEAM = "default"
SHARED = "*"
"""What stands for the agent where agents share: no agent has this name, because it is escaped in every value."""


def escape(value: str) -> str:
    """Letters, digits and `_.@+=-` stay, anything else is `%` and its UTF-8 bytes in hexadecimal."""
    return SPECIAL.sub(lambda m: "".join(f"%{b:02X}" for b in m[0].encode("utf-8", "surrogatepass")), value)


def unescape(text: str) -> str:
    """The value that `escape` was given."""
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass")


def prefix_of(team: str, name: str) -> str:
    """What the namespaces of a config begin with, and no others do."""
    return f"{escape(team)}/{escape(name)}/"


def pattern_of(team: str, name: str, pattern: str, scope: str) -> str:
    """The whole pattern, as an agent's container is given it: with the team and name in front. Under the scopes `team` and
    `global` it is without the agent, so that all agents share a session; under `agent` with it in any case, so that none
    reaches another's."""
    if scope != "agent":
        return prefix_of(team, name) + pattern.replace("{agent_id}", SHARED)
    return prefix_of(team, name) + (pattern if "{agent_id}" in pattern else "{agent_id}/" + pattern)
