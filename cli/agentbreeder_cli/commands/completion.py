"""`agentbreeder completion`."""

from __future__ import annotations

import click

from ..mode import Mode
from ..options import common_options


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for your shell.

    \b
    Example:
      agentbreeder completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from ..views import out

    root = ctx.find_root()
    program = root.info_name or "agentbreeder"
    found = get_completion_class(shell)
    assert found is not None, "the choices above are click's own"
    variable = "_" + program.replace("-", "_").upper() + "_COMPLETE"
    script = found(root.command, {}, program, variable).source().strip()
    mode = ctx.find_object(Mode)
    if mode is not None and mode.json:
        out.document({"shell": shell, "script": script})
    else:
        out.data(script)
