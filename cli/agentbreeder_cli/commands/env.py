"""`agentbreeder env`."""

from __future__ import annotations

from pathlib import Path

import click

from ..mode import Mode
from ..next_step import command_line
from ..options import agent_argument, common_options, state_here_option

FORMATS = ("json", "dotenv", "ecs", "cloud-run", "container-apps")


@click.command("env")
@agent_argument()
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="json", show_default=True, help="How to write it."
)
@click.option("--reveal", is_flag=True, help="Read the vault and print the secrets too (json and dotenv only).")
@state_here_option
@common_options
@click.pass_obj
def command(mode: Mode, agent: str, format_: str, reveal: bool, project_dir: Path | None) -> None:
    """Print the environment to hand to the agent's container.

    Ready to paste into a task definition. Secrets stay in the vault and appear as references. dotenv is quoted for a
    shell, compose and python-dotenv; docker's own --env-file keeps quotes as they are.

    \b
    Example:
      agentbreeder env support-bot --format ecs
    """
    from agentbreeder_provisioners import environment
    from agentbreeder_provisioners.env_formats import check_format, render

    from ..memory_configs import configs_for_agent
    from ..views import out

    if mode.json and format_ == "dotenv":
        raise click.UsageError("--json and --format dotenv exclude each other")
    known = environment(agent, project_dir=project_dir)
    check_format(format_, cloud=known.cloud, reveal=reveal)
    answer = known
    if reveal:
        configs = configs_for_agent(agent, project_dir)
        answer = environment(agent, project_dir=project_dir, reveal=True, configs=configs)
    out.data(render(answer, format_))
    if format_ == "dotenv" and answer.secret_env and not reveal and not mode.json:
        again = command_line("env", agent, "--format", "dotenv", "--reveal", project_dir=project_dir)
        out.talk(f"{', '.join(answer.secret_env)}: secret, not shown. To read the vault: {again}")
