"""Commands for the user to copy."""

from __future__ import annotations

import shlex
from pathlib import Path


def command_line(name: str, *arguments: str | Path, project_dir: Path | None = None) -> str:
    """`agentbreeder NAME ...` as typed in a shell, in the folder the user is in now.

    A "." is left out, and so is a `project_dir` that is the working directory.
    """
    words = ["agentbreeder", name, *(str(a) for a in arguments if str(a) != ".")]
    if project_dir is not None and project_dir.absolute().resolve() != Path.cwd().resolve():
        words += ["--project-dir", str(project_dir)]
    return shlex.join(words)


def folder_of(path: Path, project_dir: Path | None) -> Path:
    """Where deploy keeps the state of the agent file at `path`."""
    if project_dir is not None:
        return project_dir
    return path if path.is_dir() else path.parent
