"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option(
    "--json",
    "_json",
    is_flag=True,
    expose_value=False,
    help="Print one JSON document on stdout (errors too).",
)
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Print tracebacks (without values) when something fails."
)
strict_option = click.option("--strict", is_flag=True, help="Treat warnings as errors.")
yes_option = click.option(
    "--yes", "-y", is_flag=True, help="Do not ask. Needed when stdin is not a terminal, and with --json."
)
timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop waiting after this long. What exists is recorded; run again to go on.",
)
lock_wait_option = click.option(
    "--lock-wait",
    "lock_wait_s",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait this long for another run on the same agent to end.  [default: 0]",
)
file_argument = click.argument("path", type=click.Path(path_type=Path), default=".")
_FOLDER = click.Path(path_type=Path, file_okay=False)
state_beside_file_option = click.option(
    "--project-dir",
    type=_FOLDER,
    metavar="DIR",
    help="Keep .agentbreeder/ here.  [default: the agent file's folder]",
)
state_here_option = click.option(
    "--project-dir",
    type=_FOLDER,
    metavar="DIR",
    help="The folder that holds .agentbreeder/.  [default: the working directory]",
)


def common_options(command: F) -> F:
    """`--json` and `--debug`, which every command takes."""
    return json_option(debug_option(command))


def agent_argument(*, required: bool = True) -> Callable[[F], F]:
    """AGENT, completed in the shell from the state file."""
    return click.argument("agent", required=required, shell_complete=_agents)


def _agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from agentbreeder_core.errors import StateError
    from agentbreeder_state import FileStateStore

    folder = Path(ctx.params.get("project_dir") or ".").absolute()
    try:
        state = FileStateStore(folder).read()
    except StateError:
        return []  # completion has no place for an error; the command itself will report it
    return [name for name in sorted(state.agents) if name.startswith(incomplete)] if state else []
