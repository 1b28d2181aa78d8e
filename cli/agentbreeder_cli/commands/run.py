"""`agentbreeder run`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..mode import Mode
from ..options import agent_argument, common_options, state_here_option


@click.command("run", context_settings={"ignore_unknown_options": True})
@agent_argument()
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
@state_here_option
@common_options
@click.pass_obj
def command(mode: Mode, agent: str, program: tuple[str, ...], project_dir: Path | None) -> None:
    """Run a program with an agent's environment.

    What deploy recorded is handed over as the container would get it: secrets are read from the vault now, and go into the
    program's environment and nowhere else. AGENT_NAME is set too. The program takes this one's place, so its exit code
    and its signals are its own.

    \b
    Example:
      agentbreeder run support-bot -- python -m my_agent
    """
    from agentbreeder_core.errors import ConfigError
    from agentbreeder_provisioners import environment

    from ..memory_configs import configs_for_agent
    from ..views import out

    found = environment(agent, project_dir=project_dir, reveal=True, configs=configs_for_agent(agent, project_dir))
    secrets = {name: value.reveal() for name, value in found.revealed.items()}
    out.flush()
    try:
        os.execvpe(program[0], program, {**os.environ, "AGENT_NAME": agent, **found.env, **secrets})
    except OSError as e:
        hint = "check its name, and that it may be run"
        raise ConfigError(f"{program[0]} cannot be run: {e.strerror}", hint=hint) from e
