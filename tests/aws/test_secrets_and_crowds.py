"""Secrets stay where they belong, and many runs at once do not disturb each other."""

from __future__ import annotations

import base64
import json
import logging
import multiprocessing
import os
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest

from agentbreeder_core.errors import AgentBreederError
from agentbreeder_core.events import Event
from agentbreeder_provisioners import environment
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.calls import Fault
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, made, standing
from support.scenes import EXPECTED

CANARY = "Canary@7/x+Q"
FORK = multiprocessing.get_context("forkserver")


def forms(secret: str) -> list[str]:
    """Raw, percent-encoded and base64, as they could leak."""
    raw = secret.encode()
    return [secret, quote(secret, safe=""), base64.b64encode(raw).decode()[:-2]]


def everything_written(folder: Path) -> str:
    """Every byte under the project folder but the agent file itself."""
    texts = [
        p.read_bytes().decode("utf-8", "replace") for p in folder.rglob("*") if p.is_file() and p.name != "agent.yaml"
    ]
    return "\n".join(texts)


OWN_URL = f"memory: {{backend_url: 'postgresql://u:{quote(CANARY, safe='')}@h.example.com/m'}}"


@pytest.mark.parametrize("body", [*SCENARIOS.values(), OWN_URL], ids=[*SCENARIOS, "own url"])
def test_d08_f03_no_secret_is_in_state_backups_locks_logs_events_or_results(
    sandbox: AwsSandbox, tmp_path: Path, body: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG, "agentbreeder")
    events: list[Event] = []
    result = do_deploy(sandbox, write_agent(tmp_path, body), on_event=events.append)
    revealed = environment("support", project_dir=tmp_path, reveal=True).revealed
    secrets = [v.reveal() for v in revealed.values()] + [CANARY]
    secrets += [u.split("://")[1].split("@")[0].partition(":")[2] for u in secrets[:-1]]
    out, err = capfd.readouterr()
    shown = "\n".join(
        [everything_written(tmp_path), repr(result), json.dumps(result.to_json()), repr(events), out, err, caplog.text]
        + [json.dumps(e.to_json()) for e in events]
    )
    for secret in secrets:
        for form in forms(secret):
            assert form not in shown
    do_teardown(sandbox, tmp_path)


def test_an_answer_that_echoes_the_password_shows_it_nowhere(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, f"memory: {{backend_url: 'redis://:{quote(CANARY, safe='')}@h.example.com/0'}}")
    url = f"redis://:{quote(CANARY, safe='')}@h.example.com/0"
    fault = Fault(kind="reject", code="InvalidParameterValue", message=f"bad value {url}")
    sandbox.on_call(lambda c: fault if c.operation == "CreateSecret" else None)
    with pytest.raises(AgentBreederError) as caught:
        do_deploy(sandbox, path)
    shown = f"{caught.value} {caught.value.detail} {caught.value.hint} {caught.value!r}" + everything_written(tmp_path)
    assert quote(CANARY, safe="") not in shown
    assert "bad value ****" in shown


def test_the_secret_is_in_the_vault_before_the_database_that_uses_it(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    order = [c.operation for c in sandbox.calls]
    assert order.index("CreateSecret") < order.index("CreateDBInstance") < order.index("PutSecretValue")


def _deploy(path: Path, network: dict[str, str], environ: dict[str, str], folder: Path) -> None:
    os.environ.update(environ)
    from agentbreeder_provisioners import deploy

    try:
        deploy(path, network_env=network, project_dir=folder)
    except AgentBreederError:
        traceback.print_exc()
        os._exit(1)


@pytest.mark.parametrize("count", [2, 20])
def test_d03_many_processes_deploy_different_agents_in_one_folder_at_once(
    sandbox: AwsSandbox, tmp_path: Path, count: int
) -> None:
    sandbox.world.durations = Durations(
        rds_create_s=0, cache_create_s=0, cache_delete_s=0, rds_delete_s=0, eni_linger_s=0
    )
    before = standing(sandbox)
    body = f"memory: {{backend_url: 'redis://:{CANARY[:6]}@h.example.com/0'}}" if count > 2 else SCENARIOS["redis"]
    paths = [write_agent(tmp_path / str(n), body, name=f"agent-{n}") for n in range(count)]
    args = [(p, sandbox.network_env(), dict(os.environ), tmp_path) for p in paths]
    processes = [FORK.Process(target=_deploy, args=a) for a in args]
    for p in processes:
        p.start()
    for p in processes:
        p.join(120)
    assert [p.exitcode for p in processes] == [0] * count
    state = json.loads((tmp_path / ".agentbreeder" / "infra-state.json").read_text())
    assert sorted(state["agents"]) == sorted(f"agent-{n}" for n in range(count))
    expected = {"secrets": count} if count > 2 else {k: v * count for k, v in EXPECTED["aws"]["redis"].items()}
    assert made(before, standing(sandbox)) == expected
    for n in range(count):
        do_teardown(sandbox, tmp_path, agent=f"agent-{n}")
    assert standing(sandbox) == before
