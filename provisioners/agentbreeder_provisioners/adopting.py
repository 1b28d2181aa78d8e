"""Which lineage a run works under: the state's own, a new one, or one found in the tags of what is adopted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import uuid4

from agentbreeder_core.errors import StateConflict
from agentbreeder_state.record import InfraState
from agentbreeder_state.store import StateStore


def lineage_to_use(state: InfraState | None, *, adopt_from: Collection[str] = ()) -> str:
    """The lineage to tag with. With `adopt_from` the state history is picked up where its tags left it.

    Raises `StateConflict` when that cannot be done without mixing two histories.
    """
    if not adopt_from:
        return state.lineage if state else str(uuid4())
    if len(adopt_from) > 1:
        raise StateConflict(f"the resources found belong to {len(adopt_from)} different states; adopt them by hand")
    (lineage,) = adopt_from
    if state is not None and state.agents and state.lineage != lineage:
        raise StateConflict(
            f"this folder's state has lineage {state.lineage}, the resources found have {lineage}",
            hint="adopt into an empty folder: copy agent.yaml there and run agentbreeder deploy --adopt",
        )
    return lineage


def settle_lineage(store: StateStore, lineage: str, *, adopted: bool) -> str:
    """Write the lineage down before the first resource carries it, and return the one that counts.

    Of several first deploys in one folder at once, the first to get here decides for all. Raises `StateConflict` when
    an adopted lineage came too late.
    """
    saved = store.update(lambda s: s if s.agents or (s.serial and not adopted) else replace(s, lineage=lineage))
    if adopted and saved.lineage != lineage:
        raise StateConflict(f"{store.location}: another run started a state of its own here in the meantime")
    return saved.lineage
