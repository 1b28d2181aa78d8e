"""What a deploy looks at before it makes anything: the project, its APIs, the network and its range."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

COMPUTE = "/compute/v1/projects/sandbox-project/global"
CONNECTIONS = "/v1/services/servicenetworking.googleapis.com/connections"
ROUTES = {"peeringName": "servicenetworking-googleapis-com", "direction": "INCOMING", "region": "us-central1"}


def test_the_project_is_known_by_id_and_by_number(project: Any) -> None:
    by_id = project.ok("GET", "/v1/projects/sandbox-project")
    assert (by_id["projectId"], by_id["projectNumber"]) == ("sandbox-project", "123456789012")
    assert project.ok("GET", "/v1/projects/123456789012") == by_id


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/v1/projects/other", 403, "PERMISSION_DENIED"),
        ("/v1/projects/other/instances", 403, "notAuthorized"),
        ("/v1/projects/other/secrets", 403, "CONSUMER_INVALID"),
        ("/v1/projects/other/locations/us-central1/instances", 403, "CONSUMER_INVALID"),
        ("/v1/projects/other/services", 403, "CONSUMER_INVALID"),
        ("/compute/v1/projects/other/global/networks", 404, "notFound"),
    ],
)
def test_another_project_is_refused_by_each_api_in_its_own_words(
    project: Any, path: str, status: int, reason: str
) -> None:
    got, answer = project.call("GET", path)
    error = answer["error"]
    listed = error.get("errors", error.get("details", [{}]))[0].get("reason", error.get("status"))
    assert (got, listed) == (status, reason)


def test_apis_are_enabled_until_one_is_switched_off(project: Any) -> None:
    names = [f"projects/123456789012/services/{n}.googleapis.com" for n in ("redis", "sqladmin", "compute")]
    path = "/v1/projects/123456789012/services"
    project.sandbox.disable_api("sqladmin.googleapis.com")
    found = project.ok("GET", f"{path}:batchGet", params={"names": names})["services"]
    assert [s["name"] for s in found] == names
    assert [s["state"] for s in found] == ["ENABLED", "DISABLED", "ENABLED"]
    assert project.ok("GET", f"{path}/sqladmin.googleapis.com")["state"] == "DISABLED"
    listed = project.ok("GET", path, params={"filter": "state:ENABLED"})["services"]
    assert len(listed) == 6
    assert project.call("GET", f"{path}/unheard-of.googleapis.com")[0] == 403
    assert project.call("GET", f"{path}:batchGet", params={"names": ["projects/9/services/x"]})[0] == 400
    project.sandbox.enable_api("sqladmin.googleapis.com")
    assert project.ok("GET", f"{path}/sqladmin.googleapis.com")["state"] == "ENABLED"


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("sqladmin.googleapis.com", "/v1/projects/sandbox-project/instances"),
        ("secretmanager.googleapis.com", "/v1/projects/sandbox-project/secrets"),
        ("redis.googleapis.com", "/v1/projects/sandbox-project/locations/-/instances"),
        ("compute.googleapis.com", f"{COMPUTE}/networks"),
        ("servicenetworking.googleapis.com", CONNECTIONS),
    ],
)
def test_a_disabled_api_says_so_with_the_service_to_enable(project: Any, host: str, path: str) -> None:
    project.sandbox.disable_api(host)
    status, answer = project.call("GET", path)
    error = answer["error"]
    info = next(d for d in error["details"] if d["@type"].endswith("ErrorInfo"))
    assert (status, error["status"], info["reason"]) == (403, "PERMISSION_DENIED", "SERVICE_DISABLED")
    assert (info["metadata"]["service"], info["metadata"]["consumer"]) == (host, "projects/123456789012")
    assert host in error["message"]
    assert ("errors" in error) == (host in ("sqladmin.googleapis.com", "compute.googleapis.com"))


def test_the_connection_is_found_by_the_projects_number_alone(project: Any) -> None:
    network = "projects/123456789012/global/networks"
    found = project.ok("GET", CONNECTIONS, params={"network": f"{network}/default"})["connections"]
    assert found[0]["reservedPeeringRanges"] == ["default-google-services"]
    assert project.ok("GET", CONNECTIONS, params={"network": f"{network}/no-psa"}) == {}
    by_id = {"network": "projects/sandbox-project/global/networks/default"}
    assert project.call("GET", CONNECTIONS, params=by_id)[0] == 400
    assert project.call("GET", CONNECTIONS, params={"network": "projects/99/global/networks/default"})[0] == 403
    project.sandbox.remove_psa()
    assert project.ok("GET", CONNECTIONS, params={"network": f"{network}/default"}) == {}


def test_the_range_and_what_is_taken_of_it_can_be_read(project: Any) -> None:
    address = project.ok("GET", f"{COMPUTE}/addresses/default-google-services")
    whole = ip_network(f"{address['address']}/{address['prefixLength']}")
    routes = f"{COMPUTE}/networks/default/listPeeringRoutes"
    assert "items" not in project.ok("GET", routes, params=ROUTES)
    project.make_sql()
    project.make_redis()
    taken = [ip_network(r["destRange"]) for r in project.ok("GET", routes, params=ROUTES)["items"]]
    assert [t.prefixlen for t in taken] == [24, 24]
    assert all(t.subnet_of(whole) for t in taken)
    project.sandbox.psa_range_full()
    assert project.ok("GET", routes, params=ROUTES)["items"][-1]["destRange"] == str(whole)
    assert project.call("GET", f"{COMPUTE}/networks/no-psa/listPeeringRoutes", params=ROUTES)[0] == 400


def test_networks_and_addresses_are_listed_and_missing_ones_are_a_404(project: Any) -> None:
    assert [n["name"] for n in project.ok("GET", f"{COMPUTE}/networks")["items"]] == ["default", "no-psa"]
    assert "peerings" not in project.ok("GET", f"{COMPUTE}/networks/no-psa")
    assert len(project.ok("GET", f"{COMPUTE}/addresses")["items"]) == 1
    for path in ("networks/gone", "addresses/gone"):
        status, answer = project.call("GET", f"{COMPUTE}/{path}")
        assert (status, answer["error"]["errors"][0]["reason"]) == (404, "notFound")
        assert answer["error"]["message"] == f"The resource 'projects/sandbox-project/global/{path}' was not found"
