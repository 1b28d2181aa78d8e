"""What people do by hand between deploy and teardown, and what they change in the file."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agentbreeder_core.errors import AgentBreederError, AuthError, Interrupted, StepTimeout, TeardownIncomplete
from agentbreeder_provisioners.azure.clients import AzureClients
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.calls import ApiCall
from support.agents import SCENARIOS
from support.cloud import do_deploy, do_teardown, state_of

from .conftest import OWN_VAULT, READER, Agent, clock_of

VERSIONS = {
    "azure.key_vault": "2024-11-01",
    "azure.role_assignment": "2022-04-01",
    "azure.managed_redis": "2025-07-01",
    "azure.managed_redis_database": "2025-07-01",
    "azure.postgres_server": "2024-08-01",
    "azure.dns_link": "2024-06-01",
}


@pytest.mark.parametrize("kind", sorted(VERSIONS))
def test_a_resource_that_was_deleted_by_hand_does_not_stop_the_teardown_of_the_others(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients, kind: str
) -> None:
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, agent(SCENARIOS["both"], AZURE_RUNTIME_PRINCIPAL_ID=READER, **OWN_VAULT))
    resources = state_of(tmp_path)["agents"]["support"]["resources"]
    for one in [r["physical_id"] for r in resources if r["kind"] == kind and r["step_id"] != "azure/vault-access"]:
        by_hand.request("DELETE", one, api_version=VERSIONS[kind])
        clock_of(azure_sandbox).advance(3600.0)
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


def test_without_the_right_in_our_own_vault_teardown_says_so_keeps_the_record_and_goes_on_once_it_is_back(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients
) -> None:
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"], **OWN_VAULT))
    resources = {r["step_id"]: r for r in state_of(tmp_path)["agents"]["support"]["resources"]}
    right = resources["azure/vault-access"]
    kept = by_hand.request("GET", right["physical_id"], api_version="2022-04-01").body["properties"]
    by_hand.request("DELETE", right["physical_id"], api_version="2022-04-01")
    with pytest.raises(TeardownIncomplete, match="ForbiddenByRbac") as e:
        do_teardown(azure_sandbox, tmp_path)
    assert "\n" not in e.value.detail
    given = {k: kept[k] for k in ("roleDefinitionId", "principalId", "principalType")}
    by_hand.request("PUT", right["physical_id"], api_version="2022-04-01", json={"properties": given})
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


@pytest.mark.parametrize("change", ["AZURE_LOCATION", "AZURE_RESOURCE_GROUP", "AZURE_KEY_VAULT_NAME"])
def test_another_place_in_the_file_is_refused_and_changes_nothing(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, change: str
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"]))
    before, seen = azure_sandbox.standing(), len(azure_sandbox.calls)
    other = {"AZURE_RESOURCE_GROUP": azure_sandbox.second_group(), "AZURE_KEY_VAULT_NAME": ""}
    path = agent(SCENARIOS["redis"], **{change: other[change]} if change in other else {})
    if change == "AZURE_LOCATION":
        path.write_text(path.read_text().replace("region: eastus", "region: westus2"))
    with pytest.raises(AgentBreederError):
        do_deploy(azure_sandbox, path)
    assert azure_sandbox.standing() == before
    assert all(c.read for c in azure_sandbox.calls[seen:])


def test_the_subscription_is_the_same_in_whatever_case(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    subscription = azure_sandbox.subscription_id
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"], AZURE_SUBSCRIPTION_ID=subscription))
    again = agent(SCENARIOS["redis"], AZURE_SUBSCRIPTION_ID=subscription.upper())
    assert do_deploy(azure_sandbox, again).changed is False


def test_another_subscription_than_the_recorded_one_is_refused(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"]))
    with pytest.raises(AuthError, match="other"):
        do_deploy(azure_sandbox, agent(SCENARIOS["redis"], AZURE_SUBSCRIPTION_ID="other"))


@pytest.mark.parametrize(
    "operation", ["PUT flexibleServers", "PUT redisEnterprise", "GET operation", "PUT secrets", "PUT privateDnsZones"]
)
def test_a_deploy_that_is_stopped_at_any_wait_goes_on_later(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, operation: str
) -> None:
    before = azure_sandbox.standing()
    path, cancel = agent(SCENARIOS["both"]), threading.Event()

    def stop(call: ApiCall) -> None:
        if call.operation == operation:
            cancel.set()

    azure_sandbox.on_call(stop)
    with pytest.raises(Interrupted):
        do_deploy(azure_sandbox, path, cancel=cancel)
    azure_sandbox.on_call(None)
    assert all(r.phase == "ready" for r in do_deploy(azure_sandbox, path).resources)
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


def test_a_time_limit_ends_the_deploy_and_what_it_ordered_is_recorded(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    before = azure_sandbox.standing()
    with pytest.raises(StepTimeout):
        do_deploy(azure_sandbox, agent(SCENARIOS["both"]), timeout_s=120.0)
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


@pytest.mark.parametrize("name", ["a" * 120, "UPPER_lower.dots-and-more", "x"])
def test_any_name_and_team_can_be_deployed(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, name: str
) -> None:
    path = agent(SCENARIOS["both"], **OWN_VAULT)
    path.write_text(path.read_text().replace("name: support", f"name: '{name}'").replace("team: care", "team: 'A B/ç'"))
    before = azure_sandbox.standing()
    assert do_deploy(azure_sandbox, path).changed
    assert do_deploy(azure_sandbox, path).changed is False
    do_teardown(azure_sandbox, tmp_path, agent=name)
    assert azure_sandbox.standing() == before
