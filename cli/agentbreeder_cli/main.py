"""The one place that turns an error into text and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from agentbreeder_core.errors import AgentBreederError, Interrupted

from .app import cli
from .mode import Mode
from .signals import Signals
from .views import errors, out

EXIT_INTERNAL = 70  # EX_SOFTWARE of sysexits.h: a fault of ours, not of the user's
EXIT_USAGE = 2
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for a program that a closed pipe has ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code. `argv` is without the program's name; None means the process's own.

    Installs handlers for SIGINT and SIGTERM while it runs: the first lets the engine stop and save, the second leaves
    at once.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    mode = Mode.of(args)
    with Signals() as signals:
        try:
            code = _run(args, mode, signals)
            out.flush()
        except out.ReaderGone:
            out.abandon_stdout()
            return EXIT_BROKEN_PIPE
        return code


def _run(args: list[str], mode: Mode, signals: Signals) -> int:
    try:
        answer = cli.main(args=args, prog_name=_program(), standalone_mode=False, obj=mode)
    except out.ReaderGone:
        raise
    except click.exceptions.NoArgsIsHelpError as e:
        out.talk(e.format_message())
        return EXIT_USAGE
    except click.ClickException as e:
        errors.show_usage(e, mode)
        return EXIT_USAGE
    except AgentBreederError as e:
        errors.show(e, mode)
        return signals.exit_code if isinstance(e, Interrupted) else e.exit_code
    except (KeyboardInterrupt, click.Abort) as e:
        errors.show_interrupted(e, mode)
        return signals.exit_code
    except Exception as e:  # noqa: BLE001  a fault of ours: shown without its message, which could hold a secret
        errors.show_internal(e, mode)
        return EXIT_INTERNAL
    return answer if isinstance(answer, int) else 0


def _program() -> str:
    """The name the user typed, so that usage lines fit; `agentbreeder` under `python -m` and in tests."""
    name = Path(sys.argv[0]).stem if sys.argv else ""
    return name if name.startswith("agentbreeder") else "agentbreeder"
