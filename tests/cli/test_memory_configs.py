"""`agentbreeder config memory`: the printed commands, offline and through the service, and what deploy makes of them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from agentbreeder_sandbox.servers.process import free_port
from agentbreeder_service.api.app import make_app
from agentbreeder_service.settings import ServiceSettings, TokenSettings
from agentbreeder_service.upgrading import upgrade_now

from .conftest import Run, command_of, variables

SECRET = "a-secret-of-the-tests-that-is-long-enough-for-everything-here"
PRINTED = """
create --name support-memory --backend postgresql --type buffer_window --max-messages 50 --scope agent
create --name team-shared-memory --backend postgresql --type buffer_window --max-messages 200 --scope team --linked-agents triage-agent,billing-agent,technical-agent
create --name user-history --backend postgresql --type buffer_window --namespace-pattern {agent_id}:{user_id} --scope agent
create --name research-full-memory --backend postgresql --type buffer --scope agent
create --name dev-memory --backend in_memory --type buffer_window --max-messages 20 --scope agent
"""  # noqa: E501
AGENT = "name: support\nversion: 1.0.0\nteam: default\nmemory_config: support-memory\ndeploy: {cloud: local}\n"


@pytest.fixture(params=["file", "service"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; the second time with a service to talk to."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    if request.param == "file":
        yield folder
        return
    from datetime import timedelta

    from agentbreeder_service.tokens import create_token

    tokens, port = TokenSettings(secret=SECRET), free_port()
    upgrade_now("", tmp_path / "service.db")
    app = make_app(ServiceSettings(tokens=tokens, sqlite_path=tmp_path / "service.db", rate=""))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.02)
    token = create_token(tokens, subject="ann", team="default", roles=("admin",), lifetime=timedelta(hours=1))
    monkeypatch.setenv("AGENTBREEDER_API_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AGENTBREEDER_API_TOKEN", token)
    yield folder
    server.should_exit = True
    thread.join()


def test_the_printed_commands_make_configs_that_a_deploy_finds(run: Run, place: Path) -> None:
    for line in PRINTED.strip().splitlines():
        made = run("config", "memory", *line.split())
        assert made.code == 0, made.text
    listed = run("config", "memory", "list").out.splitlines()
    assert listed[0].split() == ["NAME", "BACKEND", "TYPE", "KEEPS", "TTL", "SCOPE", "LINKED", "AGENTS"]
    assert [line.split()[0] for line in listed[1:]] == sorted(line.split()[2] for line in PRINTED.strip().splitlines())
    shown = run("config", "memory", "show", "team-shared-memory", "--json").document
    assert shown["linked_agents"] == ["triage-agent", "billing-agent", "technical-agent"]
    Path("agent.yaml").write_text(AGENT)
    assert run("config", "memory", "update", "support-memory", "--ttl-seconds", "3600").code == 0
    env = run("plan", "--json").document["env"]
    assert env == {
        "MEMORY_BACKEND": "postgresql",
        "MEMORY_MAX_MESSAGES": "50",
        "MEMORY_NAMESPACE_PATTERN": "default/support-memory/{agent_id}:{session_id}",
        "MEMORY_TTL_SECONDS": "3600",
        "MEMORY_TYPE": "buffer_window",
    }
    assert run("validate", "agent.yaml").code == 0
    Path("agent.yaml").write_text(AGENT.replace("support-memory", "support-memry"))
    unknown = run("plan")
    assert unknown.code == 2
    assert "support-memory" in unknown.err
    assert run("config", "memory", "delete", "dev-memory", "--yes").code == 0
    assert run("config", "memory", "show", "dev-memory").code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["create", "--name", "X"], "name: this must be 2 to 63 lower-case letters, digits and hyphens"),
        (["create", "--name", "ab", "--max-messages", "0"], "max_messages"),
        (["create", "--name", "ab", "--namespace-pattern", "{who}"], "placeholders"),
        (["create", "--name", "ab", "--namespace-pattern", ""], "placeholders"),
        (["create", "--name", "ab", "--type", "buffer", "--max-messages", "5"], "buffer keeps all"),
        (["create", "--name", "known"], "known: the team has a memory config of this name"),
        (["show", "nothing"], "nothing: there is no such memory config"),
        (["create", "--name", "ab", "--linked-agents", "a b"], "linked_agents.0: this must be 1 to 128 letters"),
        (["update", "known"], "nothing to change"),
        (["delete", "known"], "stdin is not a terminal"),
        (["push", "nowhere.yaml"], "nowhere.yaml is not there"),
    ],
)
def test_bad_input_is_one_clear_error(run: Run, place: Path, arguments: list[str], says: str) -> None:
    assert run("config", "memory", "create", "--name", "known").code == 0
    outcome = run("config", "memory", *arguments)
    assert outcome.code in (2, 3), outcome.text
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_a_file_is_pushed_whole_or_not_at_all_and_again_changes_nothing(run: Run, place: Path) -> None:
    good = "name: one\nbackend: postgresql\nmax_messages: 5\n---\nname: two\nmemory_type: buffer\nttl_seconds: 60\n"
    Path("memory.yaml").write_text(good + "---\nname: Bad Name\n")
    assert run("config", "memory", "push").code == 2
    assert run("config", "memory", "list", "--json").out.strip() == "[]"
    Path("memory.yaml").write_text(good)
    for done in ("created", "unchanged"):
        outcome = run("config", "memory", "push", "memory.yaml", "--json")
        assert json.loads(outcome.out) == [{"name": n, "done": done} for n in ("one", "two")], outcome.text
    Path("memory.yaml").write_text(good.replace("max_messages: 5", "max_messages: 7\nlinked_agents: [a]"))
    assert [d["done"] for d in json.loads(run("config", "memory", "push", "--json").out)] == ["updated", "unchanged"]
    assert run("config", "memory", "show", "one", "--json").document["max_messages"] == 7
    Path("memory.yaml").write_text(good.replace("max_messages: 5", 'namespace_pattern: "{session_id}"'))
    assert "cannot change" in run("config", "memory", "push").err


def test_deleting_names_the_agents_that_are_recorded_with_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("config", "memory", "create", "--name", "support-memory", "--backend", "in_memory")
    text = AGENT.replace("cloud: local", "cloud: aws, region: us-east-1")
    (tmp_path / "agent.yaml").write_text(text + "memory: {backend_url: 'postgresql://u@db.example.com/d'}\n")
    deployed = run("deploy", "--yes")
    assert deployed.code == 0, deployed.text
    script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    command = [sys.executable, "-c", script, *command_of("config", "memory", "delete", "support-memory")]
    done = subprocess.run(command, input="n\n", capture_output=True, text=True, env=variables(), timeout=60)
    assert "Agents recorded here still name it: support" in done.stdout
    assert run("config", "memory", "show", "support-memory").code == 0


def test_tokens_are_made_with_the_secret_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import jwt

    assert "AGENTBREEDER_JWT_SECRET" in run("token", "create", "--team", "payments", "--subject", "ann").err
    monkeypatch.setenv("AGENTBREEDER_JWT_SECRET", SECRET)
    made = run(
        "token",
        "create",
        "--team",
        "payments",
        "--subject",
        "ann",
        "--agent",
        "triage",
        "--role",
        "admin",
        "--days",
        "2",
    )
    claims = jwt.decode(
        made.out.strip(), SECRET, algorithms=["HS256"], audience="agentbreeder-memory", issuer="agentbreeder"
    )
    assert (claims["sub"], claims["team"], claims["agent_id"], claims["roles"]) == (
        "ann",
        "payments",
        "triage",
        ["admin"],
    )
    assert claims["exp"] - claims["iat"] == 2 * 86_400
    assert "letters, digits" in run("token", "create", "--team", "a/b", "--subject", "ann").err


def test_a_database_is_upgraded_when_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert "DATABASE_URL is not set" in run("db", "upgrade").err
    for before in (None, "0001"):
        outcome = run("db", "upgrade", "--file", tmp_path / "memory.db", "--json")
        assert outcome.document == {"before": before, "after": "0001"}


def test_a_local_agent_with_a_url_of_its_own_gets_its_environment_with_the_named_config(run: Run, place: Path) -> None:
    assert run("config", "memory", "create", "--name", "support-memory", "--backend", "postgresql").code == 0
    Path("agent.yaml").write_text(AGENT + "memory: {backend_url: 'postgresql://u:p@db.example.com/d'}\n")
    assert run("deploy", "--yes").code == 0
    shown = run("env", "support", "--format", "dotenv", "--reveal")
    assert shown.code == 0, shown.text
    assert "DATABASE_URL" in shown.out


def test_an_agent_gets_the_config_of_its_own_team_before_that_of_the_default_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.yaml").write_text(AGENT.replace("team: default", "team: payments"))
    for team, pattern in (("default", "default/support-memory/"), ("payments", "payments/support-memory/")):
        run("config", "memory", "create", "--name", "support-memory", "--backend", "redis", "--team", team)
        assert run("plan", "--json").document["env"]["MEMORY_NAMESPACE_PATTERN"].startswith(pattern)


def test_a_global_config_of_another_team_does_not_stand_in_for_the_teams_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.yaml").write_text(AGENT.replace("team: default", "team: payments"))
    for team in ("payments", "evil"):
        run("config", "memory", "create", "--name", "support-memory", "--scope", "global", "--team", team)
    assert run("plan", "--json").document["env"]["MEMORY_NAMESPACE_PATTERN"].startswith("payments/")
    Path("memory.yaml").write_text("name: support-memory\nbackend: redis\n")
    pushed = run("config", "memory", "push", "memory.yaml", "--team", "sales", "--json")
    assert json.loads(pushed.out) == [{"name": "support-memory", "done": "created"}]


@pytest.mark.parametrize("name", ["", "keep-me?x=1", "../users/bob", "a/messages:batch"])
def test_a_name_is_never_more_than_a_name(run: Run, place: Path, name: str) -> None:
    run("config", "memory", "create", "--name", "keep-me")
    for command in (["show", name], ["delete", "--yes", name]):
        outcome = run("config", "memory", *command)
        assert outcome.code == 2
        assert "there is no such memory config" in outcome.err
    assert run("config", "memory", "show", "keep-me").code == 0


@pytest.mark.parametrize(
    "url", ["http://localhost.evil.example", "http://127.0.0.1@evil.example", "https://[::1", "ftp://x"]
)
def test_a_token_is_sent_to_https_or_this_machine_alone(run: Run, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AGENTBREEDER_API_URL", url)
    monkeypatch.setenv("AGENTBREEDER_API_TOKEN", "t")
    outcome = run("config", "memory", "list")
    assert outcome.code == 2
    assert "must be an https URL, or http on this machine" in outcome.err


def test_a_taken_port_is_told_before_a_token_is_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run("serve", "--dev", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 2
    assert "choose another --port" in outcome.err
    assert "TOKEN" not in outcome.text


@pytest.mark.parametrize("content", [None, b"no database at all " * 300, b""])
def test_a_file_of_configs_that_is_damaged_is_one_line_and_an_empty_one_is_made(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".agentbreeder" / "memory.db"
    if content is None:
        file.mkdir(parents=True)
    else:
        file.parent.mkdir()
        file.write_bytes(content)
    outcome = run("config", "memory", "list")
    assert outcome.code == (0 if content == b"" else 2), outcome.text
    assert "Traceback" not in outcome.text
    assert content == b"" or "cannot be used" in outcome.err


def test_a_team_that_no_token_could_have_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("config", "memory", "create", "--name", "ok", "--team", "a/b c")
    assert outcome.code == 2
    assert "check --team" in outcome.err
