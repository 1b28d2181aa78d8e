"""Pytest fixtures for users: `aws_sandbox` and `deploy_agent`. Loaded by entry point, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentbreeder_provisioners.results import Deployment

    from .aws.server import AwsSandbox

_UNSET = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")


@pytest.fixture(scope="session")
def _aws_sandbox_server() -> Iterator[AwsSandbox]:
    from .aws.server import AwsSandbox
    from .clocks import VirtualClock

    with AwsSandbox(VirtualClock()) as sandbox:
        yield sandbox


@pytest.fixture
def aws_sandbox(_aws_sandbox_server: AwsSandbox, monkeypatch: pytest.MonkeyPatch) -> AwsSandbox:
    """An empty AWS stand-in on 127.0.0.1 with a ready VPC, and the process's AWS variables pointing at it.

    Its time is virtual (`aws_sandbox.clock`): a database that takes six minutes costs a test milliseconds.
    """
    from .aws.world import Durations
    from .clocks import VirtualClock

    _aws_sandbox_server.reset(clock=VirtualClock(), durations=Durations())
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    for name, value in _aws_sandbox_server.env().items():
        monkeypatch.setenv(name, value)
    return _aws_sandbox_server


@pytest.fixture
def deploy_agent(aws_sandbox: AwsSandbox, tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """`deploy_agent(path_or_yaml_text, **options) -> Deployment`, into the stand-in.

    Network variables that the file lacks are filled in. At the end of the test everything deployed is torn down, and
    the test fails when anything was left. Secrets in their recovery window do not count.
    """
    from agentbreeder_provisioners import deploy, teardown

    before = _standing(aws_sandbox)
    deployed: list[tuple[str, Path]] = []

    def run(source: str | Path, **options: Any) -> Deployment:
        path = (
            Path(source) if isinstance(source, Path) or "\n" not in source else _write(tmp_path, source, len(deployed))
        )
        folder = Path(options.setdefault("project_dir", tmp_path / f"project-{len(deployed)}"))
        result = deploy(path, clock=aws_sandbox.clock, network_env=aws_sandbox.network_env(), **options)
        deployed.append((result.planned.plan.agent, folder))
        return result

    yield run
    for agent, folder in reversed(deployed):
        teardown(agent, project_dir=folder, clock=aws_sandbox.clock)
    assert _standing(aws_sandbox) == before, "teardown left something in the stand-in"


def _write(folder: Path, text: str, number: int) -> Path:
    path = folder / f"agent-{number}" / "agent.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def _standing(sandbox: AwsSandbox) -> dict[str, list[str]]:
    return {k: v for k, v in sandbox.inventory().items() if k != "secrets_scheduled_for_deletion"}
