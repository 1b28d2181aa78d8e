"""PostgreSQL Flexible Server through the real client: long operations, one change at a time, databases, parameters."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from agentbreeder_sandbox.azure.world import SUBSCRIPTION

from .conftest import PASSWORD, RG, Cloud, Refused


def test_a_server_is_made_found_and_deleted(cloud: Cloud, refused: Refused) -> None:
    zone = cloud.make_zone()
    made = cloud.make_server(private=True, tags={"agentbreeder-team": "core"})
    assert made.properties.fully_qualified_domain_name == "one-pg.postgres.database.azure.com"
    assert made.properties.network.private_dns_zone_arm_resource_id == zone
    assert made.properties.network.public_network_access == "Disabled"
    assert (made.location, made.properties.state) == ("East US", "Ready")
    assert made.tags == {"agentbreeder-team": "core"}
    assert cloud.sandbox.inventory()["pg_servers"] == ["sandbox-rg/one-pg databases= azure.extensions="]
    cloud.pg.servers.begin_delete(RG, "one-pg").result()
    assert refused(cloud.pg.servers.get, RG, "one-pg").code == "ResourceNotFound"
    assert cloud.sandbox.inventory()["pg_servers"] == []


def test_deleting_what_is_not_there_is_204(cloud: Cloud) -> None:
    seen: list[Any] = []
    cloud.pg.servers.begin_delete(RG, "one-pg", raw_response_hook=seen.append).result()
    assert seen[0].http_response.status_code == 204


def test_a_create_answers_with_the_operation_and_long_signed_urls(cloud: Cloud) -> None:
    seen: list[Any] = []
    cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server(), polling=False, raw_response_hook=seen.append)
    answer = seen[0].http_response
    assert answer.status_code == 202
    assert answer.json()["operation"] == "UpsertServerManagementOperationV2"
    assert answer.headers["Retry-After"] == "60"
    url = answer.headers["Azure-AsyncOperation"]
    assert url.startswith("https://management.azure.com/subscriptions/")
    assert "/locations/eastus/azureAsyncOperation/" in url
    assert len(url) > 4000
    assert cloud.ask("GET", url).json()["status"] == "InProgress"
    cloud.pass_time(301)
    assert cloud.ask("GET", url).json()["status"] == "Succeeded"
    assert cloud.ask("GET", answer.headers["Location"]).json()["name"] == "one-pg"


def test_a_poll_url_must_be_followed_as_it_is(cloud: Cloud) -> None:
    seen: list[Any] = []
    cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server(), polling=False, raw_response_hook=seen.append)
    url = seen[0].http_response.headers["Azure-AsyncOperation"]
    assert cloud.ask("GET", url.partition("&t=")[0]).status_code == 400
    other = url.replace("/azureAsyncOperation/", "/azureAsyncOperation/0")
    assert cloud.ask("GET", other).json()["error"]["code"] == "OperationIdNotFound"


def test_polls_go_at_the_pace_that_the_header_asks_for_and_at_the_sdks_own_when_it_says_0(cloud: Cloud) -> None:
    cloud.make_server()
    assert set(cloud.wire.waits) == {60}
    cloud.sandbox.retry_after = "0"
    cloud.wire.waits.clear()
    cloud.pg.servers.begin_delete(RG, "one-pg").result()
    assert set(cloud.wire.waits) == {30}


def test_a_new_server_is_unknown_at_first_then_provisioning_then_ready(cloud: Cloud, refused: Refused) -> None:
    cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server(), polling=False)
    assert refused(cloud.pg.servers.get, RG, "one-pg").status == 404
    assert list(cloud.pg.servers.list_by_resource_group(RG)) == []
    cloud.pass_time(8)
    assert cloud.pg.servers.get(RG, "one-pg").properties.state == "Provisioning"
    cloud.pass_time(300)
    assert cloud.pg.servers.get(RG, "one-pg").properties.state == "Ready"
    assert [s.name for s in cloud.pg.servers.list_by_resource_group(RG)] == ["one-pg"]
    assert [s.name for s in cloud.pg.servers.list_by_subscription()] == ["one-pg"]


def test_a_server_takes_one_change_at_a_time_also_right_after_its_creation(cloud: Cloud, refused: Refused) -> None:
    cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server()).result()
    database = {"properties": {"charset": "utf8", "collation": "en_US.utf8"}}
    busy = refused(cloud.pg.databases.begin_create, RG, "one-pg", "memory", database)
    assert (busy.status, busy.code) == (409, "ServerIsBusy")
    cloud.pass_time(30)
    cloud.pg.databases.begin_create(RG, "one-pg", "memory", database, polling=False)
    assert refused(cloud.pg.servers.begin_delete, RG, "one-pg").code == "ServerIsBusy"
    cloud.pass_time(30)
    cloud.pg.servers.begin_delete(RG, "one-pg", polling=False)
    assert refused(cloud.pg.databases.begin_delete, RG, "one-pg", "memory").code == "ServerIsBusy"
    assert cloud.pg.servers.get(RG, "one-pg").properties.state == "Dropping"


def test_a_database_comes_back_with_its_charset_in_capitals(cloud: Cloud) -> None:
    cloud.make_server()
    body = {"properties": {"charset": "utf8", "collation": "en_US.utf8"}}
    made = cloud.pg.databases.begin_create(RG, "one-pg", "memory", body).result()
    assert (made.properties.charset, made.properties.collation) == ("UTF8", "en_US.utf8")
    names = {d.name for d in cloud.pg.databases.list_by_server(RG, "one-pg")}
    assert names == {"azure_maintenance", "azure_sys", "postgres", "memory"}
    assert cloud.sandbox.inventory()["pg_servers"] == ["sandbox-rg/one-pg databases=memory azure.extensions="]
    cloud.pg.databases.begin_delete(RG, "one-pg", "memory").result()
    assert cloud.sandbox.inventory()["pg_servers"] == ["sandbox-rg/one-pg databases= azure.extensions="]


def test_allowed_extensions_are_a_set_that_each_change_replaces(cloud: Cloud, refused: Refused) -> None:
    cloud.make_server()
    before = cloud.pg.configurations.get(RG, "one-pg", "azure.extensions").properties
    assert (before.value, before.source, before.data_type) == ("", "system-default", "Set")
    assert before.is_dynamic_config
    assert before.allowed_values.startswith(",")
    assert "vector" in before.allowed_values.split(",")
    change = {"properties": {"value": "vector,pg_trgm", "source": "user-override"}}
    cloud.pg.configurations.begin_update(RG, "one-pg", "azure.extensions", change).result()
    change["properties"]["value"] = "VECTOR"
    changed = cloud.pg.configurations.begin_update(RG, "one-pg", "azure.extensions", change).result().properties
    assert (changed.value, changed.source, changed.is_config_pending_restart) == ("VECTOR", "user-override", False)
    assert cloud.sandbox.inventory()["pg_servers"] == ["sandbox-rg/one-pg databases= azure.extensions=VECTOR"]
    change["properties"]["value"] = "pgvector"
    wrong = refused(cloud.pg.configurations.begin_update, RG, "one-pg", "azure.extensions", change)
    assert (wrong.status, wrong.code) == (400, "InvalidParameterValue")


def test_a_parameter_that_needs_a_restart_says_so(cloud: Cloud) -> None:
    cloud.make_server()
    change = {"properties": {"value": "pgaudit", "source": "user-override"}}
    changed = cloud.pg.configurations.begin_put(RG, "one-pg", "shared_preload_libraries", change).result()
    assert changed.properties.is_config_pending_restart
    assert len(list(cloud.pg.configurations.list_by_server(RG, "one-pg"))) > 2


def test_a_change_of_tags_replaces_them_and_can_be_readable_late(cloud: Cloud) -> None:
    cloud.make_server(tags={"a": "1"})
    cloud.sandbox.tag_lag_s = 300
    cloud.pg.servers.begin_update(RG, "one-pg", {"tags": {"b": "2"}}).result()
    assert cloud.pg.servers.get(RG, "one-pg").tags == {"a": "1"}
    cloud.pass_time(300)
    assert cloud.pg.servers.get(RG, "one-pg").tags == {"b": "2"}


def test_a_server_grows_and_never_shrinks(cloud: Cloud, refused: Refused) -> None:
    cloud.make_server()
    bigger = {"sku": {"name": "Standard_B2s", "tier": "Burstable"}, "properties": {"storage": {"storageSizeGB": 64}}}
    changed = cloud.pg.servers.begin_update(RG, "one-pg", bigger).result()
    assert (changed.sku.name, changed.properties.storage.storage_size_gb) == ("Standard_B2s", 64)
    smaller = {"properties": {"storage": {"storageSizeGB": 32}}}
    assert refused(cloud.pg.servers.begin_update, RG, "one-pg", smaller).status == 400


def test_the_password_is_in_no_answer(cloud: Cloud) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{RG}/providers/Microsoft.DBforPostgreSQL/flexibleServers"
    made = cloud.ask("PUT", f"{path}/one-pg", cloud.server())
    poll = made.headers["Azure-AsyncOperation"]
    cloud.pass_time(400)
    seen = [made, *(cloud.ask("GET", url) for url in (poll, made.headers["Location"], f"{path}/one-pg", path))]
    assert [answer.status_code for answer in seen] == [202, 200, 200, 200, 200]
    assert not any(PASSWORD in answer.text() for answer in seen)


@pytest.mark.parametrize(("how", "left"), [("async-failed", []), ("create-failed", ["one-pg"])])
def test_a_create_can_fail_after_it_was_accepted_with_a_200_that_says_failed(
    cloud: Cloud, how: Any, left: list[str]
) -> None:
    cloud.sandbox.fail_next_create("pg", how)
    with pytest.raises(HttpResponseError) as caught:
        cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server()).result()
    assert caught.value.status_code == 200
    assert caught.value.error.code == "InternalServerError"  # type: ignore[union-attr]
    assert [s.name for s in cloud.pg.servers.list_by_resource_group(RG)] == left


def test_a_create_can_be_refused_because_the_server_is_busy(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.fail_next_create("pg", "server-is-busy")
    assert refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", cloud.server()).code == "ServerIsBusy"
    cloud.make_server()


def test_the_region_says_what_it_offers(cloud: Cloud) -> None:
    found = next(iter(cloud.pg.capabilities_by_location.list("eastus")))
    assert found.restricted == "Disabled"
    burstable = next(e for e in found.supported_server_editions if e.name == "Burstable")
    assert burstable.default_sku_name == "Standard_B2s"
    assert "Standard_B1ms" in [s.name for s in burstable.supported_server_skus]
    assert "17" in [v.name for v in found.supported_server_versions]
    cloud.sandbox.restrict_location()
    assert next(iter(cloud.pg.capabilities_by_location.list("eastus"))).restricted == "Enabled"
    assert cloud.pg.private_dns_zone_suffix.get() == "postgres.database.azure.com"


def test_a_name_is_free_taken_or_not_a_name(cloud: Cloud) -> None:
    ask = {"name": "one-pg", "type": "Microsoft.DBforPostgreSQL/flexibleServers"}
    assert cloud.pg.name_availability.check_with_location("eastus", ask).name_available
    cloud.sandbox.take_server_name("one-pg")
    taken = cloud.pg.name_availability.check_globally(ask)
    assert (taken.name_available, taken.reason) == (False, "AlreadyExists")
    assert taken.message == "Specified server name is already used."
    assert cloud.pg.name_availability.check_globally({**ask, "name": "One_PG"}).reason == "Invalid"
