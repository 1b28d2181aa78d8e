"""Network defaults from the shell: what `agentbreeder sandbox` exports, and what CI jobs set."""

from __future__ import annotations

import os

from agentbreeder_resolver.network import NETWORK_VARIABLES


def network_from_shell() -> dict[str, str]:
    """Those that are set. They fill in only what the agent file leaves out; connection strings are never read."""
    return {name: value for name in sorted(NETWORK_VARIABLES) if (value := os.environ.get(name))}
