"""(c) Both stores on virtual time with real durations: makespan against the longest single chain. Goal: 1.00."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

from agentbreeder_provisioners import deploy
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.clocks import VirtualClock

BOTH = "memory: {backend: redis}\nknowledge_bases: [{ref: kb/docs}]"
ALONE = {"postgres": "memory: {backend: postgresql}", "redis": "memory: {backend: redis}"}


def _run(sandbox: AwsSandbox, body: str) -> tuple[float, Counter[str]]:
    sandbox.reset(clock=VirtualClock())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.yaml"
        path.write_text(f"name: a\n{body}\ndeploy: {{cloud: aws, region: us-east-1}}\n")
        deploy(path, clock=sandbox.clock, network_env=sandbox.network_env())
    return sandbox.clock.monotonic(), Counter(c.operation for c in sandbox.calls)


def makespan() -> None:
    """The chains alone give the longest; then both together. Poll jitter is seeded by name, so it is the same in both."""
    with AwsSandbox(VirtualClock()) as sandbox:
        os.environ.update(sandbox.env())
        runs = {name: [_run(sandbox, body) for _ in range(3)] for name, body in {**ALONE, "both": BOTH}.items()}
    shortest = {name: min(seconds for seconds, _ in done) for name, done in runs.items()}
    longest = max(shortest[n] for n in ALONE)
    print(f"longest chain {longest:.0f} s, both {shortest['both']:.0f} s   ratio {shortest['both'] / longest:.2f}")
    for name, done in runs.items():
        calls = done[0][1]
        polls = sum(n for op, n in calls.items() if op in ("DescribeDBInstances", "DescribeReplicationGroups"))
        print(f"{name}: {sum(calls.values())} API calls, {polls} of them status polls")
        print("   " + ", ".join(f"{op} {n}" for op, n in sorted(calls.items())))
