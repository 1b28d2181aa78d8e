"""What is recorded, beside what the cloud says."""

from __future__ import annotations

from collections.abc import Sequence

from agentbreeder_provisioners.results import AgentStatus, ResourceStatus

from . import out
from .text import Colour, clean, columns, paint, paragraph

_BAD = frozenset({"missing", "drifted"})


def show(agents: Sequence[AgentStatus], next_commands: Sequence[str]) -> None:
    """One block per agent on stdout; what to do about trouble as talk."""
    for i, agent in enumerate(agents):
        if i:
            out.data("")
        _show_agent(agent)
    if not agents:
        out.data("no agents recorded")
    if next_commands:
        out.talk()
        for command in next_commands:
            out.talk(f"Next: {command}")


def show_json(agents: Sequence[AgentStatus]) -> None:
    """All agents as one document."""
    out.document({"agents": [a.to_json() for a in agents]})


def _show_agent(agent: AgentStatus) -> None:
    place = " ".join(p for p in (agent.cloud, agent.account, agent.region) if p)
    words, colour = _verdict(agent)
    out.data(f"{paint(clean(agent.agent), 'bold')}: {paint(words, colour)} ({clean(place)})")
    if not agent.resources:
        return
    rows = columns([_row(r, agent.refreshed) for r in agent.resources])
    for row, status in zip(rows, agent.resources, strict=True):
        out.data(row)
        for note in (status.note, status.resource.last_error):
            for line in paragraph(note, indent=6) if note else ():
                out.data(line)


def _verdict(agent: AgentStatus) -> tuple[str, Colour]:
    if not agent.resources:
        return "nothing made", "dim"
    if agent.healthy:
        return ("ready" if agent.refreshed else "recorded as ready"), "green"
    if any(r.seen in _BAD for r in agent.resources):
        return "differs from the cloud", "red"
    return "not finished", "yellow"


def _row(status: ResourceStatus, refreshed: bool) -> tuple[str, ...]:
    resource = status.resource
    phase = f"{resource.phase}, unused" if resource.unused else resource.phase
    seen = (f"cloud: {status.seen}",) if refreshed else ()
    return (resource.step_id, phase, *seen, resource.name)
