"""One stand-in per test process; each test gets an empty account and its own virtual time."""

from __future__ import annotations

import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox


@pytest.fixture
def sandbox(aws_sandbox: AwsSandbox) -> AwsSandbox:
    """The plugin's own fixture: one server per process, an empty account per test."""
    return aws_sandbox
