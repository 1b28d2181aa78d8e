"""Who asks: a person or an agent of a team."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

ADMIN = "admin"


class Requesting(TypedDict):
    """The keyword arguments that every method of the service takes."""

    requesting_team: str | None
    requesting_agent: str
    requesting_roles: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """What a token says. An agent has an `agent_id`, a person has none."""

    subject: str
    team: str
    roles: frozenset[str] = frozenset()
    agent_id: str = ""

    def requesting(self) -> Requesting:
        """For the service's methods."""
        return {"requesting_team": self.team, "requesting_agent": self.agent_id, "requesting_roles": self.roles}
