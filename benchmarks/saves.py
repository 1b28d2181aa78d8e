"""(d) Milliseconds per state save with 1, 50 and 500 agents. Goal: at most linear in the size of the file."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from agentbreeder_state import FileStateStore, InfraState, decode

SAVES = 15
FIXTURE = Path(__file__).parents[1] / "fixtures" / "state" / "v1.json"


def saves() -> None:
    """Each agent is the recorded real one of the format fixture, under another name."""
    (one,) = decode(FIXTURE.read_bytes(), location=str(FIXTURE)).agents.values()
    base: tuple[float, int] | None = None
    for count in (1, 50, 500):
        with tempfile.TemporaryDirectory() as folder:
            store = FileStateStore(Path(folder))
            agents = {f"agent-{n}": replace(one, agent=f"agent-{n}") for n in range(count)}
            store.update(lambda s, a=agents: InfraState(lineage=s.lineage, serial=0, tool_version="", agents=a))  # type: ignore[misc]
            times = []
            for _ in range(SAVES):
                started = time.perf_counter()
                store.update(lambda s: s)
                times.append(time.perf_counter() - started)
            size = Path(store.location).stat().st_size
        median = statistics.median(times)
        base = base or (median, size)
        growth = f"time x{median / base[0]:.1f}, size x{size / base[1]:.1f}"
        print(f"{count:>4} agents: {median * 1000:7.2f} ms per save, {size / 1024:7.0f} KiB   {growth}")
