"""Preflight of a deploy: credentials, account, network, names. Read-only; every problem at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentbreeder_core.errors import AuthError, CloudError, Problem
from agentbreeder_resolver.plan_types import Finding, MemoryPlan
from agentbreeder_state.record import AgentRecord

from .clouds import CLOUDS
from .engine.kinds import Kind
from .engine.ownership import Owner
from .engine.run import Shared
from .engine.steps import Step
from .engine.survey import Survey, survey
from .engine.wiring import Checks


@dataclass(slots=True, kw_only=True)
class Preflight:
    """What was found. `kinds` are connected and ready to use; `seen` says which names are free."""

    account: str
    kinds: Mapping[str, Kind]
    seen: Survey
    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def preflight_for(
    plan: MemoryPlan, steps: Sequence[Step], record: AgentRecord | None, shared: Shared, lineage: str
) -> Preflight:
    """Run all read-only checks. Blocks for some seconds. Raises `AuthError` for credentials that do not work, or that
    are for another account than the recorded one."""
    cloud = CLOUDS[plan.cloud]
    provider = cloud.open(
        account=cloud.account_in(plan),
        region=plan.region,
        clock=shared.clock,
        cancel=shared.cancel,
        secrets=shared.secrets,
    )
    account = provider.account()
    refuse_other_account(record, account)
    kinds = provider.kinds()
    # With everything in place only presence is looked at: network and versions were checked when it was made.
    checks = Checks() if _all_ready(steps, record) else provider.check(plan)
    owner = Owner(agent=plan.agent, team=plan.team, lineage=lineage)
    try:
        seen = survey(steps, kinds, owner, record, shared, checks.facts)
    except CloudError:
        if not checks.problems:
            raise
        seen = Survey()  # an API that is off, a network that is missing: what was found says it better
    return Preflight(
        account=account,
        kinds=kinds,
        seen=seen,
        facts=checks.facts,
        problems=[*checks.problems, *seen.problems],
        findings=checks.findings,
    )


def refuse_other_account(record: AgentRecord | None, account: str) -> None:
    """One account is recorded per agent; other credentials are refused before any change."""
    if record is None or not record.account or not record.resources or record.account == account:
        return
    raise AuthError(
        f"agent {record.agent!r} is recorded in account {record.account}, but this run is for {account}",
        hint=CLOUDS[record.cloud].sign_in_hint,
    )


def _all_ready(steps: Sequence[Step], record: AgentRecord | None) -> bool:
    if record is None:
        return False
    resources = [record.resource(s.id) for s in steps]
    return all(r is not None and r.phase == "ready" for r in resources)
