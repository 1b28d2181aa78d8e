"""The two agents of the demo, in a folder of their own."""

from __future__ import annotations

from pathlib import Path

SUPPORT_BOT = """\
name: support-bot
version: 1.0.0
team: care
memory:
  backend: postgresql          # no backend_url: one is made
knowledge_bases:
  - ref: handbook              # pgvector, in the same instance
deploy:
  cloud: {cloud}
  region: {region}
"""
ROUTER_BOT = """\
name: router-bot
version: 1.0.0
team: care
memory:
  backend: redis
deploy:
  cloud: {cloud}
  region: {region}
"""
AGENTS = {"support-bot": SUPPORT_BOT, "router-bot": ROUTER_BOT}


def agents_for(cloud: str, region: str) -> dict[str, str]:
    """The text of each agent file; only the last two lines differ between clouds."""
    return {name: text.format(cloud=cloud, region=region) for name, text in AGENTS.items()}


def write_agents(folder: Path, agents: dict[str, str]) -> None:
    """`<folder>/<agent>/agent.yaml` for each."""
    for name, text in agents.items():
        (folder / name).mkdir()
        (folder / name / "agent.yaml").write_text(text, encoding="utf-8")
