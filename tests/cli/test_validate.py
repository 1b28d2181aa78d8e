"""`validate`, `schema`, `unlock`: many files, all problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def two_files(tmp_path: Path, write_agent: Callable[..., Path]) -> tuple[Path, Path]:
    good = write_agent(tmp_path / "good", "memory: {backend_url: 'redis://cache.example.com'}")
    bad = write_agent(tmp_path / "bad", "memory: {bakend: redis, backend_url: 7}")
    return good, bad


def test_every_problem_of_every_file_is_listed_as_data(run: Run, two_files: tuple[Path, Path]) -> None:
    good, bad = two_files
    outcome = run("validate", good, bad)
    assert outcome.code == 2
    lines = outcome.out.splitlines()
    assert lines[0] == f"ok {good}"
    assert len([line for line in lines if line.startswith(f"{bad}:3:")]) == 2
    assert outcome.err == "2 problems in 1 of 2 files\n"


def test_files_without_problems_exit_zero(run: Run, two_files: tuple[Path, Path]) -> None:
    outcome = run("validate", two_files[0], two_files[0].parent)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("ok ") == 2


def test_validate_as_json_is_one_document_with_a_verdict_per_file(run: Run, two_files: tuple[Path, Path]) -> None:
    outcome = run("validate", *two_files, "--json")
    assert (outcome.code, outcome.err) == (2, "")
    assert [f["ok"] for f in outcome.document["files"]] == [True, False]
    assert {"line", "column", "key", "message", "code", "file"} == set(outcome.document["files"][1]["problems"][0])


def test_a_missing_file_is_a_problem_like_any_other(run: Run, tmp_path: Path) -> None:
    outcome = run("validate", tmp_path / "gone.yaml")
    assert outcome.code == 2
    assert "gone.yaml" in outcome.out


@pytest.mark.parametrize("name", ["DATABASE_URL", "database_url"])
@pytest.mark.parametrize("block", ["env_vars: {NAME: x}", "secrets: [NAME]"])
def test_f07_a_name_set_twice_is_caught_with_both_sources_named(
    run: Run, tmp_path: Path, name: str, block: str
) -> None:
    path = tmp_path / "agent.yaml"
    deploy = f"deploy: {{cloud: aws, region: us-east-1, {block.replace('NAME', name)}}}"
    path.write_text(f"name: support\nversion: 1.0.0\nmemory: {{backend: postgresql}}\n{deploy}\n")
    outcome = run("validate", path)
    assert outcome.code == 2
    assert f"deploy.{block.partition(':')[0]}.{name}" in outcome.out
    assert "memory / knowledge_bases" in outcome.out


def test_schema_prints_a_json_schema(run: Run) -> None:
    outcome = run("schema")
    assert outcome.code == 0
    assert outcome.document["$schema"].endswith("2020-12/schema")


def test_unlock_says_what_it_removed(run: Run, tmp_path: Path) -> None:
    outcome = run("unlock", "support", "--project-dir", tmp_path, "--json")
    assert outcome.code == 0
    assert outcome.document["agent"] == "support"


@pytest.mark.parametrize("args", [["status"], ["env", "support"], ["teardown", "support", "--yes"]])
def test_commands_that_need_state_say_where_they_looked(run: Run, tmp_path: Path, args: list[str]) -> None:
    outcome = run(*args, "--project-dir", tmp_path)
    assert (outcome.code, outcome.out) == (5, "")
    assert "error: there is no state" in outcome.err
    assert str(tmp_path) in outcome.err
