"""One stand-in per test process; each test gets an empty account and its own virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import botocore.loaders
import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.clocks import VirtualClock


@pytest.fixture(scope="session")
def running_sandbox() -> Iterator[AwsSandbox]:
    with AwsSandbox(VirtualClock()) as sandbox:
        yield sandbox


@pytest.fixture(scope="session", autouse=True)
def shared_service_models() -> Iterator[None]:
    """Every deploy makes its own boto3 session; the JSON models behind them are read once per test process."""
    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.loaders.create_loader", lambda *a, **k: loader)
        yield


@pytest.fixture
def sandbox(running_sandbox: AwsSandbox, monkeypatch: pytest.MonkeyPatch) -> AwsSandbox:
    running_sandbox.reset(clock=VirtualClock(), durations=Durations())
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in running_sandbox.env().items():
        monkeypatch.setenv(name, value)
    return running_sandbox
