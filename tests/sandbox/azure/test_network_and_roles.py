"""Private DNS through its client, the ready network, and role assignments."""

from __future__ import annotations

from typing import Any

from azure.core import MatchConditions

from agentbreeder_sandbox.azure.roles import SECRETS_USER

from .conftest import OTHER, RG, Cloud, Refused

ZONE = "one.private.postgres.database.azure.com"
NAME = "00000000-0000-0000-0000-0000000000aa"


def test_a_zone_and_its_link_are_made_polled_with_202_and_deleted(cloud: Cloud) -> None:
    cloud.make_zone()
    zone = cloud.dns.private_zones.get(RG, ZONE)
    assert (zone.location, zone.properties.number_of_virtual_network_links) == ("global", 1)
    link = cloud.dns.virtual_network_links.get(RG, ZONE, "one-link")
    assert link.properties.virtual_network_link_state == "Completed"
    assert cloud.sandbox.inventory()["dns_links"] == [f"sandbox-rg/{ZONE}/one-link"]
    assert [z.name for z in cloud.dns.private_zones.list()] == [ZONE]
    assert [n.name for n in cloud.dns.virtual_network_links.list(RG, ZONE)] == ["one-link"]
    cloud.dns.virtual_network_links.begin_delete(RG, ZONE, "one-link").result()
    cloud.dns.private_zones.begin_delete(RG, ZONE).result()
    cloud.dns.private_zones.begin_delete(RG, ZONE).result()
    assert cloud.sandbox.inventory()["dns_zones"] == []


def test_a_poll_of_private_dns_names_its_port_and_is_202_while_it_runs(cloud: Cloud) -> None:
    seen: list[Any] = []
    cloud.dns.private_zones.begin_create_or_update(
        RG, ZONE, {"location": "global"}, polling=False, raw_response_hook=seen.append
    )
    url = seen[0].http_response.headers["Azure-AsyncOperation"]
    assert url.startswith("https://management.azure.com:443/")
    running = cloud.ask("GET", url)
    assert (running.status_code, running.json()) == (202, {"status": "InProgress"})
    cloud.pass_time(31)
    assert (cloud.ask("GET", url).status_code, cloud.ask("GET", url).json()) == (200, {"status": "Succeeded"})


def test_a_zone_with_links_stays(cloud: Cloud, refused: Refused) -> None:
    cloud.make_zone()
    said = refused(cloud.dns.private_zones.begin_delete, RG, ZONE)
    assert (said.status, said.code) == (409, "CannotDeleteResource")


def test_a_zone_is_not_overwritten_by_who_asks_for_a_new_one(cloud: Cloud, refused: Refused) -> None:
    cloud.make_zone(link=False)
    new = {"etag": "*", "match_condition": MatchConditions.IfMissing}
    said = refused(cloud.dns.private_zones.begin_create_or_update, RG, ZONE, {"location": "global"}, **new)
    assert (said.status, said.code) == (412, "PreconditionFailed")


def test_a_zone_is_refused(cloud: Cloud, refused: Refused) -> None:
    create = cloud.dns.private_zones.begin_create_or_update
    assert refused(create, RG, ZONE, {"location": "eastus"}).code == "LocationNotAvailableForResourceType"
    assert refused(create, RG, "nodots", {"location": "global"}).status == 400
    assert refused(create, RG, ZONE, {"location": "global", "tags": {"two words": "x"}}).status == 400
    assert refused(create, RG, ZONE, {"location": "global", "properties": {"nope": 1}}).code == "InvalidRequestContent"


def test_a_link_needs_its_zone_and_its_network_and_is_the_only_one_between_them(cloud: Cloud, refused: Refused) -> None:
    assert refused(cloud.make_link, ZONE).code == "ParentResourceNotFound"
    cloud.make_zone()
    assert refused(cloud.make_link, ZONE, "two-link").code == "Conflict"
    body = {"location": "global", "properties": {"virtualNetwork": {"id": f"{cloud.sandbox.vnet_id}-gone"}}}
    said = refused(cloud.dns.virtual_network_links.begin_create_or_update, RG, ZONE, "x", body)
    assert (said.status, said.code) == (400, "BadRequest")
    assert refused(cloud.dns.virtual_network_links.get, RG, ZONE, "gone").code == "ResourceNotFound"


