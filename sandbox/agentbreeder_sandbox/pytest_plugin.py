"""Pytest fixtures for users: a stand-in per cloud, and `deploy_agent`. Loaded by entry point, so it imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentbreeder_provisioners.results import Deployment

    from .aws.server import AwsSandbox
    from .azure.server import AzureSandbox
    from .gcp.server import GcpSandbox
    from .standin import Inventory, Sandbox


@pytest.fixture(scope="session")
def _sandbox_servers() -> Iterator[Callable[[str], Sandbox]]:
    """Started when first asked for, one per cloud, until the session ends."""
    from contextlib import ExitStack

    from .clocks import VirtualClock
    from .standin import sandbox_of

    started: dict[str, Sandbox] = {}
    with ExitStack() as stack:

        def server(cloud: str) -> Sandbox:
            if cloud not in started:
                started[cloud] = stack.enter_context(sandbox_of(cloud, VirtualClock()))
            return started[cloud]

        yield server


class _Emptied:
    """The stand-ins that the running test uses: each emptied once, and what stood in it then."""

    def __init__(self, server: Callable[[str], Sandbox], monkeypatch: pytest.MonkeyPatch) -> None:
        self._server, self._monkeypatch = server, monkeypatch
        self.before: dict[str, tuple[Sandbox, Inventory]] = {}

    def __call__(self, cloud: str) -> Any:
        if cloud not in self.before:
            sandbox = self._empty(cloud)
            self.before[cloud] = (sandbox, sandbox.standing())
        return self.before[cloud][0]

    def _empty(self, cloud: str) -> Sandbox:
        from .clocks import VirtualClock
        from .standin import STAND_INS

        stand_in, sandbox = STAND_INS[cloud], self._server(cloud)
        sandbox.reset(clock=VirtualClock(), durations=stand_in.durations(False))
        for name in [n for n in os.environ if n.startswith(stand_in.prefixes)]:
            self._monkeypatch.delenv(name)
        for name, value in {**stand_in.shut, **sandbox.env()}.items():
            self._monkeypatch.setenv(name, value)
        return sandbox


@pytest.fixture
def _emptied(_sandbox_servers: Callable[[str], Sandbox], monkeypatch: pytest.MonkeyPatch) -> _Emptied:
    return _Emptied(_sandbox_servers, monkeypatch)


@pytest.fixture
def aws_sandbox(_emptied: _Emptied) -> AwsSandbox:
    """An empty AWS stand-in on 127.0.0.1 with a ready VPC, and the process's AWS variables pointing at it.

    Its time is virtual (`aws_sandbox.clock`): a database that takes six minutes costs a test milliseconds. No profile,
    config file, endpoint or proxy of the machine can lead to a real account.
    """
    sandbox: AwsSandbox = _emptied("aws")
    return sandbox


@pytest.fixture
def gcp_sandbox(_emptied: _Emptied) -> GcpSandbox:
    """The same for Google Cloud: an empty project with a network that has private services access."""
    sandbox: GcpSandbox = _emptied("gcp")
    return sandbox


@pytest.fixture
def azure_sandbox(_emptied: _Emptied) -> AzureSandbox:
    """The same for Azure: a resource group with a virtual network and a delegated subnet, and a vault of the user's."""
    sandbox: AzureSandbox = _emptied("azure")
    return sandbox


@pytest.fixture
def deploy_agent(_emptied: _Emptied, tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """`deploy_agent(path_or_yaml_text, **options) -> Deployment`, into the stand-in of the cloud that the file names.

    Options are those of `deploy`. Network variables that the file lacks are filled in. State goes to a folder of the
    test (`project_dir` names another), never beside the agent's file: the same agent again is a second deploy of it. At
    the end of the test faults and deletion protection are lifted, everything deployed is torn down, and the test fails
    when anything was left. What only waits out its recovery time does not count.
    """
    from agentbreeder_provisioners import deploy

    folders: list[tuple[Path, Sandbox]] = []

    def run(source: str | Path, **options: Any) -> Deployment:
        path = source if isinstance(source, Path) or "\n" not in source else _write(tmp_path, source, len(folders))
        sandbox = _emptied(_cloud_of(Path(path)))
        folder = Path(options.pop("project_dir", tmp_path / "project"))
        folder.mkdir(parents=True, exist_ok=True)
        folders.append((folder, sandbox))
        options = {"clock": sandbox.clock, "network_env": sandbox.network_env(), **options}
        return deploy(path, project_dir=folder, **options)

    yield run
    for sandbox, _ in _emptied.before.values():
        sandbox.on_call(None)
        sandbox.lift_protection()
    for folder, sandbox in dict.fromkeys(folders):
        _tear_down(folder, sandbox)
    for cloud, (sandbox, standing) in _emptied.before.items():
        assert sandbox.standing() == standing, f"teardown left something in the stand-in for {cloud}"


def _cloud_of(path: Path) -> str:
    """Which stand-in serves the file: its `deploy.cloud`; a file that cannot be read, or names none, gets AWS's."""
    import yaml

    from .standin import STAND_INS

    try:
        file = path / "agent.yaml" if path.is_dir() else path
        cloud = str(yaml.safe_load(file.read_text(encoding="utf-8"))["deploy"]["cloud"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return "aws"  # deploy itself says what is wrong with it
    return cloud if cloud in STAND_INS else "aws"


def _write(folder: Path, text: str, number: int) -> Path:
    path = folder / f"agent-{number}" / "agent.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def _tear_down(folder: Path, sandbox: Sandbox) -> None:
    """Whatever is recorded there, also by a deploy that failed; a deploy refused early recorded nothing."""
    from agentbreeder_core.errors import StateMissing
    from agentbreeder_provisioners import status, teardown

    try:
        recorded = status(project_dir=folder)
    except StateMissing:
        return
    for agent in recorded:
        teardown(agent.agent, project_dir=folder, clock=sandbox.clock)
