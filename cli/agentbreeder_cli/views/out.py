"""The two streams: data on stdout, talk on stderr. JSON is one document on stdout, written in ASCII so that it
survives any terminal's encoding."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


class ReaderGone(Exception):
    """Nobody reads stdout any more. An exception of our own, because click turns a broken pipe into an exit."""


def data(text: str) -> None:
    """Lines the user asked for. Raises `ReaderGone`."""
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        raise ReaderGone from None


def talk(text: str = "") -> None:
    """Lines about the work. Goes quiet when nobody reads them any more: a closed pipe must not stop a deploy."""
    if sys.stderr is None:
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()  # so that both streams into one pipe keep their order
    except BrokenPipeError:
        abandon_stdout()
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        _to_devnull(sys.stderr.fileno())


def ask(question: str) -> None:
    """A question, with the cursor left behind it."""
    sys.stderr.write(question)
    sys.stderr.flush()


def document(value: Any) -> None:
    """The one JSON document of a `--json` run."""
    data(json.dumps(value, indent=2))


def json_line(value: Any) -> None:
    """One event of a `--json` run."""
    talk(json.dumps(value, separators=(",", ":"), default=list))


def flush() -> None:
    """Push stdout out now, while a broken pipe can still be caught. Raises `ReaderGone`."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


def abandon_stdout() -> None:
    """Whoever read stdout is gone: send the rest nowhere, so that Python's exit does not complain."""
    if sys.stdout is not None:
        _to_devnull(sys.stdout.fileno())


def _to_devnull(fileno: int) -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, fileno)
    os.close(devnull)
