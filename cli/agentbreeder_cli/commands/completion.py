"""`agentbreeder completion`."""

from __future__ import annotations

import click

from ..options import debug_option


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
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
    out.data(found(root.command, {}, program, variable).source().strip())
