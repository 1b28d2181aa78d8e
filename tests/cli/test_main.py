"""The outer shell: help, mistakes, faults, pipes, lazy imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agentbreeder_cli.app import COMMANDS, cli
from agentbreeder_cli.mode import Mode
from agentbreeder_cli.views import errors

from .conftest import Run, command_of, variables

CANARY = "Hunter2x"
HEAVY = {
    "google",
    "azure",
    "requests",
    "boto3",
    "botocore",
    "moto",
    "sqlalchemy",
    "fastapi",
    "rich",
    "pydantic",
    "tenacity",
}


def test_help_names_every_command_with_the_line_the_command_itself_has(run: Run) -> None:
    outcome = run("--help")
    context = click.Context(cli)
    assert outcome.code == 0
    for name, line in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert f"{name} " in outcome.out
        assert line in outcome.out
        assert (command.help or "").splitlines()[0] == line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(run: Run, name: str) -> None:
    outcome = run(name, "--help")
    assert outcome.code == 0
    assert "Example:" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100


def test_version_is_printed_on_stdout(run: Run) -> None:
    assert run("--version").out.startswith("agentbreeder-memory 0.")


def test_no_arguments_show_the_help_on_stderr_and_fail(run: Run) -> None:
    outcome = run()
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage: agentbreeder" in outcome.err


def test_a_mistyped_command_is_met_with_a_suggestion(run: Run) -> None:
    outcome = run("plna")
    assert outcome.code == 2
    assert "'plna'. Did you mean 'plan'?" in outcome.err


def test_a_mistyped_option_is_reported_as_json_when_json_was_asked_for(run: Run) -> None:
    outcome = run("plan", "--json", "--strct")
    assert outcome.code == 2
    assert outcome.error["code"] == "UsageError"
    assert "--strct" in outcome.error["detail"]


def _fault() -> Exception:
    try:
        try:
            raise ValueError(f"cannot parse redis://:{CANARY}@host")
        except ValueError as e:
            raise RuntimeError(f"wrapped {CANARY}") from e
    except RuntimeError as e:
        return e


@pytest.mark.parametrize("mode", [Mode(), Mode(debug=True), Mode(json=True), Mode(json=True, debug=True)])
def test_f03_a_fault_of_ours_shows_type_and_place_but_never_a_message(
    mode: Mode, capsys: pytest.CaptureFixture[str]
) -> None:
    errors.show_internal(_fault(), mode)
    text = "".join(capsys.readouterr())
    assert "RuntimeError" in text
    assert CANARY not in text
    assert ("ValueError" in text) == mode.debug


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command_of("schema"), env=variables(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize("args", [["--help"], ["plan", "agent.yaml"], ["plan", "agent.yaml", "--json"], ["schema"]])
def test_light_commands_load_nothing_heavy(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "agent.yaml").write_text(
        "name: a\nversion: 1.0.0\nmemory: {backend_url: 'redis://cache.example.com'}\ndeploy: {cloud: aws, region: us-east-1}\n"
    )
    script = (
        "import sys, json\nfrom agentbreeder_cli.main import main\n"
        f"code = main({args!r})\nsys.stderr.write(json.dumps([code, sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=variables(), capture_output=True, text=True, timeout=60
    )
    code, modules = json.loads(done.stderr)
    assert code == 0
    assert {m.partition(".")[0] for m in modules} & HEAVY == set()
    if args == ["--help"]:
        assert "yaml" not in modules


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert outcome.code == 0
    assert "_AGENTBREEDER_COMPLETE" in outcome.out


def test_the_shell_completes_command_names(run_process: Run) -> None:
    outcome = run_process(
        env={"_AGENTBREEDER_COMPLETE": "bash_complete", "COMP_WORDS": "agentbreeder sta", "COMP_CWORD": "1"}
    )
    assert outcome.out.strip() == "plain,status"
