"""Field cases B, and F07 and F09 where they belong to reading: what YAML does to people."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Refused, Resolve, said


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("name: a\nmemory:\n  backend_url: redis://h.example/0\n  backend_url: redis://i.example/0\n", (3, 4)),
        ("name: a\nmemory: {backend: redis}\nteam: x\nmemory: {backend: postgresql}\n", (2, 4)),
        ("name: a\ndeploy:\n  env_vars:\n    A: '1'\n    A: '2'\n", (4, 5)),
    ],
)
def test_b01_a_repeated_key_is_refused_with_both_lines(refused: Refused, text: str, lines: tuple[int, int]) -> None:
    error = refused(text)
    assert all(f"line {n}" in said(error) for n in lines)
    assert error.problems[0].line == lines[1]


@pytest.mark.parametrize("value", ["yes", "off", "", "~", "0x1F", "0777", "1_000", "1.0e+3"])
def test_b03_an_env_var_that_yaml_would_change_is_refused_with_its_line(refused: Refused, value: str) -> None:
    error = refused(f"name: a\ndeploy:\n  env_vars:\n    FLAG: {value}\n")
    assert error.problems[0].line == 4
    assert "deploy.env_vars.FLAG" in said(error)


def test_b03_norway_is_no_region(refused: Refused) -> None:
    assert "quotes" in said(refused("name: a\ndeploy: {cloud: aws, region: no}\n"))


@pytest.mark.parametrize("value", ["8080", "0.5", "'yes'", "plain text", "2026-12-01"])
def test_b03_what_yaml_cannot_change_keeps_its_exact_text(resolved: Resolve, value: str) -> None:
    resolved(f"name: a\ndeploy:\n  env_vars:\n    KEY: {value}\n")


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("name: a\nmemory: {backned: redis}\ndeploy: {cloud: aws, region: r}\n", "backend"),
        ("name: a\ndeploy: {cloud: aws, backend_url: redis://h.example}\n", "memory.backend_url"),
        ("name: a\nknowledge_base: [{ref: x}]\n", "knowledge_bases"),
        ("name: a\nmemory: {provision: {instance_klass: x}}\n", "instance_class"),
        ("name: a\ndeploy: {cloud: amazon}\n", "aws"),
        ("name: a\ndeploy: {clouds: aws}\n", "cloud"),
    ],
)
def test_b04_a_misspelt_or_misplaced_key_names_the_right_one(refused: Refused, text: str, nearest: str) -> None:
    assert nearest in said(refused(text))


def test_b04_a_typo_in_a_comment_is_no_key(resolved: Resolve) -> None:
    resolved("name: a\n# memory: {backned: redis}\n")


def bomb() -> str:
    lines = ["x0: &x0 [a, a]"] + [f"x{i}: &x{i} [*x{i - 1}, *x{i - 1}]" for i in range(1, 30)]
    return "name: a\n" + "\n".join(lines) + "\nmemory: {stores: *x29}\n"


def test_b06_nested_aliases_are_refused_within_two_seconds_and_200_mb(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(bomb())

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
        resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))

    code = "from pathlib import Path; from agentbreeder_resolver import resolve_path; resolve_path(Path('agent.yaml'))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        preexec_fn=limits,
        check=False,
    )
    assert "ConfigError" in done.stderr
    assert len(done.stderr) < 5000


def test_b06_a_value_that_contains_itself_is_refused(refused: Refused) -> None:
    assert "alias" in said(refused("name: a\nx: &x [*x]\n"))


def test_b06_small_anchors_and_merges_still_work(resolved: Resolve) -> None:
    plan = resolved("name: a\nbase: &b {backend: redis}\nmemory: {<<: *b}\ndeploy: {cloud: aws, region: us-east-1}\n")
    assert plan.memory_backend == "redis"


def test_b07_a_byte_order_mark_changes_nothing_in_any_locale(tmp_path: Path) -> None:
    body = b"memory:\n  backend_url: redis://h.example.com/0\nname: a\n"
    code = (
        "from pathlib import Path; from agentbreeder_resolver import *\n"
        "print(plan_to_json(resolve_path(Path('agent.yaml')))['env'])"
    )
    answers = set()
    for start, locale in ((b"", "C.UTF-8"), (b"\xef\xbb\xbf", "C.UTF-8"), (b"\xef\xbb\xbf", "C")):
        (tmp_path / "agent.yaml").write_bytes(start + body)
        env = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "LC_ALL": locale, "PYTHONUTF8": "0"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )
        answers.add(done.stdout)
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("data", "word"), [("name: caf\xe9\n".encode("latin-1"), "9"), ("name: a\n".encode("utf-16"), "UTF-16")]
)
def test_b07_what_is_not_utf8_is_named_with_its_offset(refused: Refused, data: bytes, word: str) -> None:
    assert word in said(refused(data))


def test_b09_windows_line_ends_change_nothing(resolved: Resolve) -> None:
    text = "name: a\nmemory:\n  backend: redis\ndeploy:\n  cloud: aws\n  region: us-east-1\n"
    assert resolved(text.replace("\n", "\r\n")) == resolved(text)


def test_b09_a_tab_is_called_a_tab(refused: Refused) -> None:
    error = refused("name: a\nmemory:\n\tbackend: redis\n")
    assert "tab" in said(error)
    assert error.problems[0].line == 3


def test_several_documents_are_refused(refused: Refused) -> None:
    assert refused("name: a\n---\nname: b\n").problems[0].code == "SEVERAL_DOCUMENTS"


def test_an_octal_password_is_refused_without_being_shown(refused: Refused) -> None:
    error = said(refused("name: a\nmemory: {backend_url: 012345}\n"))
    assert "quotes" in error
    assert "12345" not in error


def test_all_problems_of_a_file_come_at_once_in_order(refused: Refused) -> None:
    text = "name: -bad\nmemory:\n  backned: x\n  backend: redos\ndeploy:\n  cloud: awz\n  env_vars:\n    A: yes\n"
    lines = [p.line for p in refused(text).problems]
    assert lines == sorted(lines)
    assert set(lines) == {1, 3, 4, 6, 8}


@pytest.mark.parametrize("name", ["DATABASE_URL", "database_url"])
@pytest.mark.parametrize("place", ["env_vars: {%s: x}", "secrets: [%s]"])
def test_f07_a_name_set_twice_is_caught_with_both_sources(refused: Refused, name: str, place: str) -> None:
    text = f"name: a\nmemory: {{backend: postgresql}}\ndeploy: {{cloud: aws, region: us-east-1, {place % name}}}\n"
    error = said(refused(text))
    assert f"deploy.{place.split(':', maxsplit=1)[0]}.{name}" in error
    assert "memory" in error


@pytest.mark.parametrize("line", ["'A=B': x", "'': x", "'A B': x", 'NOTE: "a\\0b"'])
def test_f09_a_name_or_value_that_no_environment_can_hold_is_refused(refused: Refused, line: str) -> None:
    assert "deploy.env_vars" in said(refused(f"name: a\ndeploy:\n  env_vars:\n    {line}\n"))


def test_other_readers_keys_are_left_alone(resolved: Resolve) -> None:
    text = """
