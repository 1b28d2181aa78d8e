"""Pytest fixtures for users: `aws_sandbox` and `deploy_agent`. Loaded by entry point, so it imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentbreeder_provisioners.results import Deployment

    from .aws.server import AwsSandbox


@pytest.fixture(scope="session")
def _aws_sandbox_server() -> Iterator[AwsSandbox]:
    from .aws.server import AwsSandbox
    from .clocks import VirtualClock

    with AwsSandbox(VirtualClock()) as sandbox:
        yield sandbox


@pytest.fixture
def aws_sandbox(_aws_sandbox_server: AwsSandbox, monkeypatch: pytest.MonkeyPatch) -> AwsSandbox:
    """An empty AWS stand-in on 127.0.0.1 with a ready VPC, and the process's AWS variables pointing at it.

    Its time is virtual (`aws_sandbox.clock`): a database that takes six minutes costs a test milliseconds. No profile,
    config file, endpoint or proxy of the machine can lead to a real account.
    """
    from .aws.world import Durations
    from .clocks import VirtualClock

    _aws_sandbox_server.reset(clock=VirtualClock(), durations=Durations())
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    for name, value in _aws_sandbox_server.env().items():
        monkeypatch.setenv(name, value)
    return _aws_sandbox_server


@pytest.fixture
def deploy_agent(aws_sandbox: AwsSandbox, tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """`deploy_agent(path_or_yaml_text, **options) -> Deployment`, into the stand-in; options are those of `deploy`.

    Network variables that the file lacks are filled in. State goes to a folder of the test (`project_dir` names
    another), never beside the agent's file: the same agent again is a second deploy of it. At the end of the test
    faults and deletion protection are lifted, everything deployed is torn down, and the test fails when anything was
    left. Secrets in their recovery window do not count.
    """
    from agentbreeder_provisioners import deploy

    before = aws_sandbox.standing()
    folders: list[Path] = []

    def run(source: str | Path, **options: Any) -> Deployment:
        path = source if isinstance(source, Path) or "\n" not in source else _write(tmp_path, source, len(folders))
        folder = Path(options.pop("project_dir", tmp_path / "project"))
        folder.mkdir(parents=True, exist_ok=True)
        folders.append(folder)
        options = {"clock": aws_sandbox.clock, "network_env": aws_sandbox.network_env(), **options}
        return deploy(path, project_dir=folder, **options)

    yield run
    aws_sandbox.on_call(None)
    aws_sandbox.lift_protection()
    for folder in dict.fromkeys(folders):
        _tear_down(folder, aws_sandbox)
    assert aws_sandbox.standing() == before, "teardown left something in the stand-in"


def _write(folder: Path, text: str, number: int) -> Path:
    path = folder / f"agent-{number}" / "agent.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def _tear_down(folder: Path, sandbox: AwsSandbox) -> None:
    """Whatever is recorded there, also by a deploy that failed; a deploy refused early recorded nothing."""
    from agentbreeder_core.errors import StateMissing
    from agentbreeder_provisioners import status, teardown

    try:
        recorded = status(project_dir=folder)
    except StateMissing:
        return
    for agent in recorded:
        teardown(agent.agent, project_dir=folder, clock=sandbox.clock)
