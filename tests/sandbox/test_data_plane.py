"""Real servers behind the addresses that the stand-ins hand out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentbreeder_memory import MemoryManager, MemorySettings
from agentbreeder_provisioners import environment
from agentbreeder_sandbox.servers.plane import DataPlane
from agentbreeder_sandbox.standin import Sandbox
from support.agents import write_agent
from support.cloud import do_deploy
from support.scenes import STAND_INS_OF_TESTS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs the whole of 127.0.0.0/8"),
    pytest.mark.allow_hosts(["127.0.0.0/8"]),
]


@pytest.mark.parametrize("cloud", STAND_INS_OF_TESTS)
@pytest.mark.parametrize(("backend", "name"), [("redis", "REDIS_URL"), ("postgresql", "DATABASE_URL")])
async def test_what_deploy_puts_into_the_vault_opens_and_remembers(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cloud: str,
    backend: str,
    name: str,
) -> None:
    sandbox: Sandbox = request.getfixturevalue(STAND_INS_OF_TESTS[cloud])
    with DataPlane() as plane:
        sandbox.attach(plane)
        done = do_deploy(sandbox, write_agent(tmp_path, f"memory: {{backend: {backend}}}", cloud=cloud))
        found = environment("support", project_dir=tmp_path, reveal=True)
        url = done.env.get(name) or found.revealed[name].reveal()
        if plane.authorities.exists():
            monkeypatch.setenv("SSL_CERT_FILE", str(plane.authorities))
        settings = MemorySettings(backend=backend, agent="support", url=url)  # type: ignore[arg-type]
        for n in range(2):
            async with MemoryManager(settings) as memory:
                await memory.append("s", {"role": "user", "content": n})
                assert [m["content"] for m in await memory.load("s")] == list(range(n + 1))
