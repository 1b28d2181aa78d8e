"""Preflight with the command that mends each problem, the two Redis products, the zone, and what is never touched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbreeder_core.errors import AuthError, CloudError, ConfigError, PreflightFailed
from agentbreeder_provisioners import environment, plan, status
from agentbreeder_provisioners.azure.clients import AzureClients
from agentbreeder_sandbox.azure.server import AzureSandbox
from support.agents import SCENARIOS
from support.cloud import do_deploy, do_teardown, made

from .conftest import CACHE, Agent, calls

ZONE, LINK, DNS = "mine.private.postgres.database.azure.com", "mine-link", "2024-06-01"
Break = Callable[[AzureSandbox], dict[str, str] | None]
POSTGRES, REDIS = SCENARIOS["postgres"], SCENARIOS["redis"]
BROKEN: list[tuple[str, str, Break, str, str]] = [
    (
        "no group",
        POSTGRES,
        lambda s: {"AZURE_RESOURCE_GROUP": "gone"},
        "GROUP_NOT_FOUND",
        "az group create --name gone --location eastus",
    ),
    (
        "no subnet",
        POSTGRES,
        lambda s: {"AZURE_DB_SUBNET_ID": f"{s.vnet_id}/subnets/gone"},
        "SUBNET_NOT_FOUND",
        "az network vnet subnet list",
    ),
    (
        "no subnet's id",
        POSTGRES,
        lambda s: {"AZURE_DB_SUBNET_ID": "db"},
        "SUBNET_MISSING",
        "az network vnet subnet list",
    ),
    (
        "not delegated",
        POSTGRES,
        lambda s: s.undelegate_subnet(),
        "SUBNET_NOT_DELEGATED",
        "az network vnet subnet update --ids",
    ),
    (
        "other region",
        POSTGRES,
        lambda s: {"AZURE_DB_SUBNET_ID": s.second_vnet(), "AZURE_VNET_NAME": ""},
        "SUBNET_IN_OTHER_REGION",
        "az network vnet subnet list",
    ),
    (
        "not registered",
        POSTGRES,
        lambda s: s.unregister_provider("Microsoft.DBforPostgreSQL"),
        "PROVIDER_NOT_REGISTERED",
        "az provider register --namespace Microsoft.DBforPostgreSQL --wait",
    ),
    (
        "Redis not registered",
        REDIS,
        lambda s: s.unregister_provider("Microsoft.Cache"),
        "PROVIDER_NOT_REGISTERED",
        "az provider register --namespace Microsoft.Cache --wait",
    ),
    (
        "restricted",
        POSTGRES,
        lambda s: s.restrict_location(),
        "REGION_RESTRICTED",
        "az postgres flexible-server list-skus --location eastus",
    ),
    (
        "no such size",
        "memory: {backend: postgresql, provision: {instance_class: Standard_D96ds_v9}}",
        lambda s: None,
        "CLASS_NOT_OFFERED",
        "az postgres flexible-server list-skus --location eastus",
    ),
    (
        "no vault",
        REDIS,
        lambda s: {"AZURE_KEY_VAULT_NAME": "gone-kv"},
        "VAULT_NOT_FOUND",
        "az keyvault create --name gone-kv",
    ),
]


@pytest.mark.parametrize(("body", "wreck", "code", "command"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_each_problem_is_told_before_the_first_change_with_the_command_that_mends_it(
    azure_sandbox: AzureSandbox, agent: Agent, body: str, wreck: Break, code: str, command: str
) -> None:
    env = wreck(azure_sandbox) or {}
    before = azure_sandbox.standing()
    with pytest.raises(PreflightFailed) as e:
        do_deploy(azure_sandbox, agent(body, **env))
    (problem,) = e.value.problems
    assert problem.code == code
    assert command in problem.message
    assert azure_sandbox.standing() == before
    assert all(c.read for c in azure_sandbox.calls)


def test_a_subscription_that_cannot_be_reached_is_told_with_the_command_that_lists_them(
    azure_sandbox: AzureSandbox, agent: Agent
) -> None:
    with pytest.raises(AuthError) as e:
        do_deploy(azure_sandbox, agent(REDIS, AZURE_SUBSCRIPTION_ID="99999999-9999-9999-9999-999999999999"))
    assert "az account list" in e.value.hint


def test_another_resource_group_than_the_recorded_one_is_refused(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    do_deploy(azure_sandbox, agent(REDIS))
    seen = len(azure_sandbox.calls)
    other = azure_sandbox.second_group()
    with pytest.raises((CloudError, ConfigError)):
        do_deploy(azure_sandbox, agent(REDIS, AZURE_RESOURCE_GROUP=other))
    assert all(c.read for c in azure_sandbox.calls[seen:])


def test_a_server_name_that_somebody_has_in_azure_gives_the_next_generation(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    path = agent(POSTGRES)
    steps = {s.id: s for s in plan(path, network_env=azure_sandbox.network_env()).steps}
    name = steps["azure/postgres/server"].name
    azure_sandbox.take_server_name(name)
    before = azure_sandbox.standing()
    done = do_deploy(azure_sandbox, path)
    assert [f.code for f in done.findings if f.code == "SERVER_NAME_HELD"]
    assert f"/{name}-g2 " in azure_sandbox.standing()["pg_servers"][0]
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


def test_a_tenant_that_may_not_make_the_classic_cache_is_told_of_the_other_product(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    before = azure_sandbox.standing()
    with pytest.raises(CloudError) as e:
        do_deploy(azure_sandbox, agent(CACHE))
    assert "azure_redis: managed" in e.value.hint
    (one,) = status("support", project_dir=tmp_path, refresh=True, clock=azure_sandbox.clock)
    assert [r.seen for r in one.resources] == ["unknown"], "asked for is not deleted by somebody"
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


def test_managed_redis_is_asked_for_with_everything_that_the_service_would_choose_otherwise(
    azure_sandbox: AzureSandbox, agent: Agent
) -> None:
    do_deploy(azure_sandbox, agent(REDIS))
    (cluster,) = calls(azure_sandbox, "PUT redisEnterprise")
    assert cluster.params["sku"] == {"name": "Balanced_B0"}
    assert cluster.params["properties"]["publicNetworkAccess"] == "Enabled"
    (database,) = calls(azure_sandbox, "PUT databases")
    asked = database.params["properties"]
    assert (asked["accessKeysAuthentication"], asked["clusteringPolicy"]) == ("Enabled", "NoCluster")
    assert asked["clientProtocol"] == "Encrypted"


@pytest.mark.parametrize(("body", "port"), [(REDIS, ":10000/"), (CACHE, ":6380/")])
def test_both_products_end_in_a_tls_url_with_the_encoded_key_at_the_reported_port(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, body: str, port: str
) -> None:
    azure_sandbox.tenant_may_create_cache = True
    do_deploy(azure_sandbox, agent(body))
    url = environment("support", project_dir=tmp_path, reveal=True).revealed["REDIS_URL"].reveal()
    key = url.removeprefix("rediss://:").partition("@")[0]
    assert port in url
    assert key.endswith("%3D")
    assert not set(key) & set("/+=")


def test_a_private_server_is_made_with_public_access_off_in_the_users_subnet(
    azure_sandbox: AzureSandbox, agent: Agent
) -> None:
    do_deploy(azure_sandbox, agent(POSTGRES))
    (put,) = calls(azure_sandbox, "PUT flexibleServers")
    network = put.params["properties"]["network"]
    assert network["publicNetworkAccess"] == "Disabled"
    assert network["delegatedSubnetResourceId"] == azure_sandbox.db_subnet_id
    assert put.params["tags"]["agentbreeder-agent"] == "support"
    assert put.params["sku"]["tier"] == "Burstable"


def _zone(by_hand: AzureClients, sandbox: AzureSandbox, *, linked: bool) -> None:
    group = by_hand.subscription and f"/subscriptions/{sandbox.subscription_id}/resourceGroups/{sandbox.resource_group}"
    zone = f"{group}/providers/Microsoft.Network/privateDnsZones/{ZONE}"
    by_hand.request("PUT", zone, api_version=DNS, json={"location": "global"})
    sandbox.clock.advance(60.0)  # type: ignore[attr-defined]
    if linked:
        body = {
            "location": "global",
            "properties": {"virtualNetwork": {"id": sandbox.vnet_id}, "registrationEnabled": False},
        }
        by_hand.request("PUT", f"{zone}/virtualNetworkLinks/{LINK}", api_version=DNS, json=body)
        sandbox.clock.advance(60.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("linked", [True, False])
def test_a_zone_of_the_users_that_fits_and_is_linked_is_used_and_any_other_is_left_alone(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients, linked: bool
) -> None:
    _zone(by_hand, azure_sandbox, linked=linked)
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, agent(POSTGRES))
    new = made(before, azure_sandbox.standing())
    assert new.get("dns_zones", 0) == new.get("dns_links", 0) == (0 if linked else 1)
    (put,) = calls(azure_sandbox, "PUT flexibleServers")
    assert (ZONE in put.params["properties"]["network"]["privateDnsZoneArmResourceId"]) == linked
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


def test_the_list_of_extensions_is_added_to_and_what_others_put_there_stays(
    azure_sandbox: AzureSandbox, agent: Agent, by_hand: AzureClients
) -> None:
    do_deploy(azure_sandbox, agent(POSTGRES))
    server = f"/subscriptions/{azure_sandbox.subscription_id}/resourceGroups/{azure_sandbox.resource_group}/providers"
    name = azure_sandbox.standing()["pg_servers"][0].partition(" ")[0].rpartition("/")[2]
    setting = f"{server}/Microsoft.DBforPostgreSQL/flexibleServers/{name}/configurations/azure.extensions"
    azure_sandbox.clock.advance(600.0)  # type: ignore[attr-defined]
    body = {"properties": {"value": "PG_TRGM", "source": "user-override"}}
    by_hand.request("PATCH", setting, api_version="2024-08-01", json=body)
    do_deploy(azure_sandbox, agent(SCENARIOS["shared"]))
    assert azure_sandbox.standing()["pg_servers"][0].lower().endswith("azure.extensions=pg_trgm,vector")


def test_teardown_asks_for_nothing_in_the_group_the_network_or_the_users_vault_but_our_own_secrets(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["both"]))
    seen = len(azure_sandbox.calls)
    do_teardown(azure_sandbox, tmp_path)
    changes = {c.operation for c in azure_sandbox.calls[seen:] if not c.read}
    assert changes == {
        "DELETE secrets",
        "DELETE flexibleServers",
        "DELETE virtualNetworkLinks",
        "DELETE privateDnsZones",
        "DELETE databases",
        "DELETE redisEnterprise",
    }


def test_what_somebody_deleted_already_is_done(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients
) -> None:
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, agent(SCENARIOS["both"]))
    state = json.loads((tmp_path / ".agentbreeder" / "infra-state.json").read_text())
    ids = {r["kind"]: r["physical_id"] for r in state["agents"]["support"]["resources"]}
    for kind, version in (("azure.postgres_server", "2024-08-01"), ("azure.managed_redis", "2025-07-01")):
        by_hand.request("DELETE", ids[kind], api_version=version)
    azure_sandbox.clock.advance(3600.0)  # type: ignore[attr-defined]
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


def test_a_final_snapshot_is_refused_before_anything_is_deleted(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    do_deploy(azure_sandbox, agent(POSTGRES))
    before = azure_sandbox.standing()
    with pytest.raises(ConfigError, match="no final snapshot") as e:
        do_teardown(azure_sandbox, tmp_path, final_snapshot=True)
    assert "pg_dump" in e.value.hint
    assert azure_sandbox.standing() == before
