"""The answers of `validate` and `schema`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentbreeder_core.errors import Problem
from agentbreeder_resolver.plan_types import Finding

from . import out
from .errors import problem_line, problem_to_json
from .findings import finding_lines
from .text import clean, count, paint


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One file's verdict. It is fine when `problems` is empty."""

    path: Path
    agent: str = ""
    problems: Sequence[Problem] = ()
    findings: Sequence[Finding] = ()

    def to_json(self) -> dict[str, Any]:
        """The file's entry in the JSON document."""
        return {
            "path": str(self.path),
            "ok": not self.problems,
            "agent": self.agent,
            "problems": [problem_to_json(p) for p in self.problems],
            "findings": [f.to_json() for f in self.findings],
        }


def show_checked(files: Sequence[Checked]) -> None:
    """`ok PATH` or the file's problems, one per line, on stdout; the sum on stderr."""
    for file in files:
        if file.problems:
            for problem in file.problems:
                out.data(problem_line(problem))
            continue
        out.data(f"{paint('ok', 'green')} {clean(str(file.path))}")
        for line in finding_lines(file.findings, sys.stdout):
            out.data(line)
    bad = [f for f in files if f.problems]
    if bad:
        total = sum(len(f.problems) for f in bad)
        out.talk(f"{count(total, 'problem')} in {len(bad)} of {count(len(files), 'file')}")


def show_checked_json(files: Sequence[Checked]) -> None:
    """All verdicts as one document."""
    out.document({"ok": not any(f.problems for f in files), "files": [f.to_json() for f in files]})
