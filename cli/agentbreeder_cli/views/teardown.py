"""What is deleted, in order, and what is left."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agentbreeder_provisioners.results import Teardown
from agentbreeder_state.record import Resource

from . import out
from .text import clean, columns, count, paint


def show(done: Teardown) -> None:
    """The result as data on stdout."""
    if done.nothing_left:
        out.data(f"{clean(done.agent)}: nothing to delete")
        return
    if done.dry_run:
        for line in planned_lines(done):
            out.data(line)
        out.data("")
        out.data("Nothing was deleted: this is a dry run.")
        return
    out.data(
        f"{paint(clean(done.agent), 'bold')}: {count(len(done.deleted), 'resource')} deleted, none of them remains"
    )
    for name in done.kept:
        out.data(f"  kept: {clean(name)}")


def show_before(planned: Teardown) -> None:
    """What will go, on stderr, before the question."""
    for line in planned_lines(planned):
        out.talk(line)
    out.talk()


def planned_lines(planned: Teardown) -> list[str]:
    """A heading and the resources in the order they go."""
    place = " ".join(p for p in (planned.cloud, planned.account, planned.region) if p)
    head = f"To be deleted for {clean(planned.agent)} ({clean(place)}), in this order"
    return [paint(head, "bold", sys.stderr if not planned.dry_run else sys.stdout), *_rows(planned.planned)]


def _rows(resources: Sequence[Resource]) -> list[str]:
    if not resources:
        return []
    return columns([("-", r.step_id, r.name, "adopted" if r.ownership == "adopted" else "") for r in resources])
