"""Questions: never where nobody can answer, and a wrong answer changes nothing."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from agentbreeder_sandbox.aws.server import AwsSandbox

from .conftest import Outcome, Run, command_of, variables
from .test_deploy import standing


def on_a_terminal(*args: str | Path, answers: str, env: dict[str, str] | None = None) -> Outcome:
    """Run a command with stdin and stderr on a terminal; `err` is what the terminal showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command_of(*args),
        env=variables(TERM="xterm", COLUMNS="80", LINES="30", **(env or {})),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answers.encode())
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        shown += part
    assert process.stdout is not None
    out = process.stdout.read()
    process.stdout.close()
    code = process.wait(60)
    os.close(ours)
    return Outcome(code, out, shown.decode())


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_e10_without_a_terminal_and_yes_deploy_fails_at_once(
    run: Run, cloud: AwsSandbox, agent_file: Path, options: list[str]
) -> None:
    outcome = run("deploy", agent_file, *options)
    assert outcome.code == 2
    assert "--yes" in outcome.text
    assert cloud.calls == []
    if options:
        assert outcome.error["code"] == "ConfirmationNeeded"


def test_e10_without_a_terminal_and_yes_teardown_fails_at_once(run: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    run("deploy", agent_file, "--yes")
    before, calls = standing(cloud), len(cloud.calls)
    outcome = run("teardown", "support", "--project-dir", agent_file.parent)
    assert outcome.code == 2
    assert "error: this needs confirmation" in outcome.err
    assert len(cloud.calls) == calls
    assert standing(cloud) == before


def test_a_piped_answer_is_no_answer(run_process: Run, cloud: AwsSandbox, agent_file: Path) -> None:
    outcome = run_process("deploy", agent_file, stdin="y\n")
    assert outcome.code == 2
    assert cloud.calls == []


@pytest.mark.parametrize("answers", ["n\n", "\n", "maybe\n", "\x04"])
def test_anything_but_yes_makes_nothing(cloud: AwsSandbox, agent_file: Path, answers: str) -> None:
    before = standing(cloud)
    outcome = on_a_terminal("deploy", agent_file, answers=answers)
    assert outcome.code == 2
    assert "Go on with 5 steps to make? [y/N]" in outcome.err
    assert "nothing was changed" in outcome.err
    assert standing(cloud) == before


def test_yes_deploys_with_live_rows_and_gives_the_cursor_back(cloud: AwsSandbox, agent_file: Path) -> None:
    outcome = on_a_terminal("deploy", agent_file, answers="y\n")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("support: deployed, 5 steps done")
    assert "aws/postgres/instance" in outcome.err
    assert "created" in outcome.err
    assert outcome.err.count("\x1b[?25l") == outcome.err.count("\x1b[?25h") > 0
    assert "\x1b[32m" in outcome.err


def test_no_color_means_no_colour_on_a_terminal_either(cloud: AwsSandbox, agent_file: Path) -> None:
    outcome = on_a_terminal("deploy", agent_file, answers="y\n", env={"NO_COLOR": "1"})
    assert outcome.code == 0
    for code in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"):
        assert code not in outcome.err


@pytest.mark.parametrize(("answers", "deleted"), [("suport\n", False), ("y\n", False), ("support\n", True)])
def test_teardown_wants_the_agents_name_typed(
    run: Run, cloud: AwsSandbox, agent_file: Path, answers: str, deleted: bool
) -> None:
    before = standing(cloud)
    run("deploy", agent_file, "--yes")
    outcome = on_a_terminal("teardown", "support", "--project-dir", agent_file.parent, answers=answers)
    assert outcome.code == (0 if deleted else 2)
    assert "Type the agent's name" in outcome.err
    assert (standing(cloud) == before) == deleted
