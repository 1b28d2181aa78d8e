"""One behaviour on every cloud: deploy makes one of each, again makes nothing, teardown leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentbreeder_provisioners import environment, status
from agentbreeder_sandbox.standin import Sandbox
from support.cloud import do_deploy, do_teardown, made, state_of
from support.scenes import AGENTS, EXPECTED, STAND_INS_OF_TESTS, open_to_both_products, write_scene

ROWS = [(cloud, agent) for cloud in STAND_INS_OF_TESTS for agent in AGENTS[cloud]]


@pytest.mark.parametrize(("cloud", "agent"), ROWS)
def test_deploy_makes_one_of_each_again_nothing_and_teardown_leaves_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, cloud: str, agent: str
) -> None:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    open_to_both_products(sandbox)
    path = write_scene(tmp_path, cloud, agent)
    before = sandbox.standing()
    done = do_deploy(sandbox, path)
    assert made(before, sandbox.standing()) == EXPECTED[cloud][agent]
    assert done.account
    asked = len(sandbox.calls)
    assert do_deploy(sandbox, path).changed is False
    assert all(c.read for c in sandbox.calls[asked:])
    assert status("support", project_dir=tmp_path, refresh=True, clock=sandbox.clock)[0].healthy
    assert do_teardown(sandbox, tmp_path).remaining == ()
    assert sandbox.standing() == before


@pytest.mark.parametrize("cloud", STAND_INS_OF_TESTS)
def test_the_container_gets_its_urls_from_the_vault_and_no_secret_is_in_the_state(
    request: pytest.FixtureRequest, tmp_path: Path, cloud: str
) -> None:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    done = do_deploy(sandbox, write_scene(tmp_path, cloud, "both"))
    assert done.env["MEMORY_BACKEND"] == "redis"
    assert set(done.secret_env) == {"REDIS_URL", "KB_PGVECTOR_DSN"}
    urls = {k: v.reveal() for k, v in environment("support", project_dir=tmp_path, reveal=True).revealed.items()}
    assert urls["REDIS_URL"].startswith("rediss://:")
    assert urls["KB_PGVECTOR_DSN"].startswith("postgresql://agentbreeder:")
    written = str(state_of(tmp_path))
    for url in urls.values():
        password = url.partition("://")[2].partition("@")[0].rpartition(":")[2]
        assert len(password) > 15
        assert password not in written
