"""What PostgreSQL Flexible Server refuses, and that nothing is left of what it refused."""

from __future__ import annotations

from typing import Any

import pytest

from agentbreeder_sandbox.azure.pg_rules import OWN_CODES
from agentbreeder_sandbox.azure.world import SUBSCRIPTION, Durations
from agentbreeder_sandbox.clocks import VirtualClock

from .conftest import PASSWORD, RG, Cloud, Refused

ZONE = "one.private.postgres.database.azure.com"
_BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("ParameterOutOfRange", "a version that is not offered", {"version": "12"}),
    ("ParameterOutOfRange", "a size of another tier", {"sku": {"name": "Standard_B1ms", "tier": "GeneralPurpose"}}),
    ("ParameterOutOfRange", "terraform's name of a size", {"sku": {"name": "B_Standard_B1ms", "tier": "Burstable"}}),
    ("ParameterOutOfRange", "storage of no fixed size", {"storage": {"storageSizeGB": 20}}),
    ("ParameterOutOfRange", "too few days of backups", {"backup": {"backupRetentionDays": 1}}),
    ("InvalidParameterValue", "availability that the tier lacks", {"highAvailability": {"mode": "ZoneRedundant"}}),
    ("InvalidLoginName", "a reserved login", {"administratorLogin": "azure_superuser"}),
    ("InvalidLoginName", "a login that begins like PostgreSQL's own", {"administratorLogin": "pg_agent"}),
    ("PasswordNotComplex", "a short password", {"administratorLoginPassword": "Ab1"}),
    ("PasswordNotComplex", "a password of one kind", {"administratorLoginPassword": "a" * 32}),
    ("PasswordNotComplex", "a password with the login", {"administratorLoginPassword": f"agentbreeder{PASSWORD}"}),
    ("MissingRequiredParameter", "no login", {"administratorLogin": None}),
    ("LocationNotAvailableForResourceType", "a region that does not exist", {"location": "moonbase"}),
    ("InvalidRequestContent", "a property that does not exist", {"adminLogin": "x"}),
    ("InvalidRequestContent", "a number as text", {"storage": {"storageSizeGB": "32"}}),
    ("InvalidRequestContent", "a tag that is no text", {"tags": {"a": 1}}),
]


@pytest.mark.parametrize(("code", "what", "changes"), _BODIES, ids=[what for _, what, _ in _BODIES])
def test_a_body_is_refused(cloud: Cloud, refused: Refused, code: str, what: str, changes: dict[str, Any]) -> None:
    said = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", cloud.server(**changes))
    assert (said.status, said.code) == (400, code)
    assert cloud.sandbox.inventory()["pg_servers"] == []


@pytest.mark.parametrize("name", ["ab", "One", "-one", "one-", "a" * 64])
def test_a_bad_name_is_refused(cloud: Cloud, refused: Refused, name: str) -> None:
    said = refused(cloud.pg.servers.begin_create_or_update, RG, name, cloud.server())
    assert (said.status, said.code) == (400, "InvalidServerName")


