"""What deploy would do, for a reader who decides."""

from __future__ import annotations

import sys
from typing import TextIO

from agentbreeder_provisioners.results import Change, PlanResult
from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore, SecretEnv, Store

from . import out
from .findings import finding_lines
from .text import Colour, clean, columns, count, paint, paragraph
from .variables import variable_lines

_MARK: dict[Change, tuple[str, Colour]] = {
    "create": ("+", "green"),
    "resume": ("~", "yellow"),
    "none": ("=", "dim"),
    "unused": ("?", "yellow"),
    "delete": ("-", "red"),
}


def show(result: PlanResult, next_command: str = "") -> None:
    """The plan as data on stdout; what to do next as talk."""
    for line in plan_lines(result, sys.stdout):
        out.data(line)
    if next_command:
        out.talk(f"\nNext: {next_command}")


def show_as_talk(result: PlanResult) -> None:
    """The same before a deploy, on stderr."""
    for line in plan_lines(result, sys.stderr):
        out.talk(line)
    out.talk()


def plan_lines(result: PlanResult, stream: TextIO) -> list[str]:
    """The whole plan: stores and why, steps, variables, unused resources, findings, and a sum."""
    plan = result.plan
    blocks = [
        [_headline(plan, stream)],
        _stores(plan, stream),
        _steps(result, stream),
        variable_lines(plan.env, {n: _source(s, plan) for n, s in plan.secret_env.items()}, stream),
        _unused(result, stream),
        finding_lines(result.findings, stream),
        [paint(_sum(result), "bold", stream)],
    ]
    lines: list[str] = []
    for block in blocks:
        if block:
            lines += ["", *block] if lines else block
    return lines


def changes_in_words(result: PlanResult) -> str:
    """`6 steps to make`, `2 steps to make, 1 to finish`; "" when there is nothing to do."""
    create = sum(s.change == "create" for s in result.steps)
    resume = sum(s.change == "resume" for s in result.steps)
    words = [f"{count(create, 'step')} to make"] if create else []
    words += [f"{resume if create else count(resume, 'step')} to finish"] if resume else []
    return ", ".join(words)


def _headline(plan: MemoryPlan, stream: TextIO) -> str:
    place = f"{plan.cloud} {plan.region}".strip()
    team = f", team {clean(plan.team)}" if plan.team else ""
    return f"{paint(clean(plan.agent), 'bold', stream)} on {clean(place)}{team}"


def _stores(plan: MemoryPlan, stream: TextIO) -> list[str]:
    if not plan.stores:
        what = f"memory backend {plan.memory_backend!r}" if plan.memory_backend else "no memory store"
        return [f"Stores: none ({what})"]
    lines = [paint("Stores", "bold", stream)]
    for store in plan.stores:
        lines.append(f"  {store.kind}: {_size(store) if store.provision else 'nothing to make'}")
        lines += paragraph(f"for {', '.join(store.uses)}", indent=6, stream=stream)
        lines += paragraph(f"because {store.why}", indent=6, stream=stream)
    return lines


def _size(store: Store) -> str:
    engine = "PostgreSQL" if isinstance(store, PostgresStore) else (store.engine or "redis")
    parts = [f"{engine} {store.engine_version}".strip(), store.instance_class]
    if isinstance(store, PostgresStore):
        parts.append(f"{store.storage_gib} GiB")
        parts.append("deletion protection" if store.deletion_protection else "")
    else:
        parts.append("TLS" if store.tls else "")
    parts.append("multi-AZ" if store.multi_az else "")
    parts.append(f"backups {store.backup_days} d" if store.backup_days else "no backups")
    return ", ".join(p for p in parts if p)


def _steps(result: PlanResult, stream: TextIO) -> list[str]:
    if not result.steps:
        return []
    lines = [paint("Steps", "bold", stream)]
    said = {store.why for store in result.plan.stores}
    rows = columns([(s.id, s.name) for s in result.steps], indent=0)
    for step, row in zip(result.steps, rows, strict=True):
        mark, colour = _MARK[step.change]
        lines.append(f"  {paint(mark, colour, stream)} {row}")
        if step.change != "none" and step.why not in said:
            lines += paragraph(step.why, indent=6, stream=stream)
    return lines


def _source(secret: SecretEnv, plan: MemoryPlan) -> str:
    kind, _, name = secret.origin.partition(":")
    if kind == "store":
        return f"the vault, once the {name} store is made"
    url = next((u for u in plan.secret_urls if u.id == name), None)
    return f"the vault ({url.source} carries a password)" if url else "the vault"


def _unused(result: PlanResult, stream: TextIO) -> list[str]:
    if not result.unused:
        return []
    rows = [("?", r.step_id, r.name) for r in result.unused]
    head = "Not asked for any more; stays until `agentbreeder teardown --unused`"
    return [paint(head, "yellow", stream), *columns(rows)]


def _sum(result: PlanResult) -> str:
    checked = " Checked against the cloud: no problems." if result.preflighted else ""
    if result.changes:
        return changes_in_words(result) + "." + checked
    if not result.steps:
        return "Nothing to make." + checked
    return f"No changes: {count(len(result.steps), 'step')} in place." + checked
