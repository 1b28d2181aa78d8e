"""`agentbreeder validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..memory_configs import configs_for
from ..mode import Mode
from ..options import common_options, strict_option

if TYPE_CHECKING:
    from ..views.files import Checked

EXIT_INVALID = 2


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@strict_option
@common_options
@click.pass_obj
def command(mode: Mode, paths: tuple[Path, ...], strict: bool) -> None:
    """Check agent files and list every problem.

    Each PATH is an agent file, or a folder that holds agent.yaml. Reads nothing but those files and the memory.yaml
    beside each. Exit code 2 when any file has a problem.

    \b
    Example:
      agentbreeder validate agents/*/agent.yaml --strict
    """
    from ..views.files import show_checked, show_checked_json

    files = [_check(path, strict) for path in paths]
    if mode.json:
        show_checked_json(files)
    else:
        show_checked(files)
    if any(f.problems for f in files):
        raise click.exceptions.Exit(EXIT_INVALID)


def _check(path: Path, strict: bool) -> Checked:
    from agentbreeder_core.errors import ConfigError, Problem
    from agentbreeder_resolver import resolve_path

    from ..views.files import Checked

    try:
        plan = resolve_path(path, strict=strict, configs=configs_for(path, None))
    except ConfigError as e:
        whole_file = Problem(code=e.code, message=e.detail, file=str(path))
        return Checked(path=path, problems=e.problems or (whole_file,))
    return Checked(path=path, agent=plan.agent, findings=plan.findings)