name: support-triage-agent
version: 1.0.0
description: "Routes tickets"
team: customer-success
owner: support-eng@company.com
tags: [support, zendesk]
model: {primary: claude-sonnet-4-6, fallback: gpt-4o, temperature: 0.3, max_tokens: 2048}
framework: langgraph
claude_sdk: {thinking: {type: adaptive}, prompt_caching: true}
crewai: {memory: true}
google_adk: {session_backend: database}
tools:
  - ref: tools/zendesk-mcp
  - name: f
    type: function
    schema: {type: object, properties: {x: {type: string}}, required: [x]}
knowledge_bases:
  - ref: kb/return-policy
prompts: {system: prompts/support-v1}
guardrails: [pii_detection]
subagents: [{ref: agents/x}]
mcp_servers: [{ref: mcp/zendesk, transport: sse}]
deploy:
  cloud: aws
  runtime: ecs-fargate
  region: us-east-1
  scaling: {min: 1, max: 5, target_cpu: 70}
  resources: {cpu: "0.5", memory: "1Gi"}
  env_vars: {LOG_LEVEL: info}
  secrets: [ZENDESK_API_KEY]
access: {visibility: team, allowed_callers: [team:engineering], require_approval: false}
"""
    plan = resolved(text)
    assert [s.uses for s in plan.provisioned()] == [("knowledge_base:kb/return-policy",)]
    assert list(plan.secret_env) == ["KB_PGVECTOR_DSN"]


@pytest.mark.parametrize("team", ["R&D", "a" * 201, "x\\ty"])
def test_a_team_that_cannot_be_a_tag_is_refused_before_anything_is_made(refused: Refused, team: str) -> None:
    assert refused(f'name: a\nteam: "{team}"\n').problems[0].code == "BAD_TEAM"