def test_a_name_is_taken_in_all_of_azure(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.take_server_name("one-pg")
    said = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", cloud.server())
    assert (said.status, said.code) == (409, "ServerNameAlreadyExists")
    cloud.make_server("two-pg")
    other = cloud.sandbox.second_group()
    assert refused(cloud.pg.servers.begin_create_or_update, other, "two-pg", cloud.server()).status == 409


def test_a_deleted_servers_name_can_stay_taken_for_a_while(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.reset(clock=VirtualClock(), durations=Durations(pg_hold_s=600))
    cloud.make_server()
    cloud.pg.servers.begin_delete(RG, "one-pg").result()
    assert cloud.sandbox.inventory()["held_names"] == ["pg/one-pg"]
    assert refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", cloud.server()).status == 409
    cloud.pass_time(600)
    cloud.make_server()


def test_a_restricted_offer_cannot_make_servers(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.restrict_location()
    said = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", cloud.server())
    assert (said.status, said.code) == (400, "LocationIsOfferRestricted")


def test_a_server_stays_where_it_is(cloud: Cloud, refused: Refused) -> None:
    cloud.make_server()
    moved = cloud.server(location="westus2")
    said = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", moved)
    assert (said.status, said.code) == (409, "InvalidResourceLocation")


def _network_refusal(cloud: Cloud, refused: Refused, **network: str) -> str:
    body = cloud.server(private=True)
    body["properties"]["network"] |= network
    said = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", body)
    assert said.status == 400
    return said.code


def test_the_subnet_must_be_delegated(cloud: Cloud, refused: Refused) -> None:
    cloud.make_zone()
    plain = cloud.sandbox.plain_subnet_id
    wanted = "SubnetMissingRequiredDelegation"
    assert _network_refusal(cloud, refused, delegatedSubnetResourceId=plain) == wanted
    cloud.sandbox.undelegate_subnet()
    assert _network_refusal(cloud, refused) == wanted


def test_the_subnet_must_exist_and_be_in_the_servers_region(cloud: Cloud, refused: Refused) -> None:
    cloud.make_zone()
    away = cloud.sandbox.second_vnet("westus2")
    assert _network_refusal(cloud, refused, delegatedSubnetResourceId=away) == "SubnetInOtherRegion"
    gone = f"{cloud.sandbox.vnet_id}/subnets/gone"
    assert _network_refusal(cloud, refused, delegatedSubnetResourceId=gone) == "SubnetNotFound"


def test_a_private_server_needs_a_zone_that_is_linked(cloud: Cloud, refused: Refused) -> None:
    assert _network_refusal(cloud, refused) == "PrivateDnsZoneNotFound"
    cloud.make_zone(link=False)
    assert _network_refusal(cloud, refused) == "PrivateDnsZoneNotLinked"
    cloud.make_link(ZONE)
    cloud.make_server(private=True)


def test_the_zone_must_have_the_right_end_and_not_be_the_servers_own_name(cloud: Cloud, refused: Refused) -> None:
    for name in ("one-pg.postgres.database.azure.com", "one.example.com"):
        zone = cloud.make_zone(name, link=False)
        said = _network_refusal(cloud, refused, privateDnsZoneArmResourceId=zone)
        assert said == "InvalidPrivateDnsZoneName"


def test_a_subnet_without_a_zone_or_a_zone_without_a_subnet_is_refused(cloud: Cloud, refused: Refused) -> None:
    zone = cloud.make_zone()
    body = cloud.server(network={"delegatedSubnetResourceId": cloud.sandbox.db_subnet_id})
    assert refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", body).code == "MissingRequiredParameter"
    body = cloud.server(network={"privateDnsZoneArmResourceId": zone})
    misleading = refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", body)
    assert (misleading.code, "PublicNetworkAccess" in misleading.message) == ("InvalidParameterValue", True)
    assert _network_refusal(cloud, refused, publicNetworkAccess="Enabled") == "InvalidParameterValue"


def test_what_is_inside_a_server_that_is_not_there_is_not_found(cloud: Cloud, refused: Refused) -> None:
    assert refused(cloud.pg.databases.get, RG, "gone", "memory").status == 404
    assert refused(cloud.pg.configurations.get, RG, "gone", "azure.extensions").status == 404
    cloud.make_server()
    assert refused(cloud.pg.databases.get, RG, "one-pg", "memory").code == "ResourceNotFound"
    assert refused(cloud.pg.configurations.get, RG, "one-pg", "nonsense").status == 404
    assert refused(cloud.pg.databases.begin_create, RG, "one-pg", "postgres", {"properties": {}}).status == 400


def test_a_password_or_login_is_checked_on_change_too(cloud: Cloud, refused: Refused) -> None:
    cloud.make_server()
    weak = {"properties": {"administratorLoginPassword": "weak"}}
    assert refused(cloud.pg.servers.begin_update, RG, "one-pg", weak).code == "PasswordNotComplex"
    other = cloud.server(administratorLogin="somebody")
    assert refused(cloud.pg.servers.begin_create_or_update, RG, "one-pg", other).status == 400


def test_the_product_branches_on_none_of_the_codes_that_are_the_stand_ins_own() -> None:
    from agentbreeder_provisioners.azure import errors

    known = {code for codes in errors._KINDS.values() for code in codes}
    assert known & OWN_CODES <= {"ServerNameAlreadyExists"}


def test_a_role_on_the_group_alone_does_not_reach_checks_and_polls(cloud: Cloud, refused: Refused) -> None:
    cloud.sandbox.deny_location_actions()
    ask = {"name": "one-pg", "type": "Microsoft.DBforPostgreSQL/flexibleServers"}
    said = refused(cloud.pg.name_availability.check_with_location, "eastus", ask)
    assert (said.status, said.code) == (403, "AuthorizationFailed")
    assert f"/subscriptions/{SUBSCRIPTION}'" in said.message
    assert cloud.pg.name_availability.check_globally(ask).name_available
    accepted = cloud.pg.servers.begin_create_or_update(RG, "one-pg", cloud.server())
    assert refused(accepted.result).code == "AuthorizationFailed"
    cloud.pass_time(400)
    assert cloud.pg.servers.get(RG, "one-pg").properties.state == "Ready"
