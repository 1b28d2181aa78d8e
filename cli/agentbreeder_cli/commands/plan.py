"""`agentbreeder plan`."""

from __future__ import annotations

from pathlib import Path

import click

from ..memory_configs import configs_for
from ..mode import Mode
from ..network import network_from_shell
from ..next_step import command_line
from ..options import common_options, file_argument, state_beside_file_option, strict_option


@click.command("plan")
@file_argument
@click.option("--preflight", is_flag=True, help="Also check against the cloud: credentials, network, names. Read-only.")
@strict_option
@state_beside_file_option
@common_options
@click.pass_obj
def command(mode: Mode, path: Path, preflight: bool, strict: bool, project_dir: Path | None) -> None:
    """Show what deploy would make, why, and what the container gets.

    PATH is an agent file, or a folder that holds agent.yaml. Nothing is changed, and without --preflight nothing is
    asked of the network.

    \b
    Example:
      agentbreeder plan examples/support-bot --preflight
    """
    from agentbreeder_provisioners import plan

    from ..views import out
    from ..views.plan import show

    result = plan(
        path,
        strict=strict,
        preflight=preflight,
        project_dir=project_dir,
        network_env=network_from_shell(),
        configs=configs_for(path, project_dir),
    )
    if mode.json:
        out.document(result.to_json())
        return
    show(result, command_line("deploy", path, project_dir=project_dir) if result.changes else "")
