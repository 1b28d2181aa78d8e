"""How an error looks: what happened, where, and one thing to do next. Never a secret, not even with `--debug`."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from agentbreeder_core.errors import AgentBreederError, ConfigError, PreflightFailed, Problem

from ..mode import Mode
from . import out
from .text import clean, paint

_OUR_PREFIX = "agentbreeder_"


def show(error: AgentBreederError, mode: Mode) -> None:
    """Print an error of ours: JSON on stdout, or text on stderr."""
    problems = error.problems if isinstance(error, ConfigError | PreflightFailed) else ()
    notes = tuple(getattr(error, "__notes__", ()))
    if mode.debug:
        _show_traceback(error)
    if mode.json:
        _show_json(error.code, error.summary, error.detail, error.hint, problems, notes)
    else:
        _show_text(error.summary, error.detail, error.hint, problems, notes)


def show_usage(error: click.ClickException, mode: Mode) -> None:
    """Print a mistake in the command line."""
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if context is not None else "agentbreeder --help"
    if mode.json:
        _show_json("UsageError", "the command line is not valid", error.format_message(), hint, (), ())
    else:
        _show_text("the command line is not valid", error.format_message(), hint, (), ())


def show_interrupted(error: BaseException, mode: Mode) -> None:
    """Print that a signal ended the run before there was anything to save."""
    if mode.debug:
        _show_traceback(error)
    if mode.json:
        _show_json("Interrupted", "the run was interrupted", "", "", (), ())
    else:
        out.talk("")
        _show_text("the run was interrupted", "", "", (), ())


def show_internal(error: Exception, mode: Mode) -> None:
    """Print a fault of ours: type and place, but not the message, which might quote a value it choked on."""
    kind, place = type(error).__name__, _place(error.__traceback__)
    detail = f"{kind} at {place}" if place else kind
    hint = "" if mode.debug else "run it again with --debug and report what it prints"
    if mode.debug:
        _show_traceback(error)
    if mode.json:
        _show_json("InternalError", "internal error", detail, hint, (), ())
    else:
        _show_text("internal error", detail, hint, (), ())


def problem_line(problem: Problem) -> str:
    """`file:line:col key: message`, shortened to what is known."""
    front = " ".join(part for part in (problem.where(), problem.key) if part)
    return clean(f"{front}: {problem.message}" if front else problem.message)


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """The public shape of one problem."""
    return {
        "code": problem.code,
        "message": problem.message,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "key": problem.key,
    }


def _show_text(summary: str, detail: str, hint: str, problems: tuple[Problem, ...], notes: tuple[str, ...]) -> None:
    head = f"{summary}: {detail}" if detail and detail != summary else summary
    out.talk(f"{paint('error:', 'red', sys.stderr)} {clean(head)}")
    for problem in problems:
        out.talk("  " + problem_line(problem))
    for note in notes:
        out.talk("  " + clean(note))
    if hint:
        out.talk()
        out.talk(f"{paint('hint:', 'cyan', sys.stderr)} {clean(hint)}")


def _show_json(
    code: str, summary: str, detail: str, hint: str, problems: tuple[Problem, ...], notes: tuple[str, ...]
) -> None:
    out.document(
        {
            "error": {
                "code": code,
                "summary": summary,
                "detail": detail,
                "hint": hint,
                "problems": [problem_to_json(p) for p in problems],
                "notes": list(notes),
            }
        }
    )


def _place(trace: TracebackType | None) -> str:
    """`package/module.py:line` of the innermost frame that is ours, the same on every machine."""
    ours = ""
    for frame in traceback.extract_tb(trace):
        parts = Path(frame.filename).parts
        at = next((i for i, part in enumerate(parts) if part.startswith(_OUR_PREFIX)), None)
        if at is not None:
            ours = f"{'/'.join(parts[at:])}:{frame.lineno}"
    return ours


def _show_traceback(error: BaseException) -> None:
    """Frames of the whole chain, without local variables. Messages only of errors whose text is known to be safe."""
    for link in _chain(error):
        out.talk("Traceback (innermost call last):")
        out.talk("".join(traceback.format_tb(link.__traceback__)).rstrip("\n"))
        message = str(link) if isinstance(link, AgentBreederError) else "(message withheld: it may hold a secret)"
        out.talk(clean(f"{type(link).__module__}.{type(link).__qualname__}: {message}"))
        out.talk()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error's causes, first cause first, then itself."""
    links: list[BaseException] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    yield from reversed(links)
