"""A step: one idempotent unit of a deploy, as pure data. A list of them is what `plan` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

PREFLIGHT = "preflight"
"""Pseudo step id: `Ref(PREFLIGHT, "vpc_id")` reads a fact that the read-only checks found."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A value that an earlier step puts out, known only while deploying."""

    step: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`inputs` is JSON plus `Ref`; it never holds a secret. `timeout_s` bounds create and wait together, in seconds.

    `always` steps are checked again at every deploy even when recorded ready (a vault value that may have changed).
    `part_of` names the step whose resource this one lives in (a value inside a secret): it has no name to be taken.
    """

    id: str
    kind: str
    name: str
    why: str
    needs: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 300.0
    always: bool = False
    part_of: str = ""


def resolve_refs(inputs: Mapping[str, Any], outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Put recorded outputs in the place of each `Ref`.

    Raises `KeyError` when a needed output is missing: a fault of the step list, not of the user.
    """
    return {k: outputs[v.step][v.output] if isinstance(v, Ref) else v for k, v in inputs.items()}


def changed_inputs(step: Step, recorded: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Which plain inputs differ from what was recorded at creation: name -> (recorded, asked). Refs are left out."""
    return {
        k: (recorded.get(k), v)
        for k, v in sorted(step.inputs.items())
        if not isinstance(v, Ref) and k in recorded and recorded[k] != v
    }


def in_order(steps: Iterable[Step]) -> list[Step]:
    """The steps sorted so that each comes after what it needs; otherwise in the order given."""
    by_id = {s.id: s for s in steps}
    try:
        order = TopologicalSorter({s.id: s.needs for s in by_id.values()}).static_order()
        return [by_id[i] for i in order if i in by_id]
    except CycleError as e:
        raise ValueError(f"steps need each other in a circle: {e.args[1]}") from e
