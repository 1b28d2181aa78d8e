"""The command as a user meets it: in a process of its own, or in this one where only text matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_cli.main import main
from agentbreeder_core.clock import SystemClock
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations

AT_ONCE = Durations(
    rds_create_s=0,
    rds_delete_s=0,
    rds_modify_s=0,
    cache_create_s=0,
    cache_delete_s=0,
    eni_linger_s=0,
    visibility_lag_s=0,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """stdout, which must be exactly one JSON document."""
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def error(self) -> dict[str, Any]:
        value: dict[str, Any] = self.document["error"]
        return value

    @property
    def text(self) -> str:
        return self.out + self.err


Run = Callable[..., Outcome]


def command_of(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "agentbreeder_cli", *map(str, args)]


def variables(**more: str) -> dict[str, str]:
    """This process's environment, with the source roots for a child that has nothing installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **more}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command inside this process. stdin is not a terminal."""

    def call(*args: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(a) for a in args])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def run_process() -> Run:
    """Run a command in a process of its own."""

    def call(
        *args: str | Path, cwd: Path | None = None, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> Outcome:
        done = subprocess.run(
            command_of(*args),
            cwd=cwd,
            env=variables(**(env or {})),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def cloud(aws_sandbox: AwsSandbox, monkeypatch: pytest.MonkeyPatch) -> AwsSandbox:
    """A stand-in where everything is ready at the first look, because the command brings the machine's own clock."""
    aws_sandbox.reset(clock=SystemClock(), durations=AT_ONCE)
    for name, value in aws_sandbox.env().items():
        monkeypatch.setenv(name, value)
    return aws_sandbox


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    """An agent that needs one PostgreSQL."""
    return write(tmp_path / "support", "memory: {backend: postgresql}")


def write(folder: Path, memory: str, *, name: str = "support", cloud: str = "aws") -> Path:
    """An agent file with this memory part."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.yaml"
    path.write_text(f"name: {name}\nversion: 1.0.0\n{memory}\ndeploy: {{cloud: {cloud}, region: us-east-1}}\n")
    return path


@pytest.fixture
def write_agent() -> Callable[..., Path]:
    return write
