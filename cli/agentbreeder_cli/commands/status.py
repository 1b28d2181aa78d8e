"""`agentbreeder status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..mode import Mode
from ..next_step import command_line
from ..options import agent_argument, common_options, state_here_option

if TYPE_CHECKING:
    from agentbreeder_provisioners import AgentStatus


@click.command("status")
@agent_argument(required=False)
@click.option("--refresh", is_flag=True, help="Ask the cloud too: ready, missing or drifted. Read-only.")
@state_here_option
@common_options
@click.pass_obj
def command(mode: Mode, agent: str | None, refresh: bool, project_dir: Path | None) -> None:
    """Show what is recorded, and with --refresh what the cloud says.

    Without AGENT, all agents of the project folder.

    \b
    Example:
      agentbreeder status support-bot --refresh
    """
    from agentbreeder_provisioners import status

    from ..views.status import show, show_json

    agents = status(agent, project_dir=project_dir, refresh=refresh)
    if mode.json:
        show_json(agents)
        return
    show(agents, [c for a in agents if (c := _next(a, project_dir))])


def _next(agent: AgentStatus, project_dir: Path | None) -> str:
    if agent.healthy:
        return ""
    if any(r.seen == "missing" for r in agent.resources):
        return "agentbreeder deploy --recreate-missing (makes what is missing anew, empty)"
    if any(r.seen == "drifted" for r in agent.resources):
        return ""
    go_back = command_line("teardown", agent.agent, project_dir=project_dir)
    return f"agentbreeder deploy to finish it, or {go_back}"
