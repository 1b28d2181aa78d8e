"""`agentbreeder unlock`."""

from __future__ import annotations

from pathlib import Path

import click

from ..mode import Mode
from ..options import agent_argument, common_options, state_here_option


@click.command("unlock")
@agent_argument()
@click.option("--force", is_flag=True, help="Also clear what a run on another machine left.")
@state_here_option
@common_options
@click.pass_obj
def command(mode: Mode, agent: str, force: bool, project_dir: Path | None) -> None:
    """Remove a lock that a dead run left behind.

    A lock that a living process holds is never taken away.

    \b
    Example:
      agentbreeder unlock support-bot
    """
    from agentbreeder_provisioners import unlock

    from ..views import out

    removed = unlock(agent, project_dir=project_dir, force=force)
    if mode.json:
        out.document({"agent": agent, "removed": removed})
    else:
        out.data(removed)
