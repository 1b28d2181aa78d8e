"""(a) What a command costs before it does anything, against importing pydantic and yaml. Goal: 2.5 at most."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 15
AGENT = "name: a\nmemory: {backend_url: 'redis://cache.example.com/0'}\ndeploy: {cloud: aws, region: us-east-1}\n"


def _once(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def startup() -> None:
    """Interleaved runs, so that a machine that slows down slows all three."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.yaml"
        path.write_text(AGENT)
        commands = {
            "import pydantic, yaml": [sys.executable, "-c", "import pydantic, yaml"],
            "agentbreeder --help": [sys.executable, "-m", "agentbreeder_cli", "--help"],
            "agentbreeder plan (own url)": [sys.executable, "-m", "agentbreeder_cli", "plan", str(path)],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for n in range(RUNS + 2):
            for name, command in commands.items():
                seconds = _once(command)
                if n > 1:
                    times[name].append(seconds)
    base = times["import pydantic, yaml"]
    for name, seconds in times.items():
        ratio = statistics.median(s / b for s, b in zip(seconds, base, strict=True))
        print(f"{name:<30} median {statistics.median(seconds) * 1000:6.1f} ms   ratio {ratio:.2f}")
