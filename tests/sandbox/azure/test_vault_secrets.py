"""A vault's secrets through the data plane's client: the challenge, rights, versions, soft delete and recovery."""

from __future__ import annotations

from typing import Any

import pytest
from azure.keyvault.secrets._shared import HttpChallengeCache

from agentbreeder_sandbox.azure.roles import SECRETS_OFFICER, SECRETS_USER
from agentbreeder_sandbox.azure.world import CALLER, Durations
from agentbreeder_sandbox.clocks import VirtualClock

from .conftest import OTHER, RG, Cloud, Refused

NAME = "00000000-0000-0000-0000-0000000000aa"


def test_a_secret_is_set_read_changed_and_listed_by_version(cloud: Cloud) -> None:
    vault = cloud.secrets()
    first = vault.set_secret("url", "one", tags={"a": "b"})
    second = vault.set_secret("url", "two", content_type="text/plain")
    assert first.id != second.id
    assert vault.get_secret("url").value == "two"
    assert vault.get_secret("url", first.properties.version).value == "one"
    assert {p.version for p in vault.list_properties_of_secret_versions("url")} == {
        first.properties.version,
        second.properties.version,
    }
    changed = vault.update_secret_properties("url", second.properties.version, tags={"c": "d"})
    assert changed.tags == {"c": "d"}
    assert (changed.recovery_level, changed.recoverable_days) == ("Recoverable+Purgeable", 90)
    assert [p.name for p in vault.list_properties_of_secrets()] == ["url"]
    assert cloud.sandbox.inventory()["vault_secrets"] == ["sandbox-user-kv/url"]


def test_the_first_call_is_challenged_and_carries_no_value(cloud: Cloud) -> None:
    HttpChallengeCache.clear()  # the SDK remembers a vault's challenge for as long as the process lives
    cloud.secrets().set_secret("url", "one")
    puts = [c for c in cloud.sandbox.calls if c.operation == "PUT secrets"]
    assert [(c.service, dict(c.params)) for c in puts] == [
        ("keyvault", {}),
        ("keyvault", {"value": "one"}),
    ]
    answer = cloud.ask("GET", "https://sandbox-user-kv.vault.azure.net/secrets/url?api-version=7.4", Authorization="")
    assert answer.status_code == 401
    assert cloud.sandbox.tenant_id in answer.headers["WWW-Authenticate"]
    assert 'resource="https://vault.azure.net"' in answer.headers["WWW-Authenticate"]


def test_versions_come_in_pages(cloud: Cloud) -> None:
    vault = cloud.secrets()
    for n in range(30):
        vault.set_secret("url", str(n))
    assert len(list(vault.list_properties_of_secret_versions("url"))) == 30
    assert len(list(vault.list_properties_of_secret_versions("url", max_page_size=7))) == 30


def test_a_deleted_secret_is_gone_at_once_and_recoverable_a_little_later(cloud: Cloud, refused: Refused) -> None:
    vault = cloud.secrets()
    vault.set_secret("url", "one")
    vault.begin_delete_secret("url", _polling_interval=0)
    assert refused(vault.get_secret, "url").code == "SecretNotFound"
    assert refused(vault.get_deleted_secret, "url").code == "SecretNotFound"
    assert refused(vault.set_secret, "url", "two").inner == "ObjectIsBeingDeleted"
    assert refused(vault.begin_recover_deleted_secret, "url").inner == "ObjectIsBeingDeleted"
    cloud.pass_time(11)
    assert vault.get_deleted_secret("url").name == "url"
    assert [d.name for d in vault.list_deleted_secrets()] == ["url"]
    held = refused(vault.set_secret, "url", "two")
    assert (held.status, held.code, held.inner) == (409, "Conflict", "ObjectIsDeletedButRecoverable")
    assert cloud.sandbox.inventory()["deleted_secrets"] == ["sandbox-user-kv/url"]
    assert cloud.sandbox.standing()["vault_secrets"] == []


def test_a_recovered_secret_has_all_its_versions_again(cloud: Cloud, refused: Refused) -> None:
    vault = cloud.secrets()
    vault.set_secret("url", "one")
    vault.set_secret("url", "two")
    vault.begin_delete_secret("url", _polling_interval=0)
    cloud.pass_time(11)
    vault.begin_recover_deleted_secret("url", _polling_interval=0)
    assert refused(vault.set_secret, "url", "three").inner == "ObjectIsBeingRecovered"
    cloud.pass_time(6)
    assert vault.get_secret("url").value == "two"
    assert len(list(vault.list_properties_of_secret_versions("url"))) == 2
    again = refused(vault.begin_recover_deleted_secret, "url")
    assert (again.status, again.code) == (400, "MethodNotAllowed")
    assert again.inner == "RequestNotAllowedOnNonDeletedObject"


