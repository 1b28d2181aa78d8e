"""A real process that ends with `os._exit` in the middle of a deploy: no `finally`, no `atexit`, no flushed buffer."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

GONE = 137  # what a shell reports for a process that was killed
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["boto3", "tenacity", "agentbreeder_provisioners.deploying"])


def in_a_child(path: Path, network_env: Mapping[str, str], n: int, after: bool) -> int:
    """Deploy in a process of its own that vanishes at its n-th API call; its exit code (0: it came to the end)."""
    process = _CONTEXT.Process(target=_deploy, args=(path, dict(network_env), dict(os.environ), n, after))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        raise AssertionError("the child hangs")
    return process.exitcode


def _deploy(path: Path, network_env: dict[str, str], environ: dict[str, str], n: int, after: bool) -> None:
    os.environ.update(environ)
    from agentbreeder_provisioners import deploy
    from support.deaths import Points, api_calls

    points = Points(n, lambda: os._exit(GONE))
    with api_calls(pytest.MonkeyPatch(), points, after=after):
        deploy(path, network_env=network_env)
