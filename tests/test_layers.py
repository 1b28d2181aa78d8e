"""What is loaded when, and that a new package is wired everywhere. Who may import whom is import-linter's part."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import pytest_socket

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOL: dict[str, Any] = PROJECT["tool"]
ROOTS: list[str] = TOOL["hatch"]["build"]["dev-mode-dirs"]
SDKS = {"boto3", "botocore", "google", "azure", "sqlalchemy", "fastapi", "moto"}
HEAVY = SDKS | {"pydantic", "rich", "tenacity", "flask", "werkzeug", "requests"}

# What the interpreter itself has loaded is taken first: a .pth file of some other package may import at start-up.
PROBE = """
import json, runpy, sys
before = set(sys.modules)
what, report, *arguments = sys.argv[1:]
code = 0
try:
    if what == "run":
        sys.argv = ["agentbreeder", *arguments]
        runpy.run_module("agentbreeder_cli", run_name="__main__", alter_sys=True)
    else:
        for name in arguments:
            __import__(name)
except SystemExit as end:
    code = end.code or 0
with open(report, "w") as file:
    json.dump({"code": code, "loaded": sorted({name.split(".")[0] for name in set(sys.modules) - before})}, file)
"""

BYO_AGENT = """\
name: support
version: 1.0.0
memory: {backend_url: "rediss://cache.example.com:6379/0"}
deploy: {cloud: aws, region: us-east-1}
"""


def child(*arguments: str | Path, cwd: Path, python_path: str = "") -> subprocess.CompletedProcess[str]:
    """Python in a process of its own that finds the source roots whether or not the project is installed."""
    path = os.pathsep.join([python_path, *(str(ROOT / root) for root in ROOTS)]).lstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def loaded_by(folder: Path, what: str, *arguments: str | Path) -> set[str]:
    """The top-level names of the modules that a command (`run`) or an `import` loads; it must succeed."""
    report = folder / "loaded.json"
    done = child("-c", PROBE, what, report, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(report.read_text())
    assert outcome["code"] == 0, done.stdout + done.stderr
    return set(outcome["loaded"])


@pytest.fixture
def byo_agent(tmp_path: Path) -> Path:
    path = tmp_path / "agent.yaml"
    path.write_text(BYO_AGENT, encoding="utf-8")
    return path


def test_help_loads_no_cloud_sdk_and_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_by(tmp_path, "run", "--help")
    assert "click" in loaded
    assert not loaded & HEAVY


def test_plan_on_a_url_of_ones_own_loads_no_cloud_sdk_and_nothing_heavy(tmp_path: Path, byo_agent: Path) -> None:
    loaded = loaded_by(tmp_path, "run", "plan", byo_agent)
    assert "agentbreeder_provisioners" in loaded
    assert not loaded & HEAVY


def test_plan_as_json_loads_no_cloud_sdk_and_nothing_heavy(tmp_path: Path, byo_agent: Path) -> None:
    assert not loaded_by(tmp_path, "run", "plan", "--json", byo_agent) & HEAVY


def test_importing_substrate_loads_no_cloud_sdk_and_nothing_of_the_deploying_side(tmp_path: Path) -> None:
    loaded = loaded_by(tmp_path, "import", "substrate", "agentbreeder_memory")
    assert "substrate" in loaded
    assert not loaded & SDKS
    assert {name for name in loaded if name.startswith("agentbreeder_")} <= {"agentbreeder_memory", "agentbreeder_core"}


def test_importing_the_use_cases_and_every_cloud_loads_no_cloud_sdk(tmp_path: Path) -> None:
    names = ["agentbreeder_provisioners.deploying", "agentbreeder_provisioners.clouds", "agentbreeder_service"]
    loaded = loaded_by(tmp_path, "import", *names)
    assert "agentbreeder_provisioners" in loaded
    assert not loaded & HEAVY


def test_the_pytest_plugin_costs_other_test_suites_no_import(tmp_path: Path) -> None:
    loaded = loaded_by(tmp_path, "import", "agentbreeder_sandbox.pytest_plugin")
    assert {name for name in loaded if name.startswith("agentbreeder_")} == {"agentbreeder_sandbox"}
    assert not loaded & HEAVY


def test_a_users_own_state_and_resolver_modules_do_not_break_the_command(tmp_path: Path, byo_agent: Path) -> None:
    for name in ("state", "resolver", "provisioners", "core", "runtime", "service", "cli", "sandbox", "memory"):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('the user\\'s own {name}.py was imported')\n")
    done = child("-m", "agentbreeder_cli", "plan", byo_agent, cwd=tmp_path, python_path=".")
    assert done.returncode == 0, done.stderr


def test_every_package_is_wired_into_the_wheel_the_types_and_the_layers() -> None:
    packages = {
        path.parent.relative_to(ROOT).as_posix() for root in ROOTS for path in (ROOT / root).glob("*/__init__.py")
    }
    names = {package.split("/")[1] for package in packages}
    assert set(TOOL["hatch"]["build"]["targets"]["wheel"]["packages"]) == packages
    assert set(TOOL["mypy"]["packages"]) == names
    assert set(TOOL["importlinter"]["root_packages"]) == names
    assert set(TOOL["mypy"]["mypy_path"]) == set(ROOTS)
    assert set(ROOTS) <= set(TOOL["ruff"]["src"])
    assert set(ROOTS) <= set(TOOL["pytest"]["ini_options"]["pythonpath"])
    assert all((ROOT / package / "py.typed").exists() for package in packages)


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    wanted = [*PROJECT["project"]["dependencies"], *chain(*PROJECT["project"]["optional-dependencies"].values())]
    names = {text.split("[")[0].split(">")[0].split("=")[0].strip().lower() for text in wanted}
    assert [name for name in sorted(names) if f"| {name} |" not in page and name != "agentbreeder-memory"] == []


def test_the_pins_name_every_direct_dependency_of_the_development_set_up() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.count("==") != 1 or " " in line] == []
    pinned = {line.split("==")[0].lower() for line in lines}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["aws"], *extras["sandbox"], *extras["dev"]]
    names = {text.split("[")[0].split(">")[0].split("=")[0].strip().lower() for text in wanted}
    assert names - pinned == {"agentbreeder-memory"}


@pytest.mark.filterwarnings("ignore:A test tried to use")
def test_a_test_reaches_no_address_but_the_two_of_loopback() -> None:
    with pytest.raises(pytest_socket.SocketConnectBlockedError), socket.socket() as out:
        out.connect(("127.0.0.2", 9))  # not on the list, and harmless should the block ever be gone
