"""`agentbreeder schema`."""

from __future__ import annotations

import click

from ..options import common_options


@click.command("schema")
@common_options
def command() -> None:
    """Print the JSON Schema of our part of agent.yaml.

    Draft 2020-12, for editors. Keys that other tools own are allowed and left alone.

    \b
    Example:
      agentbreeder schema > agent.schema.json
    """
    from agentbreeder_resolver import agent_schema

    from ..views import out

    out.document(agent_schema())
