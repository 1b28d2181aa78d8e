"""One stand-in per test process; each test gets an empty account and its own virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import botocore.loaders
import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox


@pytest.fixture(scope="session", autouse=True)
def shared_service_models() -> Iterator[None]:
    """Every deploy makes its own boto3 session; the JSON models behind them are read once per test process."""
    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.loaders.create_loader", lambda *a, **k: loader)
        yield


@pytest.fixture
def sandbox(aws_sandbox: AwsSandbox) -> AwsSandbox:
    """The plugin's own fixture: one server per process, an empty account per test."""
    return aws_sandbox
