"""What a deploy left behind, and how to go on."""

from __future__ import annotations

import sys

from agentbreeder_provisioners.results import Deployment

from . import out
from .findings import finding_lines
from .text import clean, columns, count, paint
from .variables import variable_lines


def show(done: Deployment, next_command: str) -> None:
    """The result as data on stdout, findings and the next command as talk."""
    plan = done.planned.plan
    place = " ".join(p for p in (plan.cloud, done.account, plan.region) if p)
    out.data(f"{paint(clean(plan.agent), 'bold')}: {_what_happened(done)} ({clean(place)})")
    if done.resources:
        out.data("")
        rows = [(r.step_id, "unused" if r.unused else r.phase, r.name) for r in done.resources]
        for line in columns(rows):
            out.data(line)
    out.data("")
    secrets = {name: f"{reference['ref']}" for name, reference in done.secret_env.items()}
    for line in variable_lines(done.env, secrets, sys.stdout):
        out.data(line)
    if not done.changed and done.findings:
        out.talk()
        for line in finding_lines(done.findings, sys.stderr):
            out.talk(line)
    if next_command:
        out.talk(f"\nNext: {next_command}")


def _what_happened(done: Deployment) -> str:
    if not done.changed:
        return "no changes"
    worked_on = sum(s.change != "none" for s in done.planned.steps)
    return f"deployed, {count(worked_on, 'step')} done"
