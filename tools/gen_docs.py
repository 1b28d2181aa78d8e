"""Writes docs/cli.md from the `--help` of every command; with `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from agentbreeder_cli.app import COMMANDS, cli

TARGET = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 80
HEAD = """\
# Commands

This page is what `--help` prints; `make docs` writes it anew, and a test compares.

Data goes to stdout, talk to stderr. With `--json` stdout is exactly one JSON document, also when something fails:
`{"error": {"code", "summary", "detail", "hint", "problems", "notes"}}`; `deploy` and `teardown` then write their events
to stderr, one JSON object per line. `NO_COLOR` turns colours off. Exit codes and every error: [errors.md](errors.md).

On Ctrl-C or SIGTERM the first signal stops in good order: no new steps, everything recorded, exit code 130 (143 for
SIGTERM). A second one leaves at once, which is safe too, because every step is on disk before it is asked of the cloud.
"""


def page() -> str:
    """The whole of docs/cli.md."""
    root = click.Context(cli, info_name="agentbreeder", terminal_width=WIDTH, **cli.context_settings)
    parts = [HEAD, _section("agentbreeder", cli.get_help(root))]
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        parts += _sections(command, name, root)
    return "\n".join(parts)


def _sections(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """The command's own, and those of its commands."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    yield _section(context.command_path, command.get_help(context))
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _sections(found, inner, context)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


def main() -> int:
    """0 when written or up to date."""
    wanted = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(wanted, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted:
        return 0
    print("docs/cli.md differs from --help; run: make docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
