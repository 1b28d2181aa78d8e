"""Asking before a change, and refusing to ask where nobody can answer."""

from __future__ import annotations

import sys

from agentbreeder_core.errors import ConfirmationNeeded

from .mode import Mode
from .views import out


def require_somebody(mode: Mode, *, yes: bool, what: str) -> None:
    """Raises `ConfirmationNeeded` at once, before any work, when a question could not be answered."""
    if yes:
        return
    hint = "add --yes if that is what you want"
    if mode.json:
        raise ConfirmationNeeded(f"{what} with --json asks no questions", hint=hint)
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfirmationNeeded(f"{what} changes things, and stdin is not a terminal to ask on", hint=hint)


def ask_yes(question: str) -> bool:
    """Ask on stderr; only `y` or `yes` is a yes. Blocks until a line or the end of input."""
    return _answer(f"{question} [y/N] ").lower() in ("y", "yes")


def ask_to_type(question: str, expected: str) -> bool:
    """Ask for exactly `expected`, for what cannot be undone."""
    return _answer(question) == expected


def _answer(question: str) -> str:
    out.ask(question)
    return sys.stdin.readline().strip()
