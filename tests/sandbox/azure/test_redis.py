"""Azure Managed Redis and the classic cache through the real clients."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from .conftest import RG, Cloud, Refused, cache, cluster


def test_a_managed_redis_is_a_cluster_and_one_database_with_a_key(cloud: Cloud) -> None:
    made = cloud.make_cluster()
    assert made.host_name == "one-redis.eastus.redis.azure.net"
    database = cloud.make_database()
    assert (database.port, database.client_protocol, database.clustering_policy) == (10000, "Encrypted", "NoCluster")
    keys = cloud.amr.databases.list_keys(RG, "one-redis", "default")
    assert len(base64.b64decode(keys.primary_key)) == 32
    assert set("+/") & set(keys.primary_key)
    assert cloud.sandbox.inventory()["redis_enterprise"] == ["sandbox-rg/one-redis databases=default"]
    cloud.amr.databases.begin_delete(RG, "one-redis", "default").result()
    cloud.amr.redis_enterprise.begin_delete(RG, "one-redis").result()
    assert cloud.sandbox.inventory()["redis_enterprise"] == []


def test_deleting_a_cluster_takes_its_database_along(cloud: Cloud) -> None:
    cloud.make_cluster()
    cloud.make_database()
    cloud.amr.redis_enterprise.begin_delete(RG, "one-redis").result()
    assert cloud.sandbox.inventory()["redis_enterprise"] == []
    cloud.amr.redis_enterprise.begin_delete(RG, "one-redis").result()


def test_the_operation_ends_before_the_cluster_runs(cloud: Cloud, refused: Refused) -> None:
    made = cloud.amr.redis_enterprise.begin_create(RG, "one-redis", cluster()).result()
    assert (made.provisioning_state, made.resource_state) == ("Succeeded", "Creating")
    early = refused(cloud.amr.databases.begin_create, RG, "one-redis", "default", {"properties": {}})
    assert (early.status, early.code) == (409, "Conflict")
    cloud.pass_time(31)
    assert cloud.amr.redis_enterprise.get(RG, "one-redis").resource_state == "Running"


def test_what_is_being_made_is_not_deleted(cloud: Cloud, refused: Refused) -> None:
    cloud.amr.redis_enterprise.begin_create(RG, "one-redis", cluster(), polling=False)
    said = refused(cloud.amr.redis_enterprise.begin_delete, RG, "one-redis")
    assert (said.status, said.code) == (409, "Conflict")


def test_keys_are_off_unless_asked_for(cloud: Cloud, refused: Refused) -> None:
    cloud.make_cluster()
    body: dict[str, Any] = {"properties": {}}
    made = cloud.amr.databases.begin_create(RG, "one-redis", "default", body).result()
    assert (made.access_keys_authentication, made.clustering_policy) == ("Disabled", "OSSCluster")
    cloud.pass_time(60)
    assert refused(cloud.amr.databases.list_keys, RG, "one-redis", "default").status == 400
    change = {"properties": {"accessKeysAuthentication": "Enabled"}}
    cloud.amr.databases.begin_update(RG, "one-redis", "default", change).result()
    assert cloud.amr.databases.list_keys(RG, "one-redis", "default").primary_key


_CLUSTERS: list[tuple[str, dict[str, Any]]] = [
    ("a retired SKU", {"sku": {"name": "Enterprise_E5", "capacity": 2}}),
    ("an unknown SKU", {"sku": {"name": "Basic_C0"}}),
    ("no word on public access", {"properties": {"minimumTlsVersion": "1.2"}}),
    ("an old TLS", {"properties": {"minimumTlsVersion": "1.0", "publicNetworkAccess": "Enabled"}}),
]


@pytest.mark.parametrize(("what", "changes"), _CLUSTERS, ids=[what for what, _ in _CLUSTERS])
def test_a_cluster_is_refused(cloud: Cloud, refused: Refused, what: str, changes: dict[str, Any]) -> None:
    said = refused(cloud.amr.redis_enterprise.begin_create, RG, "one-redis", cluster(**changes))
    assert (said.status, said.code) == (400, "BadRequest")
    assert cloud.sandbox.inventory()["redis_enterprise"] == []


@pytest.mark.parametrize("name", ["a--b", "ab", "x" * 60])
def test_a_bad_cluster_name_is_refused(cloud: Cloud, refused: Refused, name: str) -> None:
    assert refused(cloud.amr.redis_enterprise.begin_create, RG, name, cluster()).code == "BadRequest"


def test_a_cluster_name_is_taken_in_its_region(cloud: Cloud, refused: Refused) -> None:
    cloud.make_cluster()
    other = cloud.sandbox.second_group()
    assert refused(cloud.amr.redis_enterprise.begin_create, other, "one-redis", cluster()).status == 409


_DATABASES: list[tuple[str, str, dict[str, Any]]] = [
    ("a name other than default", "memory", {}),
    ("an unknown policy", "default", {"clusteringPolicy": "Sharded"}),
    ("another port", "default", {"port": 6379}),
    ("search without its policy", "default", {"modules": [{"name": "RediSearch"}]}),
]


@pytest.mark.parametrize(("what", "name", "given"), _DATABASES, ids=[what for what, _, _ in _DATABASES])
def test_a_database_is_refused(cloud: Cloud, refused: Refused, what: str, name: str, given: dict[str, Any]) -> None:
    cloud.make_cluster()
    said = refused(cloud.amr.databases.begin_create, RG, "one-redis", name, {"properties": given})
    assert (said.status, said.code) == (400, "BadRequest")


def test_large_sizes_cannot_go_without_clustering_and_a_policy_is_for_ever(cloud: Cloud, refused: Refused) -> None:
    cloud.make_cluster(sku={"name": "Balanced_B50"})
    no_cluster = {"properties": {"clusteringPolicy": "NoCluster"}}
    assert refused(cloud.amr.databases.begin_create, RG, "one-redis", "default", no_cluster).status == 400
    cloud.make_database(clusteringPolicy="EnterpriseCluster")
    assert refused(cloud.amr.databases.begin_create, RG, "one-redis", "default", no_cluster).status == 400


def test_a_database_takes_no_tags_and_needs_its_cluster(cloud: Cloud, refused: Refused) -> None:
    lone = refused(cloud.amr.databases.begin_create, RG, "one-redis", "default", {"properties": {}})
    assert lone.code == "ParentResourceNotFound"
    cloud.make_cluster()
    tagged = {"properties": {}, "tags": {"a": "b"}}
    path = "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Cache/redisEnterprise/one-redis/databases/default"
    answer = cloud.ask("PUT", path.format(cloud.sandbox.subscription_id, RG), tagged)
    assert answer.json()["error"]["code"] == "InvalidRequestContent"


def test_a_failed_create_keeps_the_name_until_it_is_deleted(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.fail_next_create("amr", "create-failed")
    with pytest.raises(HttpResponseError) as caught:
        cloud.amr.redis_enterprise.begin_create(RG, "one-redis", cluster()).result()
    assert caught.value.status_code == 200
    assert cloud.amr.redis_enterprise.get(RG, "one-redis").resource_state == "CreateFailed"
    assert refused(cloud.amr.redis_enterprise.begin_create, RG, "one-redis", cluster()).status == 409
    cloud.amr.redis_enterprise.begin_delete(RG, "one-redis").result()
    cloud.make_cluster()
    cloud.sandbox.fail_next_create("amr_db", "async-failed")
    with pytest.raises(HttpResponseError):
        cloud.make_database()
    cloud.make_database()


def test_a_new_tenant_cannot_make_a_classic_cache(cloud: Cloud, refused: Refused) -> None:
    said = refused(cloud.redis.redis.begin_create, RG, "one-cache", cache())
    assert (said.status, said.code) == (400, "BadRequest")
    assert "AzureCacheForRedisRetirement" in said.message


def test_a_classic_cache_shows_its_keys_once_and_then_only_when_asked(cloud: Cloud) -> None:
    cloud.sandbox.tenant_may_create_cache = True
    seen: list[Any] = []
    cloud.redis.redis.begin_create(RG, "one-cache", cache(), polling=False, raw_response_hook=seen.append)
    first = seen[0].http_response
    assert first.status_code == 201
    shown = first.json()["properties"]["accessKeys"]["primaryKey"]
    assert first.json()["id"].endswith("/Microsoft.Cache/Redis/one-cache")
    cloud.pass_time(801)
    made = cloud.redis.redis.get(RG, "one-cache")
    assert (made.provisioning_state, made.access_keys, made.ssl_port) == ("Succeeded", None, 6380)
    assert cloud.redis.redis.list_keys(RG, "one-cache").primary_key == shown


def test_a_classic_cache_is_polled_to_its_end_and_its_name_stays_taken(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.tenant_may_create_cache = True
    ask = {"name": "one-cache", "type": "Microsoft.Cache/Redis"}
    cloud.redis.redis.check_name_availability(ask)
    assert cloud.make_cache().host_name == "one-cache.redis.cache.windows.net"
    assert refused(cloud.redis.redis.check_name_availability, ask).code == "NameNotAvailable"
    seen: list[Any] = []
    cloud.redis.redis.begin_delete(RG, "one-cache", raw_response_hook=seen.append).result()
    assert "Azure-AsyncOperation" not in seen[0].http_response.headers
    assert "Location" in seen[0].http_response.headers
    assert refused(cloud.redis.redis.begin_create, RG, "one-cache", cache()).code == "NameNotAvailable"
    assert cloud.sandbox.standing()["redis_caches"] == []
    assert cloud.sandbox.inventory()["held_names"] == ["cache/one-cache"]
    cloud.pass_time(600)
    cloud.make_cache()


_CACHES: list[tuple[str, dict[str, Any]]] = [
    ("a size that is none", {"sku": {"name": "Basic", "family": "P", "capacity": 1}}),
    ("a subnet below Premium", {"subnetId": "/x"}),
    ("an old TLS", {"minimumTlsVersion": "1.0"}),
]


@pytest.mark.parametrize(("what", "given"), _CACHES, ids=[what for what, _ in _CACHES])
def test_a_classic_cache_is_refused(cloud: Cloud, refused: Refused, what: str, given: dict[str, Any]) -> None:
    cloud.sandbox.tenant_may_create_cache = True
    assert refused(cloud.redis.redis.begin_create, RG, "one-cache", cache(**given)).code == "BadRequest"


def test_a_classic_cache_without_keys_gives_none_and_one_that_is_being_made_is_busy(
    cloud: Cloud, refused: Refused
) -> None:
    cloud.sandbox.tenant_may_create_cache = True
    body = cache(disableAccessKeyAuthentication=True)
    cloud.redis.redis.begin_create(RG, "one-cache", body, polling=False)
    assert refused(cloud.redis.redis.begin_delete, RG, "one-cache").code == "Conflict"
    cloud.pass_time(801)
    assert refused(cloud.redis.redis.list_keys, RG, "one-cache").status == 400
    changed = cloud.redis.redis.begin_update(RG, "one-cache", {"tags": {"a": "b"}}).result()
    assert changed.tags == {"a": "b"}


def test_a_classic_cache_can_fail_after_it_was_accepted(cloud: Cloud) -> None:
    cloud.sandbox.tenant_may_create_cache = True
    cloud.sandbox.fail_next_create("cache", "create-failed")
    with pytest.raises(HttpResponseError):
        cloud.make_cache()
    assert cloud.redis.redis.get(RG, "one-cache").provisioning_state == "Failed"
