"""Requests against Google's own description of its APIs."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import redis_v1
from google.cloud import secretmanager_v1 as sm

from agentbreeder_sandbox.gcp.enums import NUMBERS

SQL = "/v1/projects/sandbox-project/instances"
REDIS = "/v1/projects/sandbox-project/locations/us-central1/instances?instanceId=cache"
SECRETS = "/v1/projects/sandbox-project/secrets?secretId=url"
GOOD = {
    SQL: {"name": "pg", "region": "us-central1", "databaseVersion": "POSTGRES_17"},
    REDIS: {"tier": "BASIC", "memorySizeGb": 1},
    SECRETS: {"replication": {"automatic": {}}},
}


@pytest.mark.parametrize(
    ("path", "extra", "message"),
    [
        (SQL, {"colour": 1}, 'Unknown name "colour" at \'body\': Cannot find field.'),
        (SQL, {"settings": {"ipConfiguration": {"x": 1}}}, "at 'body.settings.ip_configuration': Cannot find field."),
        (SQL, {"settings": "big"}, "Invalid value at 'body.settings' (type.googleapis.com/google.sqladmin.Settings), \"big\""),
        (SQL, {"settings": {"edition": "CHEAP"}}, "Invalid value at 'body.settings.edition'"),
        (SQL, {"settings": {"dataDiskSizeGb": "ten"}}, "(TYPE_INT64), \"ten\""),
        (SQL, {"settings": {"userLabels": {"a": 1}}}, "Invalid value at 'body.settings.user_labels[0].value' (TYPE_STRING), 1"),
        (SQL, {"settings": {"tier": {"a": 1}}}, "Starting an object on a scalar field"),
        (SQL, {"region": ["us"]}, 'Unknown name "region" at \'body\': Proto field is not repeating, cannot start list.'),
        (REDIS, {"memorySizeGb": "1.5"}, "Invalid value at 'instance.memory_size_gb' (TYPE_INT32), \"1.5\""),
        (REDIS, {"tier": 2}, "Invalid value at 'instance.tier' (type.googleapis.com/google.cloud.redis.v1.Instance.Tier), 2"),
        (REDIS, {"authEnabled": "yes"}, "Invalid value at 'instance.auth_enabled' (TYPE_BOOL), \"yes\""),
        (SECRETS, {"lables": {}}, 'Unknown name "lables" at \'secret\': Cannot find field.'),
        (SECRETS, {"expireTime": "tomorrow"}, "google.protobuf.Timestamp"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_fit_is_a_400_that_names_it(
    project: Any, path: str, extra: dict[str, Any], message: str
) -> None:
    status, answer = project.call("POST", path, json={**GOOD[path], **extra})
    error = answer["error"]
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert message in error["message"]
    assert error["details"][0]["fieldViolations"]
    assert ("errors" in error) == (path == SQL)


def test_every_violation_is_told_at_once(project: Any) -> None:
    _, answer = project.call("POST", REDIS, json={"tier": "HUGE", "memorySizeGb": "x", "colour": "red"})
    assert len(answer["error"]["details"][0]["fieldViolations"]) == 3


def test_a_body_that_is_not_json_or_not_an_object_is_a_400(project: Any) -> None:
    for data in (b"{", b"[]", b'"text"'):
        status, answer = project.call("POST", SECRETS, data=data, headers={"Content-Type": "application/json"})
        assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_field_names_in_snake_case_nulls_and_numbers_for_long_integers_are_taken(project: Any) -> None:
    body = {"tier": 1, "memory_size_gb": 1, "displayName": None, "auth_enabled": "true"}
    project.ok("POST", REDIS, json=body)
    settings = {"edition": "ENTERPRISE", "tier": "db-f1-micro", "data_disk_size_gb": 20}
    project.ok("POST", SQL, json={**GOOD[SQL], "settings": settings})
    assert project.ok("GET", f"{SQL}/pg")["settings"]["dataDiskSizeGb"] == "20"


def test_output_fields_in_a_body_are_left_aside(project: Any) -> None:
    project.ok("POST", REDIS, json={**GOOD[REDIS], "state": "READY", "host": "1.2.3.4", "port": 1})
    making = project.ok("GET", "/v1/projects/sandbox-project/locations/us-central1/instances/cache")
    assert making["state"] == "CREATING"
    assert "host" not in making


def test_a_request_message_may_repeat_the_names_of_its_path(project: Any) -> None:
    project.ok("POST", SECRETS, json=GOOD[SECRETS])
    name = "projects/sandbox-project/secrets/url"
    project.ok("POST", f"/v1/{name}:addVersion", json={"parent": name, "payload": {"data": "aHVzaA=="}})
    status, answer = project.call("POST", f"/v1/{name}:addVersion", json={"payload": {"data": "%%"}})
    assert status == 400
    assert "TYPE_BYTES" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("colour=red", 400, "Unknown name \"colour\": Cannot bind query parameter."),
        ("maxResults=many", 400, "Invalid value at 'max_results'"),
        ("maxResults=1&maxResults=2", 400, "may be given once"),
        ("alt=json&prettyPrint=false&key=k&%24.xgafv=2&quotaUser=me", 200, ""),
        ("fields=items", 501, "the parameters fields"),
        ("filter=a%20OR%20b", 501, "the filter"),
        ("pageToken=junk", 400, "page token"),
    ],
)  # fmt: skip
def test_query_parameters_are_checked_too(project: Any, query: str, status: int, message: str) -> None:
    got, answer = project.call("GET", f"{SQL}?{query}")
    assert got == status
    assert message in str(answer.get("error", {}).get("message", ""))


def test_a_method_that_no_api_has_is_a_web_page_and_one_that_the_stand_in_has_not_a_501(project: Any) -> None:
    status, page = project.call("GET", "/v1/projects/sandbox-project/castles")
    assert status == 404
    assert page.startswith("<!DOCTYPE html>")
    assert project.call("POST", f"{SQL}/pg")[0] == 404
    status, answer = project.call("POST", f"{SQL}/pg/clone", json={})
    assert (status, answer["error"]["errors"][0]["reason"]) == (501, "notImplemented")
    status, answer = project.call(
        "POST", "/v1/projects/sandbox-project/locations/us-central1/instances/cache:failover", json={}
    )
    assert (status, answer["error"]["status"]) == (501, "UNIMPLEMENTED")


@pytest.mark.parametrize(
    ("schema", "field", "library"),
    [
        ("Instance", "tier", redis_v1.Instance.Tier),
        ("Instance", "connectMode", redis_v1.Instance.ConnectMode),
        ("Instance", "transitEncryptionMode", redis_v1.Instance.TransitEncryptionMode),
        ("Instance", "readReplicasMode", redis_v1.Instance.ReadReplicasMode),
        ("Instance", "state", redis_v1.Instance.State),
        ("PersistenceConfig", "persistenceMode", redis_v1.PersistenceConfig.PersistenceMode),
        ("PersistenceConfig", "rdbSnapshotPeriod", redis_v1.PersistenceConfig.SnapshotPeriod),
        ("SecretVersion", "state", sm.SecretVersion.State),
    ],
)
def test_the_numbers_of_enum_values_are_the_librarys(schema: str, field: str, library: Any) -> None:
    assert NUMBERS[schema, field] == {value.name: value.value for value in library}
