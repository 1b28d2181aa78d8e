"""What holds for every test: no network beyond this machine, and nothing of the developer's own cloud set-up.

Sockets are limited to loopback by pytest-socket (`addopts` in pyproject.toml). The variables and the home folder are
for what a socket block cannot see: child processes, and credentials that would silently change a test's outcome.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import pytest

_OURS = ("AGENTBREEDER_", "AWS_", "AZURE_", "GOOGLE_", "GCP_", "CLOUDSDK_")
_OF_THE_TERMINAL = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def pytest_collection_finish() -> None:
    """Thousands of tests and a dozen SDKs stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def a_machine_without_clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty home folder, no cloud variables, no proxies, and no look-up of credentials on a metadata server."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_OURS) or name in _OF_THE_TERMINAL or name.upper() in _PROXIES:
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def service_models_read_once() -> Iterator[None]:
    """Every deploy makes its own boto3 session; the JSON models behind them are read once per test process.

    Without this, reading them is more than half of the suite's time.
    """
    import botocore.loaders
    import botocore.session

    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", lambda *a, **k: loader)
        yield


@pytest.fixture
def say_points(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Have the summary print how many points of failure a row of the kill matrix went through (also under xdist)."""
    return lambda row, count: record_property("points", (row, count))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The rows of the kill matrix with their points, after the run."""
    reports = terminalreporter.getreports("passed")
    rows = [v for r in reports if r.when == "call" for k, v in r.user_properties if k == "points"]
    if not rows:
        return
    terminalreporter.section("points of failure: each rerun ended with one of each, each teardown with nothing left")
    for row, count in sorted(rows):
        terminalreporter.write_line(f"{count:>5}  {row}")
    terminalreporter.write_line(f"{sum(count for _, count in rows):>5}  in all")
