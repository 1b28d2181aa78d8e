"""The demo's narrative, on stdout."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from . import out
from .text import clean, paint

_WIDTH = 80


def title(text: str) -> None:
    """The cloud whose story begins."""
    out.data("")
    out.data(paint(f"=== {text} ===", "bold"))


def heading(number: int, text: str) -> None:
    """A numbered chapter."""
    out.data("")
    out.data(paint(f"{number}. {text}", "bold"))
    out.data("")


def explain(text: str) -> None:
    """A sentence or two."""
    for line in text.split("\n"):
        out.data(textwrap.fill(line, _WIDTH))


def command(line: str) -> None:
    """The command a user would type for what follows."""
    out.data(f"{paint('$', 'dim')} {paint(line, 'cyan')}")
    out.flush()


def block(text: str) -> None:
    """A file or a document, indented."""
    for line in text.rstrip("\n").splitlines():
        out.data(f"    {clean(line)}".rstrip())


def inventory(found: Mapping[str, Sequence[str]]) -> None:
    """What stands in the account, by kind; kinds that are empty are left out."""
    for kind, names in found.items():
        if names:
            out.data(f"    {kind.replace('_', ' ')}: {len(names)}")
            for name in names:
                out.data(f"      {clean(name)}")


def verdict(what: str, ok: bool) -> None:
    """One expectation and how it went."""
    out.data(f"  {paint('ok', 'green') if ok else paint('FAILED', 'red')}  {what}")


def end(failed: Sequence[str], seconds: float, kept: str) -> None:
    """The last lines."""
    out.data("")
    if failed:
        out.data(f"{paint('The demo failed', 'red')}: {len(failed)} of its expectations did not hold.")
    else:
        out.data(f"{paint('All as it should be', 'green')}, in {seconds:.0f} s.")
        out.data("Next: write an agent.yaml of your own, then agentbreeder plan")
    if kept:
        out.data(f"Files kept in {clean(kept)}")


def end_json(checks: Mapping[str, bool], seconds: float, kept: str) -> None:
    """The same as one document."""
    document: dict[str, Any] = {"ok": all(checks.values()), "checks": dict(checks), "seconds": round(seconds, 1)}
    out.document({**document, "folder": kept} if kept else document)
