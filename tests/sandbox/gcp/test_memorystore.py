"""Memorystore for Redis through Google's own client: operations, addresses, TLS, AUTH, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from google.api_core.exceptions import InternalServerError, ResourceExhausted
from google.cloud import redis_v1
from google.protobuf.json_format import ParseError

REGION = "projects/sandbox-project/locations/us-central1"
NAME = f"{REGION}/instances/cache"


def test_an_instance_comes_up_and_goes(project: Any) -> None:
    operation = project.make_redis(wait=False)
    assert operation.metadata.verb == "create"
    assert not operation.done()
    making = project.redis.get_instance(name=NAME)
    assert (making.state, making.host) == (redis_v1.Instance.State.CREATING, "")
    project.pass_time(301)
    made = operation.result(timeout=5)
    assert made == project.redis.get_instance(name=NAME)
    assert (made.state, made.port) == (redis_v1.Instance.State.READY, 6379)
    assert made.host.startswith("10.36.0.")
    assert dict(made.labels) == {"managed-by": "agentbreeder"}
    gone = project.redis.delete_instance(name=NAME)
    assert project.redis.get_instance(name=NAME).state == redis_v1.Instance.State.DELETING
    project.pass_time(161)
    gone.result(timeout=5)
    assert list(project.redis.list_instances(parent=REGION)) == []
    assert not any(project.sandbox.standing().values())


def test_with_tls_the_port_is_another_and_the_authority_a_real_one(project: Any) -> None:
    project.make_redis(transit_encryption_mode="SERVER_AUTHENTICATION", auth_enabled=True)
    made = project.redis.get_instance(name=NAME)
    assert made.port == 6378
    assert len(made.server_ca_certs) == 1
    x509.load_pem_x509_certificate(made.server_ca_certs[0].cert.encode())


def test_the_auth_string_is_shown_by_its_own_call_alone(project: Any, refused: Any) -> None:
    project.make_redis(wait=False, auth_enabled=True)
    assert refused(project.redis.get_instance_auth_string, name=NAME)[:2] == (400, "FAILED_PRECONDITION")
    project.pass_time(301)
    secret = project.redis.get_instance_auth_string(name=NAME).auth_string
    assert len(secret) == 36
    assert secret not in str(project.redis.get_instance(name=NAME))
    project.make_redis("open")
    assert refused(project.redis.get_instance_auth_string, name=f"{REGION}/instances/open")[0] == 400


def test_enum_values_are_numbers_when_asked_for_and_names_otherwise(project: Any) -> None:
    project.make_redis()
    numbers = project.ok("GET", f"/v1/{NAME}", params={"$alt": "json;enum-encoding=int"})
    assert (numbers["state"], numbers["tier"], numbers["connectMode"], numbers["transitEncryptionMode"]) == (2, 1, 2, 2)
    assert numbers["persistenceConfig"] == {"persistenceMode": 1}
    names = project.ok("GET", f"/v1/{NAME}")
    assert (names["state"], names["tier"], names["connectMode"]) == ("READY", "BASIC", "PRIVATE_SERVICE_ACCESS")


def test_enum_values_may_be_sent_as_names_too(project: Any) -> None:
    body = {"tier": "STANDARD_HA", "memorySizeGb": 5, "connectMode": "DIRECT_PEERING"}
    project.ok("POST", f"/v1/{REGION}/instances", params={"instanceId": "ha"}, json=body)
    project.pass_time(301)
    made = project.redis.get_instance(name=f"{REGION}/instances/ha")
    assert (made.tier, made.memory_size_gb, len(made.nodes)) == (redis_v1.Instance.Tier.STANDARD_HA, 5, 2)
    assert made.host.startswith("10.216.")


def test_a_lost_reply_can_be_resumed_from_the_operation(project: Any) -> None:
    from google.api_core import operation

    name = project.make_redis().operation.name
    raw = project.redis.transport.operations_client.get_operation(name)
    resumed = operation.from_gapic(
        raw, project.redis.transport.operations_client, redis_v1.Instance, metadata_type=redis_v1.OperationMetadata
    )
    assert resumed.result(timeout=5).name == NAME


def test_an_update_changes_what_the_mask_names(project: Any, refused: Any) -> None:
    project.make_redis()
    change = {"name": NAME, "display_name": "memory", "memory_size_gb": 2}
    project.redis.update_instance(update_mask={"paths": ["display_name"]}, instance=change)
    assert project.redis.get_instance(name=NAME).state == redis_v1.Instance.State.UPDATING
    project.pass_time(301)
    made = project.redis.get_instance(name=NAME)
    assert (made.display_name, made.memory_size_gb) == ("memory", 1)
    assert (
        refused(project.redis.update_instance, update_mask={"paths": ["connect_mode"]}, instance={"name": NAME})[0]
        == 400
    )


def test_one_operation_at_a_time_is_a_failed_precondition_and_not_a_conflict(project: Any, refused: Any) -> None:
    project.make_redis(wait=False)
    status, word, message = refused(project.redis.delete_instance, name=NAME)
    assert (status, word) == (400, "FAILED_PRECONDITION")
    assert message.startswith(
        "Unable to delete due to ongoing operations. Please wait until instance is in READY state."
    )
    project.pass_time(301)
    project.redis.delete_instance(name=NAME)
    assert refused(project.redis.delete_instance, name=NAME)[:2] == (400, "FAILED_PRECONDITION")


def test_a_name_that_is_taken(project: Any, refused: Any) -> None:
    project.make_redis()
    call = {"parent": REGION, "instance_id": "cache", "instance": {"tier": "BASIC", "memory_size_gb": 1}}
    expected = (409, "ALREADY_EXISTS", f"Resource '{NAME}' already exists")
    assert refused(project.redis.create_instance, **call) == expected


def test_what_is_not_there(project: Any, refused: Any) -> None:
    expected = (404, "NOT_FOUND", f"Resource '{NAME}' was not found")
    assert refused(project.redis.get_instance, name=NAME) == expected
    assert refused(project.redis.delete_instance, name=NAME) == expected


@pytest.mark.parametrize("name", ["Cache", "1cache", "cache-", "c_c", "c" * 41, ""])
def test_a_name_against_the_rules(project: Any, name: str) -> None:
    body = {"tier": "BASIC", "memorySizeGb": 1}
    status, answer = project.call("POST", f"/v1/{REGION}/instances", params={"instanceId": name}, json=body)
    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "change",
    [
        {"tier": "TIER_UNSPECIFIED"},
        {"memory_size_gb": 0},
        {"memory_size_gb": 301},
        {"redis_version": "REDIS_8_0"},
        {"replica_count": 1},
        {"labels": {"Upper": "x"}},
        {"authorized_network": "projects/infra/global/networks/shared"},
    ],
)
def test_an_instance_that_cannot_be_made(project: Any, refused: Any, change: dict[str, Any]) -> None:
    body = {"tier": "BASIC", "memory_size_gb": 1, **change}
    call = {"parent": REGION, "instance_id": "cache", "instance": body}
    assert refused(project.redis.create_instance, **call)[:2] == (400, "INVALID_ARGUMENT")


def test_private_service_access_must_be_there_and_direct_peering_does_without(project: Any, refused: Any) -> None:
    network = "projects/sandbox-project/global/networks/no-psa"
    body = {
        "tier": "BASIC",
        "memory_size_gb": 1,
        "connect_mode": "PRIVATE_SERVICE_ACCESS",
        "authorized_network": network,
    }
    status, word, message = refused(project.redis.create_instance, parent=REGION, instance_id="cache", instance=body)
    assert (status, word) == (400, "FAILED_PRECONDITION")
    assert message.startswith("Google private service access is not enabled.")
    project.make_redis(connect_mode="DIRECT_PEERING", authorized_network=network)


@pytest.mark.parametrize(("how", "error"), [("quota", ResourceExhausted), ("failed", InternalServerError)])
def test_a_create_that_ends_badly_raises_from_the_operation_and_leaves_nothing(
    project: Any, how: str, error: type[Exception]
) -> None:
    project.sandbox.fail_next_create("redis", how)
    operation = project.make_redis()
    with pytest.raises(error):
        operation.result(timeout=5)
    assert project.sandbox.standing()["redis_instances"] == []


def test_a_full_range_is_told_by_the_operation(project: Any) -> None:
    project.sandbox.psa_range_full()
    operation = project.make_redis()
    project.redis.transport.operations_client.get_operation(operation.operation.name)
    assert "free blocks" in project.ok("GET", f"/v1/{operation.operation.name}")["error"]["message"]


def test_operations_that_cannot_be_read_go_on(project: Any) -> None:
    project.sandbox.lose_operations()
    operation = project.make_redis()
    assert project.call("GET", f"/v1/{operation.operation.name}")[0] == 404
    assert project.redis.get_instance(name=NAME).host


def test_metadata_of_an_unknown_type_makes_the_client_raise_after_the_server_made_the_instance(project: Any) -> None:
    project.sandbox.unknown_metadata = True
    with pytest.raises(ParseError, match="Can not find message descriptor"):
        project.make_redis(wait=False)
    assert project.redis.get_instance(name=NAME).state == redis_v1.Instance.State.CREATING


def test_labels_may_be_readable_late(project: Any) -> None:
    project.make_redis()
    project.sandbox.hide_tags(30.0)
    assert not project.redis.get_instance(name=NAME).labels
    project.pass_time(30)
    assert project.redis.get_instance(name=NAME).labels


def test_cloud_sql_and_memorystore_never_get_the_same_address(project: Any) -> None:
    for n in range(3):
        project.make_sql(f"pg{n}", wait=False)
        project.make_redis(f"cache{n}", wait=False)
    project.pass_time(421)
    addresses = [project.sql("GET", f"/pg{n}")["ipAddresses"][0]["ipAddress"] for n in range(3)]
    addresses += [i.host for i in project.redis.list_instances(parent=REGION)]
    assert len(set(addresses)) == 6
