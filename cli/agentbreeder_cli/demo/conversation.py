"""A conversation in processes of their own: one is killed, the next one remembers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .talk import KEPT

if TYPE_CHECKING:
    from agentbreeder_sandbox.servers.plane import DataPlane

_LONGEST_S = 60.0


def say(agent: str, folder: Path, text: str, plane: DataPlane, *, kill: bool = False) -> list[str]:
    """The lines that the agent printed. With `kill` the process is killed as soon as the store has its messages.

    Blocks some seconds; raises `subprocess.TimeoutExpired` after a minute.
    """
    words = [text, "--wait"] if kill else [text]
    command = [
        *(sys.executable, "-m", "agentbreeder_cli", "run", agent, "--project-dir", str(folder), "--"),
        *(sys.executable, "-m", "agentbreeder_cli.demo.talk", *words),
    ]
    trust = {"SSL_CERT_FILE": str(plane.authorities)} if plane.authorities.exists() else {}
    process = subprocess.Popen(
        command, env={**os.environ, **trust}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1] == KEPT:
            break
    if kill:
        process.kill()
    _, said = process.communicate(timeout=_LONGEST_S)
    return lines or said.splitlines()[-3:]
