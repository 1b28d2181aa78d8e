"""All benchmarks, or those named on the command line (see `BENCHMARKS`): ratios and medians on stdout."""

from __future__ import annotations

import sys

from imports import imports
from makespan import makespan
from resolve_speed import resolve_speed
from saves import saves
from scale import scale
from startup import startup
from stores import stores
from turns import turns

from service import service

BENCHMARKS = {
    "startup": startup,
    "imports": imports,
    "resolve": resolve_speed,
    "makespan": makespan,
    "saves": saves,
    "turns": turns,
    "stores": stores,
    "service": service,
    "scale": scale,
}


def main() -> None:
    """Run the ones named on the command line, or all."""
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"== {name}")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
