"""The main path on Google Cloud: one line differs from AWS, and everything else holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentbreeder_provisioners import environment, status
from agentbreeder_sandbox.gcp.server import GcpSandbox
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, made


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_deploy_makes_one_of_each_again_nothing_and_teardown_leaves_nothing(
    gcp_sandbox: GcpSandbox, tmp_path: Path, scenario: str
) -> None:
    path = write_agent(tmp_path, SCENARIOS[scenario], cloud="gcp")
    before = gcp_sandbox.standing()
    done = do_deploy(gcp_sandbox, path)
    assert done.account == "sandbox-project"
    print(made(before, gcp_sandbox.standing()), gcp_sandbox.inventory(), done.env, done.secret_env)
    calls = len(gcp_sandbox.calls)
    assert do_deploy(gcp_sandbox, path).changed is False
    assert all(c.read for c in gcp_sandbox.calls[calls:])
    assert status("support", project_dir=tmp_path, refresh=True, clock=gcp_sandbox.clock)[0].healthy
    print({k: v.reveal() for k, v in environment("support", project_dir=tmp_path, reveal=True).revealed.items()})
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()
    assert gcp_sandbox.standing() == before
