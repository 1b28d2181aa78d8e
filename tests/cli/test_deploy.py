"""`deploy`, `status`, `env`, `teardown` against the stand-in, over real HTTP."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.calls import ApiCall, Fault

from .conftest import Run


def standing(cloud: AwsSandbox) -> dict[str, list[str]]:
    return cloud.standing()


def events(err: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in err.splitlines()]


def test_the_whole_way_as_text(run: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    before, folder = standing(cloud), agent_file.parent

    done = run("deploy", agent_file, "--yes")
    assert done.code == 0, done.err
    assert done.out.startswith("support: deployed, 5 steps done (aws 123456789012 us-east-1)\n")
    assert "aws/postgres/instance        created" in done.err
    assert done.err.endswith(f"Next: agentbreeder env support --format ecs --project-dir {folder}\n")

    again = run("deploy", agent_file, "--yes")
    assert (again.code, again.out.splitlines()[0]) == (0, "support: no changes (aws 123456789012 us-east-1)")
    assert "No changes: 5 steps in place." in run("plan", agent_file).out

    status = run("status", "--project-dir", folder, "--refresh")
    assert status.out.startswith("support: ready (aws 123456789012 us-east-1)\n")
    assert "cloud: ready" in status.out

    gone = run("teardown", "support", "--project-dir", folder, "--yes")
    assert (gone.code, gone.out) == (0, "support: 5 resources deleted, none of them remains\n")
    assert standing(cloud) == before
    assert run("teardown", "support", "--project-dir", folder, "--yes").out == "support: nothing to delete\n"


def test_json_runs_put_events_on_stderr_and_one_document_on_stdout(
    run: Run, cloud: AwsSandbox, agent_file: Path
) -> None:
    done = run("deploy", agent_file, "--yes", "--json")
    assert done.document["changed"] is True
    assert {r["phase"] for r in done.document["resources"]} == {"ready"}
    names = [e["event"] for e in events(done.err)]
    assert (names[0], names[-1]) == ("RunStarted", "RunEnded")
    assert [e["number"] for e in events(done.err)] == list(range(1, len(names) + 1))

    assert run("status", "--project-dir", agent_file.parent, "--json").document["agents"][0]["healthy"] is True

    gone = run("teardown", "support", "--project-dir", agent_file.parent, "--yes", "--json")
    assert len(gone.document["deleted"]) == 5
    assert events(gone.err)[-1]["ok"] is True


def test_secrets_appear_only_when_revealed(run: Run, cloud: AwsSandbox, agent_file: Path, tmp_path: Path) -> None:
    folder = agent_file.parent
    texts = [run("deploy", agent_file, "--yes", "--json", "--debug").text]
    revealed = run("env", "support", "--project-dir", folder, "--format", "json", "--reveal").document["revealed"]
    url = revealed["DATABASE_URL"]
    password = url.partition("://")[2].partition("@")[0].partition(":")[2]
    assert len(password) == 32

    texts += [run("env", "support", "--project-dir", folder, "--format", f).text for f in ("json", "dotenv", "ecs")]
    texts += [run("status", "--project-dir", folder, "--refresh", "--json").text]
    texts += [run("plan", agent_file, "--json", "--preflight").text]
    texts += [run("teardown", "support", "--project-dir", folder, "--yes", "--debug").text]
    texts += [p.read_text() for p in folder.rglob("*") if p.is_file()]
    forms = {password, quote(password, safe=""), base64.b64encode(password.encode()).decode()}
    for text in texts:
        assert not [form for form in forms if form in text]


def test_dotenv_reveals_on_request_and_says_how(run: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    folder = agent_file.parent
    run("deploy", agent_file, "--yes")
    closed = run("env", "support", "--project-dir", folder, "--format", "dotenv")
    assert "# DATABASE_URL: from arn:aws:secretsmanager:" in closed.out
    assert "--reveal" in closed.err
    opened = run("env", "support", "--project-dir", folder, "--format", "dotenv", "--reveal")
    assert "\nDATABASE_URL=postgresql://" in "\n" + opened.out
    assert opened.err == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--format", "cloud-run"], "this agent is on aws"),
        (["--format", "ecs", "--reveal"], "references only"),
        (["--format", "dotenv", "--json"], "exclude each other"),
    ],
)
def test_env_refuses_what_does_not_fit(
    run: Run, cloud: AwsSandbox, agent_file: Path, args: list[str], words: str
) -> None:
    run("deploy", agent_file, "--yes")
    outcome = run("env", "support", "--project-dir", agent_file.parent, *args)
    assert outcome.code == 2
    assert words in outcome.text


def test_e07_a_teardown_that_leaves_something_is_no_success(run: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    before, folder = standing(cloud), agent_file.parent
    run("deploy", agent_file, "--yes")

    def refuse(call: ApiCall) -> Fault | None:
        denied = Fault(kind="reject", code="AccessDenied", message="not authorized to perform this", status=403)
        return denied if call.operation == "DeleteDBSubnetGroup" else None

    cloud.on_call(refuse)
    failed = run("teardown", "support", "--project-dir", folder, "--yes")
    assert failed.code != 0
    assert failed.out == ""
    assert "error: teardown is not complete" in failed.err
    assert "aws/postgres/subnet-group" in failed.err
    assert standing(cloud)["db_instances"] == before["db_instances"]
    assert standing(cloud)["security_groups"] == before["security_groups"]

    cloud.on_call(None)
    assert run("status", "--project-dir", folder, "--json").document["agents"][0]["resources"] != []
    assert run("teardown", "support", "--project-dir", folder, "--yes").code == 0
    assert standing(cloud) == before


def test_dry_run_lists_in_order_and_deletes_nothing(run: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    run("deploy", agent_file, "--yes")
    before = standing(cloud)
    outcome = run("teardown", "support", "--project-dir", agent_file.parent, "--dry-run")
    assert outcome.code == 0
    assert outcome.out.index("aws/postgres/instance") < outcome.out.index("aws/postgres/security-group")
    assert "Nothing was deleted" in outcome.out
    assert standing(cloud) == before


def test_preflight_lists_every_problem_and_exits_four(
    run: Run, cloud: AwsSandbox, agent_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_VPC_SUBNETS", "subnet-00000000,subnet-11111111")
    before = standing(cloud)
    for args in (["plan", agent_file, "--preflight"], ["deploy", agent_file, "--yes"]):
        outcome = run(*args)
        assert outcome.code == 4, outcome.err
        assert "subnet-00000000" in outcome.err
    assert standing(cloud) == before


def test_deploy_in_the_sandbox_needs_no_account_and_leaves_nothing(run_process: Run, agent_file: Path) -> None:
    text = agent_file.read_text().replace(
        "region: us-east-1", "region: eu-west-1, env_vars: {AWS_VPC_SUBNETS: 'subnet-real'}"
    )
    agent_file.write_text(text)
    outcome = run_process("deploy", agent_file, "--sandbox", "--json")
    assert outcome.code == 0, outcome.text
    assert outcome.document["changed"] is True
    assert outcome.document["region"] == "eu-west-1"
    assert len(outcome.document["teardown"]["deleted"]) == 5
    assert not (agent_file.parent / ".agentbreeder").exists()
