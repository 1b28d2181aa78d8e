"""Resolve agent text as a user would: from a file, with everything it says or refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbreeder_core.errors import ConfigError
from agentbreeder_resolver import MemoryPlan, resolve_path

Resolve = Callable[..., MemoryPlan]
Refused = Callable[..., ConfigError]


@pytest.fixture
def resolved(tmp_path: Path) -> Resolve:
    """Write agent.yaml (and memory.yaml) and resolve them."""

    def run(text: str | bytes, *, configs: str = "", strict: bool = False) -> MemoryPlan:
        path = tmp_path / "agent.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if configs:
            (tmp_path / "memory.yaml").write_text(configs)
        return resolve_path(path, strict=strict)

    return run


@pytest.fixture
def refused(resolved: Resolve) -> Refused:
    """The same, for text that must be refused; returns the error."""

    def run(text: str | bytes, **kw: object) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            resolved(text, **kw)
        return caught.value

    return run


def said(error: ConfigError) -> str:
    """Everything an error would show."""
    lines = [error.detail, error.hint, *(f"{p.where()} {p.key} {p.message} {p.code}" for p in error.problems)]
    return "\n".join(lines)


def agent(url: str = "", *, cloud: str = "aws", more: str = "", region: str = "us-east-1") -> str:
    """A small agent file around a backend_url."""
    memory = f"memory:\n  backend_url: {url}\n" if url else ""
    return f"name: a\n{memory}{more}deploy:\n  cloud: {cloud}\n  region: {region}\n"
