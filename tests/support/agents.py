"""Agent files for tests, small and readable."""

from __future__ import annotations

from pathlib import Path

SCENARIOS = {
    "postgres": "memory: {backend: postgresql}",
    "redis": "memory: {backend: redis}",
    "both": "memory: {backend: redis, provision: {tls: true}}\nknowledge_bases: [{ref: kb/docs}]",
    "shared": "memory: {backend: postgresql}\nknowledge_bases: [{ref: kb/docs}]",
}

REGIONS = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}


def write_agent(folder: Path, body: str, *, name: str = "support", cloud: str = "aws") -> Path:
    """An agent.yaml for `cloud` with this memory part; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.yaml"
    path.write_text(
        f"name: {name}\nversion: 1.0.0\nteam: care\n{body}\ndeploy: {{cloud: {cloud}, region: {REGIONS[cloud]}}}\n"
    )
    return path