def test_the_ready_network_has_a_delegated_subnet_and_a_plain_one(cloud: Cloud) -> None:
    found = cloud.ask("GET", cloud.sandbox.vnet_id).json()
    subnets = {s["name"]: s["properties"]["delegations"] for s in found["properties"]["subnets"]}
    assert found["location"] == "eastus"
    assert [d["properties"]["serviceName"] for d in subnets["db"]] == ["Microsoft.DBforPostgreSQL/flexibleServers"]
    assert subnets["plain"] == []
    assert len(cloud.ask("GET", f"{cloud.sandbox.vnet_id}/subnets").json()["value"]) == 2
    assert cloud.ask("GET", cloud.sandbox.db_subnet_id.upper()).status_code == 200


def test_a_subnet_that_is_not_there_is_the_network_providers_own_404(cloud: Cloud) -> None:
    answer = cloud.ask("GET", f"{cloud.sandbox.vnet_id}/subnets/gone")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NotFound")
    assert answer.text().startswith("{\r\n")


def test_a_server_in_a_subnet_leaves_a_link_there_while_it_stands(cloud: Cloud) -> None:
    cloud.make_zone()
    cloud.make_server(private=True)
    assert "serviceAssociationLinks" in cloud.ask("GET", cloud.sandbox.db_subnet_id).json()["properties"]
    cloud.pg.servers.begin_delete(RG, "one-pg").result()
    assert "serviceAssociationLinks" not in cloud.ask("GET", cloud.sandbox.db_subnet_id).json()["properties"]


def _code(answer: Any) -> str:
    return str(answer.json()["error"]["code"])


def test_a_role_is_assigned_once_listed_and_taken_away(cloud: Cloud) -> None:
    scope = cloud.sandbox.user_vault_id
    made = cloud.assign(scope, OTHER, SECRETS_USER, NAME, principalType="ServicePrincipal")
    assert (made.status_code, made.json()["properties"]["principalType"]) == (201, "ServicePrincipal")
    assert cloud.assign(scope, OTHER, SECRETS_USER, NAME).status_code == 200
    other_name = NAME.replace("aa", "bb")
    assert _code(cloud.assign(scope, OTHER, SECRETS_USER, other_name)) == "RoleAssignmentExists"
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments"
    listed = cloud.ask("GET", f"{path}?$filter=principalId%20eq%20'{OTHER}'&api-version=2022-04-01").json()["value"]
    assert [a["name"] for a in listed] == [NAME]
    assert cloud.ask("GET", f"{path}/{NAME}").status_code == 200
    assert cloud.ask("DELETE", f"{path}/{NAME}").status_code == 200
    assert cloud.ask("DELETE", f"{path}/{NAME}").status_code == 204
    assert _code(cloud.ask("GET", f"{path}/{NAME}")) == "RoleAssignmentNotFound"


def test_a_role_assignment_is_refused(cloud: Cloud) -> None:
    scope = cloud.sandbox.user_vault_id
    assert _code(cloud.assign(scope, OTHER, SECRETS_USER, "no-guid")) == "InvalidRoleAssignmentId"
    assert _code(cloud.assign(scope, OTHER, OTHER, NAME)) == "RoleDefinitionDoesNotExist"
    assert _code(cloud.assign(f"{scope}-gone", OTHER, SECRETS_USER, NAME)) == "ResourceNotFound"
    assert _code(cloud.assign(scope, OTHER, SECRETS_USER, NAME, principal="x")) == "InvalidRequestContent"


def test_a_principal_that_is_new_needs_its_type(cloud: Cloud) -> None:
    cloud.sandbox.principal_is_new = True
    said = cloud.assign(cloud.sandbox.user_vault_id, OTHER, SECRETS_USER, NAME)
    assert (said.status_code, _code(said)) == (400, "PrincipalNotFound")
    typed = cloud.assign(cloud.sandbox.user_vault_id, OTHER, SECRETS_USER, NAME, principalType="ServicePrincipal")
    assert typed.status_code == 201
