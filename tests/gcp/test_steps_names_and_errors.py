"""The pure part of Google Cloud: steps, names, labels, endpoints, and what each answer means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbreeder_core.errors import AuthError, CloudError, ConfigError, QuotaError, ResourceFailed
from agentbreeder_provisioners.engine.kinds import AlreadyExists, Busy, NotFound, Transient
from agentbreeder_provisioners.engine.ownership import Owner
from agentbreeder_provisioners.gcp.cloud import GcpCloud
from agentbreeder_provisioners.gcp.endpoints import endpoint_of
from agentbreeder_provisioners.gcp.errors import Refusal, classify, failed_operation
from agentbreeder_provisioners.gcp.kinds.labels import from_labels, label_value, to_labels
from agentbreeder_provisioners.gcp.names import base_name, network_parts, network_path
from agentbreeder_provisioners.gcp.steps import env_sources, steps_for
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.plan_types import MemoryPlan

SCENARIO_STEPS = {
    "memory: {backend: postgresql}": [
        "gcp/postgres/secret",
        "gcp/postgres/instance",
        "gcp/postgres/database",
        "gcp/postgres/user",
        "gcp/postgres/url",
    ],
    "memory: {backend: redis}": ["gcp/redis/instance"],
    "memory: {backend: redis, provision: {tls: true}}": ["gcp/redis/instance", "gcp/redis/secret", "gcp/redis/url"],
    "memory: {backend_url: 'postgresql://u:p@db.example.com/m'}": ["gcp/memory-url/secret"],
}


def planned(folder: Path, body: str, extra: str = "") -> MemoryPlan:
    path = folder / "agent.yaml"
    path.write_text(
        f"name: support\nversion: 1.0.0\nteam: care\n{body}\ndeploy: {{cloud: gcp, region: us-central1, "
        f"env_vars: {{GOOGLE_CLOUD_PROJECT: proj{extra}}}}}\n"
    )
    return resolve_path(path)


@pytest.mark.parametrize(("body", "wanted"), SCENARIO_STEPS.items())
def test_each_store_is_a_short_list_of_steps(tmp_path: Path, body: str, wanted: list[str]) -> None:
    plan = planned(tmp_path, body)
    steps = steps_for(plan)
    assert [s.id for s in steps] == wanted
    assert all(s.why and s.kind.startswith("gcp.") for s in steps)
    assert {s.step for s in env_sources(plan).values()} & {s.id for s in steps}


def test_a_named_runtime_account_gets_each_secret_of_its_own_and_nothing_else(tmp_path: Path) -> None:
    plan = planned(tmp_path, "memory: {backend: postgresql}", ", GCP_RUNTIME_SERVICE_ACCOUNT: a@proj.iam")
    access = [s for s in steps_for(plan) if s.kind == "gcp.secret_access"]
    assert [s.id for s in access] == ["gcp/postgres/secret-access"]
    assert access[0].inputs["member"] == "serviceAccount:a@proj.iam"


def test_cloud_sql_makes_one_thing_at_a_time_so_the_user_comes_after_the_database(tmp_path: Path) -> None:
    steps = {s.id: s for s in steps_for(planned(tmp_path, "memory: {backend: postgresql}"))}
    assert "gcp/postgres/database" in steps["gcp/postgres/user"].needs
    assert "gcp/postgres/secret" in steps["gcp/postgres/instance"].needs


@pytest.mark.parametrize(
    ("written", "tier", "gib"),
    [
        ("BASIC", "BASIC", 1),
        ("BASIC_5GB", "BASIC", 5),
        ("STANDARD_HA", "STANDARD_HA", 1),
        ("STANDARD_HA_16GB", "STANDARD_HA", 16),
    ],
)
def test_a_redis_class_is_a_tier_with_an_optional_size(tmp_path: Path, written: str, tier: str, gib: int) -> None:
    plan = planned(tmp_path, f"memory: {{backend: redis, provision: {{instance_class: {written}}}}}")
    inputs = steps_for(plan)[0].inputs
    assert (inputs["tier"], inputs["memory_gib"]) == (tier, gib)


def test_two_zones_make_a_redis_standard_ha(tmp_path: Path) -> None:
    plan = planned(tmp_path, "memory: {backend: redis, provision: {multi_az: true}}")
    assert steps_for(plan)[0].inputs["tier"] == "STANDARD_HA"


@given(st.text(min_size=1, max_size=150), st.text(max_size=30))
def test_names_fit_every_service_and_labels_are_legal(agent: str, team: str) -> None:
    name = base_name(project="p", agent=agent, team=team, region="r")
    assert name.startswith("ab-")
    assert len(f"{name}-redis") <= 40
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-")
    for value in to_labels(Owner(agent=agent, team=team, lineage="0" * 36)).values():
        assert len(value) <= 63
        assert not set(value) - set("abcdefghijklmnopqrstuvwxyz0123456789_-")


def test_agents_that_look_alike_have_names_and_labels_apart() -> None:
    alike = ["My_Agent.v2", "my-agent-v2", "my_agent_v2", "MY-AGENT-V2"]
    assert len({base_name(project="p", agent=a, team="", region="r") for a in alike}) == len(alike)
    assert len({label_value(a) for a in alike}) == len(alike)


def test_another_project_region_or_team_gives_another_name() -> None:
    one = {"project": "p", "agent": "a", "team": "t", "region": "r"}
    names = {base_name(**{**one, key: "other"}) for key in ("project", "team", "region")} | {base_name(**one)}
    assert len(names) == 4


def test_labels_read_back_as_the_owner_that_wrote_them_and_as_nobody_elses() -> None:
    ours, other = Owner(agent="My_Agent.v2", team="care", lineage="l1"), Owner(agent="a", team="care", lineage="l1")
    assert ours.owns(from_labels(to_labels(ours), ours))
    assert not ours.owns(from_labels(to_labels(other), ours))
    assert not ours.owns(from_labels(None, ours))


@pytest.mark.parametrize(
    "written",
    ["net", "projects/p/global/networks/net", "https://www.googleapis.com/compute/v1/projects/p/global/networks/net"],
)
def test_a_network_is_a_name_a_path_or_a_url(written: str) -> None:
    path = network_path("p", written)
    assert path == "projects/p/global/networks/net"
    assert network_parts(path) == ("p", "net")


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (404, "instanceDoesNotExist", NotFound),
        (404, "notFound", NotFound),
        (409, "instanceAlreadyExists", AlreadyExists),
        (409, "ALREADY_EXISTS", AlreadyExists),
        (409, "operationInProgress", Busy),
        (409, "ABORTED", Busy),
        (409, "anythingElse", Busy),
        (403, "operationInProgress", Busy),
        (403, "SERVICE_DISABLED", AuthError),
        (403, "rateLimitExceeded", Transient),
        (429, "RESOURCE_EXHAUSTED", Transient),
        (429, "ERROR_MAX_INSTANCE_PER_LABEL", QuotaError),
        (401, "", AuthError),
        (500, "", Transient),
        (503, "backendError", Transient),
        (400, "invalid", CloudError),
    ],
)
def test_an_answer_is_known_by_its_status_and_reason(status: int, reason: str, kind: type[CloudError]) -> None:
    assert type(classify(Refusal(call="sql.instances.get", status=status, reason=reason))) is kind


def test_invalid_state_means_a_held_name_only_when_inserting() -> None:
    insert = classify(Refusal(call="sql.instances.insert", status=409, reason="invalidState"))
    delete = classify(Refusal(call="sql.instances.delete", status=409, reason="invalidState"))
    assert (type(insert), type(delete)) == (AlreadyExists, Busy)


def test_a_disabled_api_is_told_with_the_command_that_enables_it() -> None:
    metadata = {"service": "sqladmin.googleapis.com", "consumer": "projects/123"}
    error = classify(Refusal(call="sql.instances.get", status=403, reason="SERVICE_DISABLED", metadata=metadata))
    assert "gcloud services enable sqladmin.googleapis.com --project 123" in error.hint


def test_a_failed_operation_is_a_quota_or_a_failure_and_may_lack_a_message() -> None:
    assert type(failed_operation("s", "8", "System limit")) is QuotaError
    assert type(failed_operation("s", "INTERNAL_ERROR", "")) is ResourceFailed
    assert "gave no message" in failed_operation("s", "UNKNOWN", "").detail


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/", "http://localhost:1", "http://[::1]:9/", "https://127.0.0.1:1/"]
)
def test_an_override_on_this_machine_is_local(url: str) -> None:
    endpoint = endpoint_of("sql", {"CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL": url})
    assert endpoint.local
    assert endpoint.url == url.rstrip("/")


def test_an_https_override_elsewhere_gets_credentials_as_google_would() -> None:
    endpoint = endpoint_of("redis", {"CLOUDSDK_API_ENDPOINT_OVERRIDES_REDIS": "https://redis.private.example.com/"})
    assert not endpoint.local
    assert endpoint_of("redis", {}).url == "https://redis.googleapis.com"


@pytest.mark.parametrize(
    "url", ["http://example.com/", "http://127.0.0.1.evil.example/", "ftp://127.0.0.1/", "nonsense"]
)
def test_an_override_that_would_send_credentials_in_the_clear_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL"):
        endpoint_of("sql", {"CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL": url})


def test_without_a_project_the_error_says_which_variable() -> None:
    import threading

    from agentbreeder_sandbox.clocks import VirtualClock

    with pytest.raises(ConfigError) as e:
        GcpCloud().open(account="", region="r", clock=VirtualClock(), cancel=threading.Event(), secrets={})
    assert "GOOGLE_CLOUD_PROJECT" in e.value.hint
