"""Deploy and teardown against the stand-in, and what must hold afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentbreeder_provisioners import deploy, teardown
from agentbreeder_provisioners.results import Deployment, Teardown
from agentbreeder_sandbox.standin import Sandbox


def do_deploy(sandbox: Sandbox, path: Path, **kw: Any) -> Deployment:
    """Deploy on the stand-in's time and network."""
    return deploy(path, clock=sandbox.clock, network_env=sandbox.network_env(), **kw)


def do_teardown(sandbox: Sandbox, folder: Path, agent: str = "support", **kw: Any) -> Teardown:
    """Tear down on the stand-in's time."""
    return teardown(agent, project_dir=folder, clock=sandbox.clock, **kw)


def standing(sandbox: Sandbox) -> dict[str, list[str]]:
    """What stands in the account now."""
    return sandbox.standing()


def state_of(folder: Path) -> dict[str, Any]:
    """The state file as JSON."""
    document: dict[str, Any] = json.loads((folder / ".agentbreeder" / "infra-state.json").read_text())
    return document


def made(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, int]:
    """How many of each kind were added."""
    return {k: len(after[k]) - len(before[k]) for k in after if len(after[k]) != len(before[k])}
