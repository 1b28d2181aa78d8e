"""Ownership is proved by tags written in the create call, never by a name alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MANAGED_BY = "managed-by"
TOOL = "agentbreeder"
AGENT, TEAM, LINEAGE = "agentbreeder:agent", "agentbreeder:team", "agentbreeder:lineage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who a resource belongs to. `lineage` ties it to one state history."""

    agent: str
    team: str
    lineage: str

    def tags(self) -> dict[str, str]:
        """The tags every resource carries. A cloud with narrower label rules maps them in its own folder."""
        return {MANAGED_BY: TOOL, AGENT: self.agent, TEAM: self.team, LINEAGE: self.lineage}

    def owns(self, tags: Mapping[str, str]) -> bool:
        """True only when every one of our tags is there with our value."""
        return all(tags.get(k) == v for k, v in self.tags().items())


def unreadable(tags: Mapping[str, str]) -> bool:
    """Nothing tells whose it is: somebody else's without tags, or ours whose tags the cloud does not show yet."""
    return MANAGED_BY not in tags


def same_agent(owner: Owner, tags: Mapping[str, str]) -> str:
    """The lineage of a resource made by this tool for this agent and team under another state; "" if it is not one."""
    ours = tags.get(MANAGED_BY) == TOOL and tags.get(AGENT) == owner.agent and tags.get(TEAM) == owner.team
    return tags.get(LINEAGE, "") if ours else ""


def whose(tags: Mapping[str, str]) -> str:
    """For an error: whose a found resource looks like, in a few words."""
    if not tags:
        return "it carries no tags"
    if tags.get(MANAGED_BY) != TOOL:
        return f"it is managed by {tags[MANAGED_BY]!r}" if tags.get(MANAGED_BY) else "it does not carry our tags"
    agent, team, lineage = tags.get(AGENT, "?"), tags.get(TEAM, ""), tags.get(LINEAGE, "?")
    return f"it belongs to agent {agent!r}{f' of team {team!r}' if team else ''}, state lineage {lineage}"