def test_a_purged_secret_frees_its_name_and_so_does_time(cloud: Cloud) -> None:
    vault = cloud.secrets()
    for name in ("one", "two"):
        vault.set_secret(name, "x")
        vault.begin_delete_secret(name, _polling_interval=0)
    cloud.pass_time(11)
    vault.purge_deleted_secret("one")
    vault.set_secret("one", "again")
    cloud.pass_time(91 * 86_400)
    vault.set_secret("two", "again")


def test_who_made_a_vault_has_no_right_to_its_secrets_until_a_role_has_taken_effect(
    cloud: Cloud, refused: Refused
) -> None:
    cloud.sandbox.reset(clock=VirtualClock(), durations=Durations(rbac_lag_s=120))
    made = cloud.make_vault()
    vault = cloud.secrets("one-kv")
    said = refused(vault.set_secret, "url", "one")
    assert (said.status, said.code, said.inner) == (403, "Forbidden", "ForbiddenByRbac")
    assert "please observe propagation time" in said.message
    assert cloud.assign(made.id, CALLER, SECRETS_OFFICER, NAME).status_code == 201
    assert refused(vault.set_secret, "url", "one").inner == "ForbiddenByRbac"
    cloud.pass_time(121)
    vault.set_secret("url", "one")


def test_a_reader_of_one_secret_reads_that_one_alone(cloud: Cloud, refused: Refused) -> None:
    for name in ("mine", "theirs"):
        cloud.secrets().set_secret(name, "x")
    scope = f"{cloud.sandbox.user_vault_id}/secrets/mine"
    assert cloud.assign(scope, OTHER, SECRETS_USER, NAME).status_code == 201
    reader = cloud.secrets(caller=OTHER)
    assert reader.get_secret("mine").value == "x"
    assert refused(reader.get_secret, "theirs").inner == "ForbiddenByRbac"
    assert refused(reader.set_secret, "mine", "y").inner == "ForbiddenByRbac"


def test_access_policies_decide_where_they_are_chosen(cloud: Cloud, refused: Refused) -> None:
    policy = {"tenantId": cloud.sandbox.tenant_id, "objectId": OTHER, "permissions": {"secrets": ["get", "set"]}}
    cloud.make_vault(enableRbacAuthorization=False, accessPolicies=[policy])
    allowed = cloud.secrets("one-kv", OTHER)
    allowed.set_secret("url", "x")
    assert refused(allowed.begin_delete_secret, "url").inner == "ForbiddenByPolicy"
    assert refused(cloud.secrets("one-kv").get_secret, "url").inner == "ForbiddenByPolicy"


@pytest.mark.parametrize(("how", "inner"), [("rbac", "ForbiddenByRbac"), ("firewall", "ForbiddenByFirewall")])
def test_a_vault_can_be_made_to_refuse_everything(cloud: Cloud, refused: Refused, how: Any, inner: str) -> None:
    cloud.sandbox.deny_vault(how)
    assert refused(cloud.secrets().set_secret, "url", "x").inner == inner
    cloud.sandbox.deny_vault("")
    cloud.secrets().set_secret("url", "x")


def test_a_vault_that_is_not_registered_yet_or_was_deleted_is_not_found(cloud: Cloud, refused: Refused) -> None:
    from .conftest import vault

    cloud.kv.vaults.begin_create_or_update(RG, "one-kv", vault(cloud), polling=False)
    assert refused(cloud.secrets("one-kv").get_secret, "url").code == "VaultNotFound"
    assert refused(cloud.secrets("gone-kv").get_secret, "url").code == "VaultNotFound"


def test_bad_names_too_long_values_and_disabled_secrets_are_refused(cloud: Cloud, refused: Refused) -> None:
    vault = cloud.secrets()
    assert refused(vault.set_secret, "under_score", "x").code == "BadParameter"
    assert refused(vault.set_secret, "url", "x" * 25_001).code == "BadParameter"
    vault.set_secret("url", "x", enabled=False)
    assert refused(vault.get_secret, "url").inner == "SecretDisabled"
    url = "https://sandbox-user-kv.vault.azure.net/secrets/url?api-version=7.4"
    assert cloud.ask("PUT", url, {"valeu": "x"}).json()["error"]["code"] == "InvalidRequestContent"


def test_purge_protection_of_the_vault_covers_its_secrets(cloud: Cloud, refused: Refused) -> None:
    made = cloud.make_vault(enablePurgeProtection=True)
    cloud.assign(made.id, CALLER, SECRETS_OFFICER, NAME)
    vault = cloud.secrets("one-kv")
    assert vault.set_secret("url", "x").properties.recovery_level == "CustomizedRecoverable"
    vault.begin_delete_secret("url", _polling_interval=0)
    cloud.pass_time(11)
    assert refused(vault.purge_deleted_secret, "url").status == 403
    cloud.sandbox.lift_protection()
    vault.purge_deleted_secret("url")
