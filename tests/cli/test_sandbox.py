"""`sandbox` and `demo`, each in a process of its own."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from support.agents import SCENARIOS, write_agent

from .conftest import Run, command_of, variables

LAST_EXPORT = {"aws": "AWS_SECURITY_GROUPS", "gcp": "GCP_VPC_NETWORK", "azure": "AZURE_KEY_VAULT_NAME"}


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_sandbox_prints_exports_and_other_processes_can_deploy_into_it(
    run_process: Run, tmp_path: Path, cloud: str
) -> None:
    agent_file = write_agent(tmp_path, SCENARIOS["both"], cloud=cloud)
    server = subprocess.Popen(
        command_of("sandbox", "--cloud", cloud),
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        exports: dict[str, str] = {}
        while LAST_EXPORT[cloud] not in exports:
            export, _, rest = server.stdout.readline().partition(" ")
            assert export == "export"
            name, _, value = shlex.split(rest)[0].partition("=")
            exports[name] = value
        outcome = run_process("plan", str(agent_file), "--preflight", env=exports)
        assert outcome.code == 0, outcome.err
        assert "Checked against the cloud: no problems." in outcome.out
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Ctrl-C ends it" in err
    assert "Traceback" not in err


def test_a_taken_port_is_an_error_of_ours(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run("sandbox", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 2
    assert "choose another --port" in outcome.err


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_the_demo_holds_all_it_promises(run_process: Run, tmp_path: Path, cloud: str) -> None:
    outcome = run_process("demo", "--cloud", cloud, "--json", env={"TMPDIR": str(tmp_path)})
    assert "checks" in outcome.document, outcome.text
    assert [what for what, held in outcome.document["checks"].items() if not held] == []
    assert outcome.code == 0
    assert outcome.document["ok"] is True
    assert len(outcome.document["checks"]) >= 12
    assert all(json.loads(line)["event"] for line in outcome.err.splitlines())
    assert list(tmp_path.iterdir()) == []
