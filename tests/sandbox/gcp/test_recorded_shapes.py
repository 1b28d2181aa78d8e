"""The stand-in's answers against recordings of the real service: same fields, same JSON types.

`recorded_shapes.json` holds shapes alone, written down from public recordings of other projects: every field's path by
its type. What differs is listed here with its reason; any other difference fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.shapes import differences

RECORDED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "recorded_shapes.json").read_text())
_OLD = "/sql/v1beta4/projects/sandbox-project"

_CANCEL = "raw recordings carry it (facts, section 3.2); the recorder of this one left it out"
_AUTOMATIC = "the recorded network was made in custom mode and without a peering"
# A missing field starts with `-`, an additional one with `+`.
KNOWN: dict[str, dict[str, str]] = {
    "sql.instance.private": {
        "-settings.ipConfiguration.allocatedIpRange": "sent by the recorded client, not by ours",
        "-settings.ipConfiguration.enablePrivatePathForGoogleCloudServices": "sent by the recorded client, not by ours",
    },
    "redis.operation.begun": {"+metadata.cancelRequested": _CANCEL},
    "redis.operation.created": {
        "+metadata.cancelRequested": _CANCEL,
        "-response.displayName": "sent by the recorded client, not by ours",
        "+response.labels": "sent by our client, not by the recorded one",
        "+response.labels.*": "sent by our client, not by the recorded one",
    },
    "redis.operation.deleted": {"+metadata.cancelRequested": _CANCEL},
    "redis.instance": {
        "-displayName": "sent by the recorded client, not by ours",
        "+labels": "sent by our client, not by the recorded one",
        "+labels.*": "sent by our client, not by the recorded one",
    },
    "network": {
        "+peerings": _AUTOMATIC,
        "+peerings[]": _AUTOMATIC,
        "+peerings[].autoCreateRoutes": _AUTOMATIC,
        "+peerings[].exchangeSubnetRoutes": _AUTOMATIC,
        "+peerings[].name": _AUTOMATIC,
        "+peerings[].network": _AUTOMATIC,
        "+peerings[].state": _AUTOMATIC,
        "+routingConfig": "in the API's description; the recorder left it out",
        "+routingConfig.routingMode": "in the API's description; the recorder left it out",
    },
    "address": {
        "-labels": "the ready range has none",
        "-labels.*": "the ready range has none",
        "+status": "in the API's description; the recorder left it out",
    },
}


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[int, Any]]:
    """Filled by the first test that asks: one run through everything that was recorded."""
    return {}


@pytest.fixture
def answer_to(project: Any, body: Any, answers: dict[str, tuple[int, Any]]) -> Any:
    if not answers:
        answers |= dict(_sql(project, body))
        answers |= dict(_redis(project))
        answers |= dict(_secrets(project))
        answers |= dict(_network(project))
    return answers


def _sql(project: Any, body: Any) -> Iterator[tuple[str, tuple[int, Any]]]:
    yield "sql.instance.missing", project.call("GET", f"{_OLD}/instances/pg")
    begun = project.call("POST", f"{_OLD}/instances", json=body())
    yield "sql.operation.begun", begun
    project.pass_time(421)
    yield "sql.operation.done", project.call("GET", f"{_OLD}/operations/{begun[1]['name']}")
    yield "sql.instance.private", project.call("GET", f"{_OLD}/instances/pg")
    yield "sql.users", project.call("GET", f"{_OLD}/instances/pg/users")
    new = {"name": "agent", "password": "x"}
    yield "sql.user.operation", project.call("POST", f"{_OLD}/instances/pg/users", json=new)
    for name in ("agent", "postgres"):
        project.call("DELETE", f"{_OLD}/instances/pg/users", params={"name": name})
    yield "sql.users.none", project.call("GET", f"{_OLD}/instances/pg/users")
    yield "sql.database.missing", project.call("GET", f"{_OLD}/instances/pg/databases/memory")
    made = project.call("POST", f"{_OLD}/instances/pg/databases", json={"name": "memory"})
    yield "sql.database.operation", made
    project.pass_time(6)
    yield "sql.database", project.call("GET", f"{_OLD}/instances/pg/databases/memory")


def _redis(project: Any) -> Iterator[tuple[str, tuple[int, Any]]]:
    numbers = "%24alt=json%3Benum-encoding%3Dint"
    instances = "/v1/projects/sandbox-project/locations/us-central1/instances"
    yield "redis.instance.missing", project.call("GET", f"{instances}/cache?{numbers}")
    new = {"tier": 1, "memorySizeGb": 1, "labels": {"a": "b"}}
    begun = project.call("POST", f"{instances}?{numbers}&instanceId=cache", json=new)
    yield "redis.operation.begun", begun
    project.pass_time(301)
    yield "redis.operation.created", project.call("GET", f"/v1/{begun[1]['name']}")
    yield "redis.instance", project.call("GET", f"{instances}/cache?{numbers}")
    gone = project.call("DELETE", f"{instances}/cache?{numbers}")
    project.pass_time(161)
    yield "redis.operation.deleted", project.call("GET", f"/v1/{gone[1]['name']}")


def _secrets(project: Any) -> Iterator[tuple[str, tuple[int, Any]]]:
    numbers = "%24alt=json%3Benum-encoding%3Dint"
    secrets = "/v1/projects/sandbox-project/secrets"
    yield "secret.missing", project.call("GET", f"{secrets}/url?{numbers}")
    new = {"labels": {"a": "b"}, "replication": {"automatic": {}}}
    yield "secret", project.call("POST", f"{secrets}?{numbers}&secretId=url", json=new)
    payload = {"payload": {"data": "aHVzaA=="}}
    yield "secret.version", project.call("POST", f"{secrets}/url:addVersion?{numbers}", json=payload)
    destroyed = project.call("POST", f"{secrets}/url/versions/1:destroy?{numbers}", json={})
    yield "secret.version.destroyed", destroyed
    yield "secret.deleted", project.call("DELETE", f"{secrets}/url?{numbers}")


def _network(project: Any) -> Iterator[tuple[str, tuple[int, Any]]]:
    compute = "/compute/v1/projects/sandbox-project/global"
    connections = (
        "/v1/services/servicenetworking.googleapis.com/connections?network=projects/123456789012/global/networks"
    )
    yield "network", project.call("GET", f"{compute}/networks/default")
    yield "network.missing", project.call("GET", f"{compute}/networks/gone")
    yield "address", project.call("GET", f"{compute}/addresses/default-google-services")
    yield "connections", project.call("GET", f"{connections}/default")
    yield "connections.none", project.call("GET", f"{connections}/no-psa")


@pytest.mark.parametrize("kind", sorted(RECORDED))
def test_an_answer_has_the_recorded_fields_and_types_but_for_the_known_differences(kind: str, answer_to: Any) -> None:
    status, answer = answer_to[kind]
    assert status == RECORDED[kind]["status"]
    assert differences(answer, RECORDED[kind]) == set(KNOWN.get(kind, {}))


def test_every_known_difference_belongs_to_a_recorded_kind() -> None:
    assert KNOWN.keys() <= RECORDED.keys()


def test_values_that_clients_compare_are_the_recorded_ones(answer_to: Any) -> None:
    assert answer_to["sql.instance.missing"][1]["error"]["errors"][0]["reason"] == "instanceDoesNotExist"
    assert answer_to["sql.operation.begun"][1]["status"] == "PENDING"
    assert answer_to["sql.user.operation"][1]["status"] == "DONE"
    assert answer_to["redis.instance"][1]["state"] == 2
    assert answer_to["redis.operation.created"][1]["response"]["state"] == "READY"
    assert answer_to["redis.operation.deleted"][1]["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert answer_to["secret.version"][1]["state"] == 1
    assert answer_to["connections.none"][1] == {}
