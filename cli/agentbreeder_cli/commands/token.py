"""`agentbreeder token`."""

from __future__ import annotations

import click

from ..mode import Mode
from ..options import common_options


@click.group("token")
def command() -> None:
    """Tokens for the memory service, for small installs.

    \b
    Example:
      agentbreeder token create --team payments --subject ann
    """


@command.command("create")
@click.option("--team", required=True, metavar="TEAM", help="Whose memory it opens.")
@click.option("--subject", required=True, metavar="NAME", help="Who holds it, for a person or a program.")
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="admin may write every memory of the team.")
@click.option("--agent", metavar="AGENT", help="It is an agent's, which writes its own memory.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True, max=365), default=30.0, show_default=True)
@common_options
@click.pass_obj
def create(mode: Mode, team: str, subject: str, roles: tuple[str, ...], agent: str | None, days: float) -> None:
    """Print a token, signed with AGENTBREEDER_JWT_SECRET.

    The token is a secret: whoever has it is whom it names. It cannot be called back before it ends.

    \b
    Example:
      agentbreeder token create --team payments --subject triage --agent triage --days 7
    """
    import os
    from datetime import timedelta
    from math import isfinite

    from agentbreeder_core.errors import ConfigError, MissingExtra

    from ..views import out

    try:
        from agentbreeder_service.models import is_team
        from agentbreeder_service.settings import token_settings
        from agentbreeder_service.tokens import create_token
    except ImportError as e:
        raise MissingExtra(
            f"tokens need {e.name}, which is not installed", hint="pip install 'agentbreeder-memory[service]'"
        ) from e

    for what, name in (("--team", team), ("--agent", agent)):
        if name is not None and not is_team(name):
            raise ConfigError(f"{what} {name[:60]!r} is not 1 to 128 letters, digits and _.@-", hint="change the name")
    if not subject.strip() or not isfinite(days):  # NaN is a number to click
        raise ConfigError("--subject is not empty, and --days is a number", hint="agentbreeder token create --help")
    settings = token_settings(os.environ)
    made = create_token(
        settings, subject=subject, team=team, roles=roles, agent_id=agent or "", lifetime=timedelta(days=days)
    )
    if mode.json:
        out.document({"token": made, "expires_in_s": round(days * 86400)})
    else:
        out.data(made)
