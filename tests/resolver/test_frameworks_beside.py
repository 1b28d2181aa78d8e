"""Frameworks that keep something of their own: their keys are theirs, and ours apply on top."""

from __future__ import annotations

import pytest

from .conftest import Resolve

AWS = "deploy: {cloud: aws, region: us-east-1}\n"
CONFIGS = "name: support\nbackend: {backend}\nmax_messages: 7\n"
CREWAI = "framework: crewai\ncrewai: {memory: true}\n"
ADK = "framework: google_adk\ngoogle_adk: {session_backend: database}\n"


@pytest.mark.parametrize("framework", [CREWAI, ADK, CREWAI + ADK.partition("\n")[2]])
@pytest.mark.parametrize("backend", ["postgresql", "redis"])
def test_a_frameworks_own_memory_is_left_to_it_and_ours_applies_on_top(
    resolved: Resolve, framework: str, backend: str
) -> None:
    configs = CONFIGS.format(backend=backend)
    plain = resolved(f"name: a\nmemory_config: support\n{AWS}", configs=configs)
    beside = resolved(f"name: a\n{framework}memory_config: support\n{AWS}", configs=configs)
    assert beside.env == plain.env
    assert beside.secret_env == plain.secret_env
    assert beside.stores == plain.stores
    assert beside.env["MEMORY_MAX_MESSAGES"] == "7"


@pytest.mark.parametrize(
    ("backend", "code"),
    [("postgresql", "ADK_SHARES_DATABASE"), ("redis", "ADK_NEEDS_DATABASE"), ("in_memory", "ADK_NEEDS_DATABASE")],
)
def test_adks_fallback_to_database_url_meets_ours_and_the_plan_says_so(
    resolved: Resolve, backend: str, code: str
) -> None:
    plan = resolved(f"name: a\n{ADK}memory: {{backend: {backend}}}\n{AWS}")
    found = [f for f in plan.findings if f.code.startswith("ADK")]
    assert [(f.code, f.severity) for f in found] == [(code, "note")]
    assert found[0].where.endswith("agent.yaml:3:31")


SECTIONS = ["google_adk: {session_backend: memory}", "google_adk: yes", "google_adk: [database]", "google_adk:"]


@pytest.mark.parametrize("section", SECTIONS)
def test_adks_part_is_never_checked(resolved: Resolve, section: str) -> None:
    plan = resolved(f"name: a\n{section}\nmemory: {{backend: postgresql}}\n{AWS}")
    assert [f for f in plan.findings if f.code.startswith("ADK")] == []


def test_a_named_config_says_to_the_container_how_much_is_kept_and_where(resolved: Resolve) -> None:
    configs = "name: support\nbackend: redis\nscope: team\n---\nname: all\nbackend: redis\nmemory_type: buffer\n"
    plan = resolved(
        f"name: a\nteam: pay/ments\nmemory_config: support\n{AWS}".replace("pay/ments", "payments"), configs=configs
    )
    assert plan.env["MEMORY_NAMESPACE_PATTERN"] == "payments/support/*:{session_id}"
    assert plan.env["MEMORY_TYPE"] == "buffer_window"
    plan = resolved(f"name: a\nmemory: {{stores: [all]}}\n{AWS}", configs=configs)
    assert plan.env["MEMORY_TYPE"] == "buffer"
    assert "MEMORY_MAX_MESSAGES" not in plan.env
    assert plan.env["MEMORY_NAMESPACE_PATTERN"].endswith("/all/{agent_id}:{session_id}")
