"""How this run talks: text or JSON, with or without tracebacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Read from the raw arguments, so that even a mistyped option is reported in the form that was asked for."""

    json: bool = False
    debug: bool = False

    @classmethod
    def of(cls, args: Sequence[str]) -> Mode:
        """`--json` and `--debug` anywhere before a bare `--`."""
        options = args[: args.index("--")] if "--" in args else args
        return cls(json="--json" in options, debug="--debug" in options)
