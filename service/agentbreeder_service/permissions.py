"""Who may do what with a config's messages. Every rule is here, and the service asks it in every method."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import Forbidden, NotFound
from .models import Config
from .namespaces import Part, all_of, part_of
from .principals import ADMIN

WHAT = "memory config"


def is_admin(config: Config, team: str, roles: frozenset[str]) -> bool:
    """Of the config's own team."""
    return ADMIN in roles and team == config.team


def check_visible(config: Config, team: str | None, roles: frozenset[str]) -> None:
    """Raises `PermissionError` (`Forbidden`) for a team's config without that team, and `NotFound` for an agent's config of
    another team, whose existence is nobody else's business."""
    if config.scope == "global" and team:
        return
    if config.scope == "team" and team != config.team:
        raise Forbidden
    if team != config.team:
        raise NotFound(WHAT)


def check_change(config: Config, team: str | None, agent: str, roles: frozenset[str]) -> None:
    """Changing and deleting a config is for people of its team; of a global one, for admins of its team."""
    check_visible(config, team, roles)
    if team != config.team or agent or (config.scope == "global" and ADMIN not in roles):
        raise Forbidden


def readable(config: Config, team: str | None, agent: str, roles: frozenset[str]) -> Part:
    """The namespaces that the caller may read."""
    check_visible(config, team, roles)
    if config.scope != "agent" or not agent or agent in config.linked_agents or is_admin(config, team or "", roles):
        return all_of(config)
    return part_of(config, {"agent_id": agent})


def check_read(config: Config, team: str | None, agent: str, roles: frozenset[str], values: Mapping[str, str]) -> None:
    """Of one session. An agent that is not linked reads its own only."""
    check_visible(config, team, roles)
    if config.scope != "agent" or not agent or agent in config.linked_agents or is_admin(config, team or "", roles):
        return
    if values.get("agent_id") != agent:
        raise Forbidden


def check_write(config: Config, team: str | None, agent: str, roles: frozenset[str], values: Mapping[str, str]) -> None:
    """The owning agent writes its own; a team writes its shared memory; linked agents and admins write a global one."""
    check_visible(config, team, roles)
    if is_admin(config, team or "", roles):
        return
    if config.scope == "global":
        # A linked agent is one of the config's own team: names of agents are unique within a team only.
        allowed = team == config.team and agent in config.linked_agents
    elif config.scope == "team":
        allowed = True
    else:
        allowed = bool(agent) and values.get("agent_id") == agent
    if not allowed:
        raise Forbidden
