"""(c) Both stores on virtual time with real durations: makespan against the longest single chain. Goal: 1.00 on each cloud.

And the API calls of each deploy, with how many of them only read.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

from agentbreeder_provisioners import deploy
from agentbreeder_sandbox.clocks import VirtualClock
from agentbreeder_sandbox.standin import STAND_INS, Sandbox, sandbox_of

BOTH = "memory: {backend: redis}\nknowledge_bases: [{ref: kb/docs}]"
ALONE = {
    "postgres": "memory: {backend: postgresql}\nknowledge_bases: [{ref: kb/docs}]",
    "redis": "memory: {backend: redis}",
}


def _run(sandbox: Sandbox, cloud: str, body: str) -> tuple[float, Counter[tuple[str, bool]]]:
    clock = VirtualClock()
    sandbox.reset(clock=clock)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.yaml"
        path.write_text(f"name: a\n{body}\ndeploy: {{cloud: {cloud}, region: {STAND_INS[cloud].region}}}\n")
        deploy(path, clock=clock, network_env=sandbox.network_env())
    return clock.monotonic(), Counter((c.operation, c.read) for c in sandbox.calls)


def makespan() -> None:
    """The chains alone give the longest; then both together. Poll jitter is seeded by name, so it is the same in both."""
    for cloud, stand_in in STAND_INS.items():
        with sandbox_of(cloud, VirtualClock()) as sandbox:
            os.environ.update(sandbox.env())
            runs = {n: [_run(sandbox, cloud, body) for _ in range(3)] for n, body in {**ALONE, "both": BOTH}.items()}
        _show(stand_in.title, runs)


def _show(title: str, runs: dict[str, list[tuple[float, Counter[tuple[str, bool]]]]]) -> None:
    shortest = {name: min(seconds for seconds, _ in done) for name, done in runs.items()}
    longest = max(shortest[n] for n in ALONE)
    print(
        f"{title}: longest chain {longest:.0f} s, both {shortest['both']:.0f} s   ratio {shortest['both'] / longest:.2f}"
    )
    for name, done in runs.items():
        calls = done[0][1]
        reads = sum(n for (_, read), n in calls.items() if read)
        print(f"  {name}: {sum(calls.values())} API calls, {reads} of them only read")
        print("     " + ", ".join(f"{op} {n}" for (op, _), n in sorted(calls.items())))
