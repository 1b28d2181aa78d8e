"""The pure part of Azure: steps, names, tags, endpoint, identity, and what each answer means."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbreeder_core.errors import AuthError, CloudError, ConfigError, QuotaError
from agentbreeder_provisioners.azure import names
from agentbreeder_provisioners.azure.cloud import AzureCloud
from agentbreeder_provisioners.azure.endpoint import VARIABLE, endpoint_of
from agentbreeder_provisioners.azure.errors import (
    BeingDeleted,
    DeniedByRbac,
    GloballyTaken,
    NotPermitted,
    Recoverable,
    Refusal,
    classify,
    refusal_of,
)
from agentbreeder_provisioners.azure.identity import anonymous_token, identity_of
from agentbreeder_provisioners.azure.kinds.redis_cache import sku_of
from agentbreeder_provisioners.azure.kinds.tags import from_azure, to_azure
from agentbreeder_provisioners.azure.operations import Operations, progress_of
from agentbreeder_provisioners.azure.steps import env_sources, steps_for
from agentbreeder_provisioners.azure.store_steps import clustering_policy, tier_of
from agentbreeder_provisioners.engine.kinds import AlreadyExists, Busy, NotFound, Transient
from agentbreeder_provisioners.engine.ownership import Owner
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.plan_types import MemoryPlan
from agentbreeder_sandbox.clocks import VirtualClock
from support.agents import write_agent

VAULT = {"AZURE_KEY_VAULT_NAME": "my-kv"}
ZONE, SECRET = ["azure/postgres/dns-zone", "azure/postgres/dns-link"], ["azure/postgres/secret"]
SERVER = ["azure/postgres/server", "azure/postgres/database"]
KB = "\nknowledge_bases: [{ref: kb/docs}]"


def planned(folder: Path, body: str, **env: str) -> MemoryPlan:
    return resolve_path(write_agent(folder, body, cloud="azure", env={"AZURE_SUBSCRIPTION_ID": "S", **env}))


@pytest.mark.parametrize(
    ("body", "env", "wanted"),
    [
        ("memory: {backend: postgresql}", VAULT, [*ZONE, *SECRET, *SERVER, "azure/postgres/url"]),
        (
            f"memory: {{backend: postgresql}}{KB}",
            VAULT,
            [*ZONE, *SECRET, *SERVER, "azure/postgres/extensions", "azure/postgres/url"],
        ),
        (
            "memory: {backend: redis}",
            VAULT,
            ["azure/redis/cluster", "azure/redis/database", "azure/redis/url"],
        ),
        (
            "memory: {backend: redis, provision: {azure_redis: cache}}",
            VAULT,
            ["azure/redis/cache", "azure/redis/url"],
        ),
        (
            "memory: {backend: redis}",
            {},
            ["azure/vault", "azure/vault-access", "azure/redis/cluster", "azure/redis/database", "azure/redis/url"],
        ),
        (
            "memory: {backend_url: 'postgresql://u:p@db.example.com/m'}",
            {**VAULT, "AZURE_RUNTIME_PRINCIPAL_ID": "p"},
            ["azure/memory-url/secret", "azure/memory-url/access"],
        ),
    ],
)
def test_each_store_is_a_short_list_of_steps(tmp_path: Path, body: str, env: dict[str, str], wanted: list[str]) -> None:
    plan = planned(tmp_path, body, **env)
    steps = steps_for(plan)
    assert [s.id for s in steps] == wanted
    assert all(s.why and s.kind.startswith("azure.") for s in steps)
    assert {s.step for s in env_sources(plan).values()} & {s.id for s in steps}


def test_the_network_knows_the_zone_before_the_server_is_made_and_its_parts_come_one_after_the_other(
    tmp_path: Path,
) -> None:
    steps = {s.id: s for s in steps_for(planned(tmp_path, f"memory: {{backend: postgresql}}{KB}", **VAULT))}
    assert "azure/postgres/dns-link" in steps["azure/postgres/server"].needs
    assert steps["azure/postgres/extensions"].needs == ("azure/postgres/database",)


@pytest.mark.parametrize(
    ("sku", "tier"),
    [
        ("Standard_B1ms", "Burstable"),
        ("Standard_D2ds_v5", "GeneralPurpose"),
        ("Standard_E4ds_v5", "MemoryOptimized"),
    ],
)
def test_a_size_goes_out_with_the_tier_that_fits_it(sku: str, tier: str) -> None:
    assert tier_of(sku) == tier


@pytest.mark.parametrize(
    ("sku", "policy"),
    [("Balanced_B0", "NoCluster"), ("Balanced_B20", "NoCluster"), ("MemoryOptimized_M50", "EnterpriseCluster")],
)
def test_an_ordinary_client_can_use_every_size_of_managed_redis(sku: str, policy: str) -> None:
    assert clustering_policy(sku) == policy


def test_a_cache_size_is_three_fields_and_anything_else_is_refused() -> None:
    assert sku_of("Standard_C1") == {"name": "Standard", "family": "C", "capacity": 1}
    with pytest.raises(ValueError, match="Balanced_B0"):
        sku_of("Balanced_B0")


@given(st.text(min_size=1, max_size=150), st.text(max_size=30))
def test_names_fit_every_service(agent: str, team: str) -> None:
    plan = MemoryPlan.__new__(MemoryPlan)
    for field, value in {"agent": agent, "team": team, "region": "eastus", "network": {}}.items():
        object.__setattr__(plan, field, value)
    base, vault = names.base_name(plan), names.vault_name(plan)
    for name, limit in ((f"{base}-redis-g99", 44), (f"{base}-pg-g99", 63), (f"{vault}-g99", 24)):
        assert len(name) <= limit
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert "--" not in name
    assert names.zone_name(base) != f"{base}-pg{names.ZONE_SUFFIX}"


def test_ids_are_compared_without_case_and_locations_also_without_blanks() -> None:
    one = names.resource_id("s", "g", "Microsoft.Cache/redis", "c")
    assert names.same_id(one, one.replace("redis", "Redis").replace("/s/", "/S/"))
    assert names.same_location("eastus", "East US")
    assert not names.same_location("eastus", "East US 2")


def test_tags_read_back_as_the_owner_that_wrote_them_also_with_blanks_and_in_another_case() -> None:
    ours = Owner(agent="My Agent 100%", team="Customer Care", lineage="l1")
    written = to_azure(ours)
    assert not any(":" in k or " " in v for k, v in written.items())
    assert ours.owns(from_azure({k.upper(): v for k, v in written.items()}))
    assert not Owner(agent="My Agent 100%", team="Customer Care", lineage="l2").owns(from_azure(written))


ERRORS = [
    (409, "MissingSubscriptionRegistration", CloudError),
    (409, "ServerNameAlreadyExists", GloballyTaken),
    (409, "NameNotAvailable", GloballyTaken),
    (409, "VaultAlreadyExists", GloballyTaken),
    (409, "ConflictError", Recoverable),
    (409, "ServerIsBusy", Busy),
    (400, "ServerBusy", Busy),
    (409, "Conflict", Busy),
    (409, "RoleAssignmentExists", AlreadyExists),
    (412, "PreconditionFailed", AlreadyExists),
    (404, "ResourceNotFound", NotFound),
    (404, "NotFound", NotFound),
    (404, "", NotFound),
    (403, "AuthorizationFailed", NotPermitted),
    (403, "LinkedAuthorizationFailed", NotPermitted),
    (403, "RequestDisallowedByPolicy", CloudError),
    (401, "ExpiredAuthenticationToken", AuthError),
    (429, "SubscriptionRequestsThrottled", Transient),
    (429, "", Transient),
    (500, "InternalServerError", Transient),
    (503, "", Transient),
    (400, "QuotaExceeded", QuotaError),
    (400, "BadRequest", CloudError),
]


@pytest.mark.parametrize(("status", "code", "kind"), ERRORS)
def test_the_code_decides_and_not_the_sdks_exception(status: int, code: str, kind: type[CloudError]) -> None:
    assert type(classify("put", Refusal(code=code), status)) is kind


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ("ObjectIsDeletedButRecoverable", Recoverable),
        ("ObjectIsBeingDeleted", BeingDeleted),
        ("ObjectIsBeingRecovered", Busy),
        ("ForbiddenByRbac", DeniedByRbac),
        ("ForbiddenByFirewall", AuthError),
    ],
)
def test_key_vault_says_what_it_means_in_the_inner_code(inner: str, kind: type[CloudError]) -> None:
    body = {"error": {"code": "Conflict", "message": "m", "innererror": {"code": inner}}}
    assert type(classify("set_secret", refusal_of(body), 409)) is kind


def test_a_name_that_is_used_is_told_by_its_text_under_whatever_code() -> None:
    refusal = Refusal(code="BadRequest", message="Specified server name is already used.")
    assert type(classify("create", refusal, 400)) is GloballyTaken


def test_the_retirement_of_the_classic_cache_names_the_other_product() -> None:
    message = "Azure Cache for Redis is retiring. Learn more: https://aka.ms/AzureCacheForRedisRetirement"
    assert "azure_redis: managed" in classify("create", Refusal(code="BadRequest", message=message), 400).hint


def test_a_namespace_that_is_not_registered_is_told_with_the_command_that_registers_it() -> None:
    message = "The subscription is not registered to use namespace 'Microsoft.Cache'. See https://aka.ms/rps-not-found"
    error = classify("create", Refusal(code="MissingSubscriptionRegistration", message=message), 409)
    assert error.hint == "az provider register --namespace Microsoft.Cache --wait"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": "A", "message": "m"}}, "A"),
        ({"Code": "B", "Message": "m"}, "B"),
        ("<html>503</html>", ""),
        (b"\xff", ""),
        ("[1]", ""),
        ({"error": {"code": 5}}, ""),
    ],
)
def test_an_error_is_read_however_it_is_built(body: object, code: str) -> None:
    assert refusal_of(body).code == code


def test_no_message_carries_the_signed_query_of_a_poll_url() -> None:
    url = "https://management.azure.com/x/operations/1?t=1&c=signed&s=more"
    assert "signed" not in str(classify("poll", Refusal(code="X", message=f"see {url} for more"), 400))


@pytest.mark.parametrize(
    ("status", "body", "state"),
    [
        (200, {"status": "Failed", "error": {"code": "InternalServerError", "message": "m"}}, "failed"),
        (200, {"status": "Canceled"}, "failed"),
        (200, {"status": "Succeeded"}, "done"),
        (202, {"status": "Succeeded"}, "done"),
        (200, {"status": "InProgress"}, "running"),
        (202, {"status": "InProgress"}, "running"),
        (202, {}, "running"),
        (200, {}, "done"),
        (200, {"type": "Microsoft.X/y", "status": "whatever"}, "done"),
    ],
)
def test_a_poll_is_read_by_its_document_first_and_its_status_second(status: int, body: object, state: str) -> None:
    assert progress_of(status, body).state == state


@pytest.mark.parametrize(
    ("url", "followed"),
    [
        ("https://management.azure.com/op/1?s=x", True),
        ("https://management.azure.com:443/op/1?s=x", True),
        ("https://westus.management.azure.com/op/1", True),
        ("https://management.azure.com.evil.example/op/1", False),
        ("http://management.azure.com/op/1", False),
        ("nonsense", False),
    ],
)
def test_the_callers_token_goes_to_arm_and_nowhere_else(url: str, followed: bool) -> None:
    operations = Operations("management.azure.com", lambda text: text)
    operations.remember("/subscriptions/S/x", {"Azure-AsyncOperation": url})
    assert operations.url_of("/SUBSCRIPTIONS/s/X") == (url if followed else "")


@pytest.mark.parametrize("url", ["http://127.0.0.1:4000", "http://localhost:1/", "http://[::1]:9"])
def test_a_stand_in_on_this_machine_is_taken(url: str) -> None:
    assert endpoint_of({VARIABLE: url}) == url.rstrip("/")


@pytest.mark.parametrize(
    "url", ["http://example.com", "https://127.0.0.1:4000", "http://127.0.0.1.evil.example", "nonsense", "http://::1"]
)
def test_any_other_endpoint_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=VARIABLE):
        endpoint_of({VARIABLE: url})


def test_whoever_the_token_is_for_is_read_from_its_claims_and_garbage_is_nobody() -> None:
    assert identity_of(anonymous_token()).object_id == "00000000-0000-0000-0000-000000000000"
    for token in ("", "a", "a.b.c", "a.!!!.c", "a.W10.c"):
        assert identity_of(token).object_id == ""


def test_without_a_subscription_the_error_says_which_variable() -> None:
    with pytest.raises(ConfigError) as e:
        AzureCloud().open(account="", region="r", clock=VirtualClock(), cancel=threading.Event(), secrets={})
    assert "AZURE_SUBSCRIPTION_ID" in e.value.hint
