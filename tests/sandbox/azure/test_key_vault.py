"""Vaults through the management client: names of the whole world, soft delete, recovery and purge."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import RG, Cloud, Refused, vault


def test_a_vault_is_registered_a_little_after_it_was_made(cloud: Cloud) -> None:
    seen: list[Any] = []
    made = cloud.kv.vaults.begin_create_or_update(RG, "one-kv", vault(cloud), raw_response_hook=seen.append)
    first = seen[0].http_response
    first.read()
    assert first.status_code == 200
    assert first.json()["properties"]["provisioningState"] == "RegisteringDns"
    assert first.json()["properties"]["vaultUri"] == "https://one-kv.vault.azure.net"
    ready = made.result()
    assert ready.properties.provisioning_state == "Succeeded"
    assert ready.properties.vault_uri == "https://one-kv.vault.azure.net/"
    assert cloud.wire.waits


def test_a_deleted_vault_keeps_its_name_until_it_is_purged(cloud: Cloud, refused: Refused) -> None:
    cloud.make_vault()
    cloud.kv.vaults.delete(RG, "one-kv")
    assert refused(cloud.kv.vaults.get, RG, "one-kv").code == "ResourceNotFound"
    deleted = cloud.kv.vaults.get_deleted("one-kv", "eastus").properties
    assert (deleted.scheduled_purge_date - deleted.deletion_date).days == 7
    assert [v.name for v in cloud.kv.vaults.list_deleted()] == ["one-kv"]
    said = refused(cloud.kv.vaults.begin_create_or_update, RG, "one-kv", vault(cloud))
    assert (said.status, said.code) == (409, "ConflictError")
    assert cloud.sandbox.inventory()["deleted_vaults"] == ["one-kv"]
    assert "deleted_vaults" not in cloud.sandbox.standing()
    cloud.kv.vaults.begin_purge_deleted("one-kv", "eastus").result()
    assert refused(cloud.kv.vaults.get_deleted, "one-kv", "eastus").code == "DeletedVaultNotFound"
    cloud.make_vault()


def test_a_deleted_vault_is_recovered_with_its_secrets_and_without_its_role_assignments(
    cloud: Cloud, refused: Refused
) -> None:
    from agentbreeder_sandbox.azure.roles import SECRETS_OFFICER
    from agentbreeder_sandbox.azure.world import CALLER

    made = cloud.make_vault()
    name = "00000000-0000-0000-0000-0000000000aa"
    assert cloud.assign(made.id, CALLER, SECRETS_OFFICER, name).status_code == 201
    cloud.secrets("one-kv").set_secret("url", "x")
    cloud.kv.vaults.delete(RG, "one-kv")
    back = vault(cloud) | {"properties": vault(cloud)["properties"] | {"createMode": "recover"}}
    cloud.kv.vaults.begin_create_or_update(RG, "one-kv", back).result()
    assert cloud.sandbox.inventory()["vault_secrets"] == ["one-kv/url"]
    assert refused(cloud.secrets("one-kv").get_secret, "url").inner == "ForbiddenByRbac"
    cloud.kv.vaults.delete(RG, "one-kv")
    cloud.pass_time(8 * 86_400)
    assert cloud.sandbox.inventory()["deleted_vaults"] == []
    assert refused(cloud.kv.vaults.begin_create_or_update, RG, "one-kv", back).code == "DeletedVaultNotFound"


@pytest.mark.parametrize("name", ["ab", "1kv", "one-kv-", "one--kv", "x" * 25])
def test_a_bad_vault_name_is_refused(cloud: Cloud, refused: Refused, name: str) -> None:
    said = refused(cloud.kv.vaults.begin_create_or_update, RG, name, vault(cloud))
    assert (said.status, said.code) == (400, "VaultNameNotValid")


def test_a_vault_name_is_taken_in_all_of_azure(cloud: Cloud, refused: Refused) -> None:
    cloud.make_vault()
    other = cloud.sandbox.second_group()
    said = refused(cloud.kv.vaults.begin_create_or_update, other, "one-kv", vault(cloud))
    assert (said.status, said.code) == (409, "VaultAlreadyExists")
    ask = {"name": "one-kv", "type": "Microsoft.KeyVault/vaults"}
    assert not cloud.kv.vaults.check_name_availability(ask).name_available
    assert cloud.kv.vaults.check_name_availability({**ask, "name": "two-kv"}).name_available


_BODIES: list[tuple[str, dict[str, Any]]] = [
    ("no soft delete", {"enableSoftDelete": False}),
    ("purge protection switched off", {"enablePurgeProtection": False}),
    ("too short a retention", {"softDeleteRetentionInDays": 1}),
    ("no tenant", {"tenantId": None}),
    ("no access policies where they decide", {"enableRbacAuthorization": False}),
]


@pytest.mark.parametrize(("what", "given"), _BODIES, ids=[what for what, _ in _BODIES])
def test_a_vault_is_refused(cloud: Cloud, refused: Refused, what: str, given: dict[str, Any]) -> None:
    said = refused(cloud.kv.vaults.begin_create_or_update, RG, "one-kv", vault(cloud, **given))
    assert (said.status, said.code) == (400, "BadRequest")


def test_purge_protection_holds_until_the_sandbox_lifts_it(cloud: Cloud, refused: Refused) -> None:
    cloud.make_vault(enablePurgeProtection=True)
    cloud.kv.vaults.delete(RG, "one-kv")
    assert refused(cloud.kv.vaults.begin_purge_deleted, "one-kv", "eastus").code == "MethodNotAllowed"
    cloud.sandbox.lift_protection()
    cloud.kv.vaults.begin_purge_deleted("one-kv", "eastus").result()


def test_the_retention_of_a_vault_is_fixed_and_its_tags_are_not(cloud: Cloud, refused: Refused) -> None:
    cloud.make_vault()
    longer = {"properties": {"softDeleteRetentionInDays": 30}}
    assert refused(cloud.kv.vaults.update, RG, "one-kv", longer).status == 400
    assert cloud.kv.vaults.update(RG, "one-kv", {"tags": {"a": "b"}}).tags == {"a": "b"}


def test_a_vault_is_rbac_by_default_from_the_api_of_2026_on(cloud: Cloud) -> None:
    path = f"{cloud.sandbox.user_vault_id.rpartition('/')[0]}/one-kv"
    body = vault(cloud, accessPolicies=[])
    del body["properties"]["enableRbacAuthorization"]
    old = cloud.ask("PUT", f"{path}-old?api-version=2023-07-01", body).json()
    new = cloud.ask("PUT", f"{path}-new?api-version=2026-02-01", body).json()
    assert not old["properties"]["enableRbacAuthorization"]
    assert new["properties"]["enableRbacAuthorization"]
