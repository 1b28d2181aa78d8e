"""The command group. It knows each command's name and one-line help, and imports a command only when it runs."""

from __future__ import annotations

import importlib

import click

from agentbreeder_core.version import __version__

from .options import debug_option

COMMANDS: dict[str, str] = {
    "plan": "Show what deploy would make, why, and what the container gets.",
    "deploy": "Make the stores an agent needs, and record them.",
    "status": "Show what is recorded, and with --refresh what the cloud says.",
    "env": "Print the environment to hand to the agent's container.",
    "run": "Run a program with an agent's environment.",
    "teardown": "Delete everything that deploy made for an agent.",
    "validate": "Check agent files and list every problem.",
    "schema": "Print the JSON Schema of our part of agent.yaml.",
    "unlock": "Remove a lock that a dead run left behind.",
    "config": "Memory configs: how memory is kept, by a name agents refer to.",
    "serve": "Serve memory configs, messages, search and stats over HTTP.",
    "token": "Tokens for the memory service, for small installs.",
    "db": "Prepare the database that keeps an agent's conversations.",
    "sandbox": "Run a stand-in for a cloud on this machine.",
    "demo": "See the whole story on a sandbox, cloud by cloud.",
    "completion": "Print the completion script for your shell.",
}
"""Each command, and the line `--help` shows for it (a test compares it with the command's own)."""


class LazyGroup(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import `commands/<name>.py` and take its command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".commands.{cmd_name}", __package__)
        command: click.Command = vars(module)["command"]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As usual, with a suggestion for a mistyped name."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            also = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{also}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with:  agentbreeder demo",
)
@click.version_option(__version__, message="agentbreeder-memory %(version)s")
@debug_option
def cli() -> None:
    """Gives an AI agent its memory: makes the stores that agent.yaml asks for, in your own cloud network.

    \b
      agentbreeder plan        what would be made
      agentbreeder deploy      make it
      agentbreeder env NAME    what to hand to the container
      agentbreeder teardown NAME
    """
