"""docs/cli.md and docs/errors.md say what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from agentbreeder_core import errors

ROOT = Path(__file__).parents[2]


def test_the_command_page_is_what_help_prints() -> None:
    wanted = runpy.run_path(str(ROOT / "tools" / "gen_docs.py"))["page"]()
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == wanted


def test_the_error_page_has_every_error_with_its_summary_and_exit_code() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = re.findall(r"### (\w+)\n\nSummary: `([^`]+)`\. Exit code (\d+)", text)
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.AgentBreederError)]
    assert {(name, summary, int(code)) for name, summary, code in sections} == {
        (c.__name__, c.summary, c.exit_code) for c in classes
    }
    assert len(sections) == len(classes)


def test_every_exit_code_is_in_the_table() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.AgentBreederError)]
    for code in {c.exit_code for c in classes} | {0, 70, 143, 141}:
        assert re.search(rf"^\| [\d, ]*\b{code}\b", text, re.MULTILINE), code
