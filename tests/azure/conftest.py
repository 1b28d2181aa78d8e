"""What the Azure tests share: an agent, calls by name, and a hand on Azure besides the product."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_provisioners.azure.clients import AzureClients
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.calls import ApiCall, Fault
from support.agents import write_agent

Agent = Callable[..., Path]
OWN_VAULT = {"AZURE_KEY_VAULT_NAME": ""}
READER = "11111111-1111-1111-1111-111111111111"
CACHE = "memory: {backend: redis, provision: {azure_redis: cache}}"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Write the agent file: the memory part, and variables of `deploy.env_vars`."""
    return lambda body, **env: write_agent(tmp_path, body, cloud="azure", env=env)


@pytest.fixture
def by_hand(azure_sandbox: AzureSandbox) -> AzureClients:
    """What the user does in the subscription without this tool."""
    return AzureClients(azure_sandbox.subscription_id, azure_sandbox.region, azure_sandbox.clock, threading.Event())


class Once:
    """One fault at the first call of an operation, or at each of the first `times`."""

    def __init__(self, operation: str, fault: Fault, times: int = 1) -> None:
        self._operation, self._fault, self._times, self.count = operation, fault, times, 0

    def __call__(self, call: ApiCall) -> Fault | None:
        if call.operation != self._operation:
            return None
        self.count += 1
        return self._fault if self.count <= self._times else None


def calls(sandbox: AzureSandbox, operation: str) -> list[ApiCall]:
    """The calls of one operation, in order."""
    return [c for c in sandbox.calls if c.operation == operation]


def clock_of(sandbox: AzureSandbox) -> Any:
    """The virtual clock, with its `advance`."""
    return sandbox.clock
