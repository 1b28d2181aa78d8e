"""The stand-in as a whole: what ARM checks first, faults, time, the inventory, and the sandbox's own face."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import pytest
from azure.core.exceptions import AzureError

from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.azure.world import SUBSCRIPTION, Durations
from agentbreeder_sandbox.calls import Fault
from agentbreeder_sandbox.clocks import VirtualClock

from .conftest import RG, Cloud, Refused, cluster

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{RG}"
SERVERS = f"{GROUP}/providers/Microsoft.DBforPostgreSQL/flexibleServers"


def _code(answer: Any) -> str:
    return str(answer.json()["error"]["code"])


def test_the_subscription_its_group_and_its_providers_are_ready(cloud: Cloud) -> None:
    assert cloud.ask("GET", f"/subscriptions/{SUBSCRIPTION}").json()["tenantId"] == cloud.sandbox.tenant_id
    assert cloud.ask("GET", "/tenants").json()["value"][0]["tenantId"] == cloud.sandbox.tenant_id
    assert cloud.ask("GET", "/subscriptions").json()["value"][0]["subscriptionId"] == SUBSCRIPTION
    assert "eastus" in [v["name"] for v in cloud.ask("GET", f"/subscriptions/{SUBSCRIPTION}/locations").json()["value"]]
    assert cloud.ask("GET", GROUP).json()["location"] == "eastus"
    assert cloud.ask("HEAD", GROUP).status_code == 204
    provider = cloud.ask("GET", f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Cache").json()
    assert provider["registrationState"] == "Registered"


def test_a_group_that_is_not_there_is_404_and_a_bare_one_to_head(cloud: Cloud) -> None:
    gone = cloud.ask("GET", f"{GROUP}-gone")
    assert (gone.status_code, _code(gone)) == (404, "ResourceGroupNotFound")
    bare = cloud.ask("HEAD", f"{GROUP}-gone")
    assert (bare.status_code, bare.text()) == (404, "")
    assert _code(cloud.ask("PUT", SERVERS.replace(RG, "gone") + "/one-pg", cloud.server())) == "ResourceGroupNotFound"


def test_a_missing_resource_says_that_arm_itself_does_not_know_it(cloud: Cloud) -> None:
    gone = cloud.ask("GET", f"{SERVERS}/gone")
    assert (gone.status_code, _code(gone)) == (404, "ResourceNotFound")
    assert gone.headers["x-ms-failure-cause"] == "gateway"
    assert "'Microsoft.DBforPostgreSQL/flexibleServers/gone' under resource group 'sandbox-rg'" in gone.text()


def test_another_subscription_is_not_ours(cloud: Cloud) -> None:
    said = cloud.ask("GET", GROUP.replace(SUBSCRIPTION, "00000000-0000-0000-0000-000000000099"))
    assert (said.status_code, _code(said)) == (403, "AuthorizationFailed")


def test_no_token_no_version_and_no_json_are_refused(cloud: Cloud) -> None:
    assert _code(cloud.ask("GET", GROUP, Authorization="")) == "AuthenticationFailed"
    assert _code(cloud.ask("GET", f"{GROUP}?api-version=")) == "MissingApiVersionParameter"
    assert _code(cloud.ask("GET", f"{GROUP}?api-version=latest")) == "InvalidApiVersionParameter"
    assert _code(cloud.ask("GET", f"{GROUP}/nonsense")) == "InvalidResourceType"
    assert cloud.ask("GET", "https://elsewhere.example.com/x").status_code == 404


def test_an_unregistered_provider_refuses_changes_until_it_is_registered(cloud: Cloud) -> None:
    cloud.sandbox.unregister_provider("Microsoft.DBforPostgreSQL")
    said = cloud.ask("PUT", f"{SERVERS}/one-pg", cloud.server())
    assert (said.status_code, _code(said)) == (409, "MissingSubscriptionRegistration")
    assert "namespace 'Microsoft.DBforPostgreSQL'" in said.text()
    provider = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.DBforPostgreSQL"
    assert cloud.ask("GET", provider).json()["registrationState"] == "NotRegistered"
    assert cloud.ask("POST", f"{provider}/register").json()["registrationState"] == "Registering"
    cloud.pass_time(61)
    assert cloud.ask("PUT", f"{SERVERS}/one-pg", cloud.server()).status_code == 202
    with pytest.raises(KeyError):
        cloud.sandbox.unregister_provider("Microsoft.Nonsense")


def test_the_group_lists_what_is_in_it(cloud: Cloud) -> None:
    cloud.make_zone()
    listed = {r["type"] for r in cloud.ask("GET", f"{GROUP}/resources").json()["value"]}
    assert listed == {
        "Microsoft.KeyVault/vaults",
        "Microsoft.Network/privateDnsZones",
        "Microsoft.Network/virtualNetworks",
    }


def test_a_page_of_html_comes_once(cloud: Cloud) -> None:
    cloud.sandbox.html_once()
    page = cloud.ask("GET", GROUP)
    assert (page.status_code, page.text()[:14]) == (503, "<!DOCTYPE html")
    assert cloud.ask("GET", GROUP).status_code == 200


def test_calls_are_recorded_by_namespace_and_type(cloud: Cloud) -> None:
    cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server()).result()
    cloud.secrets().set_secret("url", "x")
    seen = {(c.service, c.operation, c.read) for c in cloud.sandbox.calls}
    assert ("Microsoft.DBforPostgreSQL", "PUT flexibleServers", False) in seen
    assert ("arm", "GET operation", True) in seen
    assert ("keyvault", "PUT secrets", False) in seen
    assert [c.index for c in cloud.sandbox.calls] == list(range(1, len(cloud.sandbox.calls) + 1))


def test_faults_come_in_azures_own_shape_and_a_lost_reply_leaves_the_change(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.on_call(lambda call: Fault(kind="reject", code="ServerIsBusy", message="busy", status=409))
    said = refused(cloud.pg.servers.get, RG, "one-pg")
    assert (said.status, said.code, said.message) == (409, "ServerIsBusy", "busy")
    cloud.sandbox.on_call(lambda call: Fault(kind="reject", code="Forbidden/ForbiddenByRbac", status=403))
    answer = cloud.ask("GET", "https://sandbox-user-kv.vault.azure.net/secrets/url?api-version=7.4")
    assert answer.json()["error"]["innererror"] == {"code": "ForbiddenByRbac"}
    for kind, left in (("drop_before", []), ("drop_after", ["one-pg"])):
        cloud.sandbox.on_call(lambda call, kind=kind: Fault(kind=kind))  # type: ignore[misc]
        with pytest.raises(AzureError):
            cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server())
        cloud.sandbox.on_call(None)
        cloud.pass_time(400)
        assert [s.name for s in cloud.pg.servers.list_by_resource_group(RG)] == left


def test_for_a_while_no_answer_shows_tags(cloud: Cloud) -> None:
    cloud.make_server(tags={"a": "b"})
    cloud.sandbox.hide_tags(30.0)
    assert cloud.pg.servers.get(RG, "one-pg").tags is None
    assert "tags" not in cloud.ask("GET", f"{GROUP}/resources").text()
    cloud.pass_time(30)
    assert cloud.pg.servers.get(RG, "one-pg").tags == {"a": "b"}


def test_a_reset_puts_everything_back(cloud: Cloud) -> None:
    before = cloud.sandbox.inventory()
    cloud.make_server()
    cloud.sandbox.restrict_location()
    cloud.sandbox.tenant_may_create_cache = True
    cloud.sandbox.deny_vault("firewall")
    cloud.sandbox.reset(clock=VirtualClock(), durations=Durations.instant())
    assert cloud.sandbox.inventory() == before
    assert cloud.sandbox.calls == []
    cloud.wire.waits.clear()
    assert not cloud.sandbox.tenant_may_create_cache
    cloud.secrets().set_secret("url", "x")
    cloud.make_zone()
    cloud.make_server(private=True)
    cloud.make_cluster()
    cloud.make_database()
    assert cloud.wire.waits == []


def test_without_durations_all_is_over_at_once(cloud: Cloud) -> None:
    cloud.sandbox.reset(durations=Durations.instant())
    before = cloud.sandbox.inventory()
    cloud.make_zone()
    cloud.make_server(private=True)
    cloud.make_cluster()
    cloud.make_vault()
    assert cloud.sandbox.inventory() != before
    cloud.pg.servers.begin_delete(RG, "one-pg").result()
    cloud.amr.redis_enterprise.begin_delete(RG, "one-redis").result()
    cloud.dns.virtual_network_links.begin_delete(RG, "one.private.postgres.database.azure.com", "one-link").result()
    cloud.dns.private_zones.begin_delete(RG, "one.private.postgres.database.azure.com").result()
    cloud.kv.vaults.delete(RG, "one-kv")
    assert cloud.sandbox.inventory()["deleted_vaults"] == ["one-kv"]
    waiting = ("deleted_vaults", "deleted_secrets", "held_names")
    assert cloud.sandbox.standing() == {k: v for k, v in before.items() if k not in waiting}


def test_durations_for_real_time_are_short_and_as_a_whole_below_a_minute() -> None:
    fast, usual = Durations.fast(), Durations()
    assert fast.pg_create_s + fast.pg_settle_s + fast.pg_database_s + fast.pg_config_s < 20
    assert fast.amr_create_s + fast.amr_db_s + fast.amr_running_lag_s * 2 < 20
    assert fast.pg_create_s < usual.pg_create_s


def test_the_variables_lead_here_and_to_the_ready_network(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    env = cloud.sandbox.env()
    assert env["AGENTBREEDER_AZURE_ENDPOINT"] == cloud.sandbox.endpoint_url
    assert set(cloud.sandbox.network_env()) == {
        "AZURE_SUBSCRIPTION_ID",
        "AZURE_RESOURCE_GROUP",
        "AZURE_LOCATION",
        "AZURE_VNET_NAME",
        "AZURE_DB_SUBNET_ID",
        "AZURE_KEY_VAULT_NAME",
    }
    assert env["AZURE_DB_SUBNET_ID"] == cloud.sandbox.db_subnet_id
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "intern")
    assert cloud.sandbox.env()["NO_PROXY"] == "intern,127.0.0.1"


def test_switches_refuse_what_they_do_not_know(cloud: Cloud) -> None:
    wrong: Any = "never"
    with pytest.raises(ValueError, match="no such failure"):
        cloud.sandbox.fail_next_create("pg", wrong)
    with pytest.raises(KeyError):
        cloud.sandbox.undelegate_subnet("gone")


def test_a_taken_port_is_an_error_and_another_region_is_another_world() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        sandbox = AzureSandbox(VirtualClock(), port=taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            sandbox.start()
    with contextlib.ExitStack() as stack:
        west = stack.enter_context(AzureSandbox(VirtualClock(), region="westeurope"))
        assert west.network_env()["AZURE_LOCATION"] == "westeurope"


def test_bodies_are_checked_for_every_type(cloud: Cloud) -> None:
    wrong = cluster(properties={"publicNetworkAccess": "Enabled", "minTls": "1.2"})
    # The SDK leaves out what its models do not know, so this one is sent as it is.
    path = f"{GROUP}/providers/Microsoft.Cache/redisEnterprise/one-redis"
    assert _code(cloud.ask("PUT", path, wrong)) == "InvalidRequestContent"
    answer = cloud.ask("PUT", f"{GROUP}/providers/Microsoft.KeyVault/vaults/one-kv", {"locaton": "eastus"})
    assert _code(answer) == "InvalidRequestContent"
