"""What the container gets: plain values as they are, secrets as the place they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from .text import columns, paint


def variable_lines(env: Mapping[str, str], secrets: Mapping[str, str], stream: TextIO) -> list[str]:
    """An aligned list under a heading. `secrets` maps a name to words about its source."""
    if not env and not secrets:
        return ["The container gets no variables from this product."]
    rows = [(name, value) for name, value in env.items()]
    rows += [(name, f"<- {source}") for name, source in secrets.items()]
    return [paint("The container gets", "bold", stream), *columns(sorted(rows))]
