"""`plan`: what it shows, and what it never shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from .conftest import Run

CANARY = "Hunter2x"
BYO = """\
support on aws us-east-1

Stores
  redis: nothing to make
      for memory
      because memory.backend_url names it: yours is used, nothing is made

The container gets
  MEMORY_BACKEND  redis
  REDIS_URL       redis://cache.example.com:6379/0

Nothing to make.
"""


def test_a_store_of_the_users_own_needs_nothing_made(
    run: Run, tmp_path: Path, write_agent: Callable[..., Path]
) -> None:
    write_agent(tmp_path, "memory: {backend_url: 'redis://cache.example.com:6379/0'}")
    outcome = run("plan", tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, BYO, "")


def test_the_plan_lists_stores_steps_variables_and_the_next_command(run: Run, agent_file: Path) -> None:
    outcome = run("plan", agent_file)
    assert outcome.code == 0
    for line in (
        "  postgresql: PostgreSQL",
        "  + aws/postgres/instance ",
        "  DATABASE_URL    <- the vault",
        "5 steps to make.",
    ):
        assert line in outcome.out
    assert outcome.err == f"\nNext: agentbreeder deploy {agent_file}\n"


def test_plan_as_json_has_every_promised_key(run: Run, agent_file: Path) -> None:
    outcome = run("plan", agent_file, "--json")
    document = outcome.document
    assert outcome.err == ""
    for key in ("agent", "cloud", "region", "stores", "env", "secret_env", "findings", "steps"):
        assert key in document
    assert set(document["stores"][0]) >= {"kind", "uses", "provision", "why"}
    assert set(document["steps"][0]) >= {"id", "kind", "name", "needs"}


def test_network_keys_that_the_file_leaves_out_come_from_the_shell(
    run: Run, agent_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "NETWORK_MISSING" in run("plan", agent_file).out
    monkeypatch.setenv("AWS_VPC_SUBNETS", "subnet-1,subnet-2")
    monkeypatch.setenv("AWS_SECURITY_GROUPS", "sg-1")
    assert "NETWORK_MISSING" not in run("plan", agent_file).out


def test_a_connection_string_in_the_shell_is_never_read(
    run: Run, agent_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://u:{CANARY}@db.example.com/x")
    outcome = run("plan", agent_file, "--json")
    assert CANARY not in outcome.text
    assert "DATABASE_URL" not in outcome.document["env"]


BROKEN = [
    f"postgresql://admin:{CANARY}@db.example.com:5432:5432/mem",
    f"postgresql://admin:{CANARY}@db.example.com:54x2/mem",
    f"postgresql://admin:{CANARY}@[::1/mem",
    f"postgresql://admin:{CANARY}@db.example.com:99999/mem",
    f"http://admin:{CANARY}@db.example.com/mem",
    f"redis://:{CANARY}@ca che.example.com/0",
    f"redis:/{CANARY}@cache.example.com",
    f"redis://:{CANARY}@/0?x=%zz",
    f"mysql://root:{CANARY}@db.example.com/mem",
    f"://{CANARY}@db",
    f"postgresql//admin:{CANARY}@db.example.com/mem",
]


@pytest.mark.parametrize("url", BROKEN)
@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"], ["--strict", "--debug", "--json"]])
def test_f03_a_broken_url_is_never_quoted(
    run: Run, tmp_path: Path, write_agent: Callable[..., Path], url: str, options: list[str]
) -> None:
    path = write_agent(tmp_path, f"memory: {{backend_url: '{url}'}}")
    outcome = run("plan", path, *options)
    assert outcome.code in (0, 2)
    assert CANARY not in outcome.text
    if outcome.code:
        assert "backend_url" in outcome.text


@pytest.mark.parametrize("options", [[], ["--json"], ["--debug"], ["--strict"]])
def test_f04_a_warning_about_this_machine_shows_key_scheme_and_host_only(
    run: Run, tmp_path: Path, write_agent: Callable[..., Path], options: list[str]
) -> None:
    password = f"{CANARY}/+"
    path = write_agent(
        tmp_path, f"memory: {{backend_url: 'redis://:{quote(password, safe='')}@localhost:6379/0?client_name=qq77'}}"
    )
    outcome = run("plan", path, *options)
    assert outcome.code == (2 if "--strict" in options else 0)
    for word in ("LOCAL_URL", "memory.backend_url", "redis://", "localhost"):
        assert word in outcome.text or (word == "LOCAL_URL" and "--strict" in options)
    for form in (CANARY, quote(password, safe=""), "qq77"):
        assert form not in outcome.text


def test_errors_go_to_stderr_with_file_line_and_key(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(
        "name: support\nversion: 1.0.0\nmemory:\n  bakend: redis\ndeploy: {cloud: aws, region: us-east-1}\n"
    )
    outcome = run("plan", path)
    assert (outcome.code, outcome.out) == (2, "")
    first, second, *_ = outcome.err.splitlines()
    assert first.startswith("error: the configuration is not valid")
    assert second.startswith(f"  {path}:4:3 ")
    assert "backend" in second


def test_an_error_as_json_is_the_only_document(run: Run, tmp_path: Path) -> None:
    outcome = run("plan", tmp_path / "nothing.yaml", "--json")
    assert (outcome.code, outcome.err) == (2, "")
    assert set(outcome.error) == {"code", "summary", "detail", "hint", "problems", "notes"}
    assert outcome.error["code"] == "ConfigError"
