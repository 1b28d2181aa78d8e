"""Ctrl-C, SIGTERM and SIGKILL in the middle of a deploy; and what other processes can see meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.calls import ApiCall, Fault

from .conftest import AT_ONCE, Outcome, Run, command_of, variables
from .test_deploy import standing

A_LONG_TIME = Durations(rds_create_s=36_000, rds_delete_s=0, cache_create_s=0, cache_delete_s=0, eni_linger_s=0)


def deploy_until(cloud: AwsSandbox, agent_file: Path, operation: str, act: Callable[[int], None]) -> Outcome:
    """Deploy in a process of its own; at the first call of `operation` after the database was ordered, do `act(pid)`."""
    cloud.world.durations = A_LONG_TIME
    ordered: list[str] = []
    process = subprocess.Popen(
        command_of("deploy", agent_file, "--yes"),
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def hook(call: ApiCall) -> Fault | None:
        ordered.append(call.operation)
        if call.operation == operation and "CreateDBInstance" in ordered:
            cloud.on_call(None)
            act(process.pid)
        return None

    cloud.on_call(hook)
    out, err = process.communicate(timeout=120)
    # The hook acts before the order is applied, and a killed process does not wait for the answer.
    patience = time.monotonic() + 30.0
    while not standing(cloud)["db_instances"] and time.monotonic() < patience:
        time.sleep(0.01)
    return Outcome(process.returncode, out, err)


def signals(*numbers: signal.Signals) -> Callable[[int], None]:
    def act(pid: int) -> None:
        for number in numbers:
            os.kill(pid, number)

    return act


@pytest.mark.parametrize("operation", ["CreateDBInstance", "DescribeDBInstances"])
@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ((signal.SIGINT,), 130),
        ((signal.SIGTERM,), 143),
        ((signal.SIGINT, signal.SIGINT), 130),
        ((signal.SIGKILL,), -9),
    ],
)
def test_c16_a_stopped_deploy_goes_on_when_run_again(
    run: Run, cloud: AwsSandbox, agent_file: Path, operation: str, numbers: tuple[signal.Signals, ...], code: int
) -> None:
    before, folder = standing(cloud), agent_file.parent
    stopped = deploy_until(cloud, agent_file, operation, signals(*numbers))
    assert stopped.code == code
    assert stopped.out == ""
    assert "Traceback" not in stopped.err
    if len(numbers) == 1 and code > 0:
        assert "error: the run was interrupted" in stopped.err
        assert "aws/postgres/instance" in stopped.err
        assert "hint: agentbreeder deploy" in stopped.err

    # Time passes, and the database the stopped run had ordered comes up.
    cloud.world.durations = AT_ONCE
    cloud.world.hurry()
    again = run("deploy", agent_file, "--yes")
    assert again.code == 0, again.err
    assert len(standing(cloud)["db_instances"]) == 1
    assert run("teardown", "support", "--project-dir", folder, "--yes").code == 0
    assert standing(cloud) == before


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_f06_no_secret_is_ever_in_an_argument_list(run: Run, cloud: AwsSandbox, tmp_path: Path) -> None:
    agent_file = tmp_path / "support" / "agent.yaml"
    agent_file.parent.mkdir()
    agent_file.write_text(
        "name: support\nversion: 1.0.0\nmemory: {backend_url: 'redis://:Hunter2x@cache.example.com'}\n"
        "knowledge_bases: [{ref: docs}]\ndeploy: {cloud: aws, region: us-east-1}\n"
    )
    seen: list[bytes] = []

    def look(call: ApiCall) -> Fault | None:
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    seen.append((folder / "cmdline").read_bytes())
                except OSError:  # the process has ended meanwhile
                    continue
        return None

    cloud.on_call(look)
    subprocess.run(
        command_of("deploy", agent_file, "--yes"), env=variables(), check=True, capture_output=True, timeout=120
    )
    cloud.on_call(None)
    revealed = run("env", "support", "--project-dir", agent_file.parent, "--reveal").document["revealed"]
    password = revealed["KB_PGVECTOR_DSN"].partition("://")[2].partition("@")[0].partition(":")[2]
    assert any(b"agentbreeder_cli" in line for line in seen)
    assert not [line for line in seen if b"Hunter2x" in line or password.encode() in line]

    definition = run("env", "support", "--project-dir", agent_file.parent, "--format", "ecs").document
    assert {s["name"] for s in definition["secrets"]} == {"REDIS_URL", "KB_PGVECTOR_DSN"}
    assert {e["name"] for e in definition["environment"]} == {"MEMORY_BACKEND"}
