"""Agent files for tests, small and readable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SCENARIOS = {
    "postgres": "memory: {backend: postgresql}",
    "redis": "memory: {backend: redis}",
    "both": "memory: {backend: redis, provision: {tls: true}}\nknowledge_bases: [{ref: kb/docs}]",
    "shared": "memory: {backend: postgresql}\nknowledge_bases: [{ref: kb/docs}]",
}

REGIONS = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}


def write_agent(
    folder: Path, body: str, *, name: str = "support", cloud: str = "aws", env: Mapping[str, str] | None = None
) -> Path:
    """An agent.yaml for `cloud` with this memory part, and `env` as its `deploy.env_vars`; returns its path."""
    variables = "{" + ", ".join(f"{k}: {v!r}" for k, v in (env or {}).items()) + "}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.yaml"
    path.write_text(
        f"name: {name}\nversion: 1.0.0\nteam: care\n{body}\n"
        f"deploy: {{cloud: {cloud}, region: {REGIONS[cloud]}, env_vars: {variables}}}\n"
    )
    return path
