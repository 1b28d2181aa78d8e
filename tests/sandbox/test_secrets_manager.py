"""Secrets Manager over the wire: names, tokens, and the recovery window."""

from __future__ import annotations

import pytest

from .conftest import Account, Refused

MARKED = "InvalidRequestException"


@pytest.mark.parametrize("name", ["with space", "ends!", "ü", "a" * 513])
def test_a_secret_needs_a_proper_name(account: Account, refused: Refused, name: str) -> None:
    assert refused(account.vault.create_secret, Name=name, SecretString="1") == "ValidationException"


def test_a_repeated_create_with_the_same_token_is_the_same_secret(account: Account, refused: Refused) -> None:
    params = {"Name": "agentbreeder/a", "SecretString": "1", "ClientRequestToken": "t" * 32}
    first = account.vault.create_secret(**params)["ARN"]
    assert account.vault.create_secret(**params)["ARN"] == first
    other = {**params, "SecretString": "2"}
    assert refused(account.vault.create_secret, **other) == "ResourceExistsException"
    assert refused(account.vault.create_secret, Name="agentbreeder/a") == "ResourceExistsException"


def test_a_secret_in_its_recovery_window_can_be_seen_and_restored_and_nothing_else(
    account: Account, refused: Refused
) -> None:
    arn = account.vault.create_secret(Name="s", SecretString="1")["ARN"]
    account.vault.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    assert account.sandbox.inventory()["secrets"] == []
    assert account.sandbox.inventory()["secrets_scheduled_for_deletion"] == ["us-east-1/s"]
    for secret_id in ("s", arn):
        assert refused(account.vault.get_secret_value, SecretId=secret_id) == MARKED
        assert refused(account.vault.put_secret_value, SecretId=secret_id, SecretString="2") == MARKED
        assert refused(account.vault.update_secret, SecretId=secret_id, SecretString="2") == MARKED
        assert refused(account.vault.tag_resource, SecretId=secret_id, Tags=[{"Key": "a", "Value": "b"}]) == MARKED
        assert refused(account.vault.untag_resource, SecretId=secret_id, TagKeys=["a"]) == MARKED
        assert refused(account.vault.delete_secret, SecretId=secret_id) == MARKED
    assert refused(account.vault.create_secret, Name="s", SecretString="1") == MARKED
    assert account.vault.describe_secret(SecretId="s")["DeletedDate"]
    assert account.vault.list_secrets()["SecretList"] == []
    account.vault.restore_secret(SecretId="s")
    account.vault.put_secret_value(SecretId="s", SecretString="2")
    assert account.vault.get_secret_value(SecretId="s")["SecretString"] == "2"


def test_the_name_is_free_once_the_window_is_over(account: Account, refused: Refused) -> None:
    account.vault.create_secret(Name="s", SecretString="1")
    account.vault.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    account.pass_time(7 * 86_400 - 1)
    assert refused(account.vault.create_secret, Name="s", SecretString="2") == MARKED
    account.pass_time(1)
    assert refused(account.vault.describe_secret, SecretId="s") == "ResourceNotFoundException"
    account.vault.create_secret(Name="s", SecretString="2")


def test_a_restored_secret_stays_when_its_window_would_have_ended(account: Account) -> None:
    account.vault.create_secret(Name="s", SecretString="1")
    account.vault.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    account.vault.restore_secret(SecretId="s")
    account.pass_time(8 * 86_400)
    assert account.vault.get_secret_value(SecretId="s")["SecretString"] == "1"


def test_a_forced_delete_frees_the_name_at_once(account: Account) -> None:
    account.vault.create_secret(Name="s", SecretString="1")
    account.vault.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    account.vault.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    account.vault.create_secret(Name="s", SecretString="2")
    account.pass_time(8 * 86_400)
    assert account.vault.get_secret_value(SecretId="s")["SecretString"] == "2"
