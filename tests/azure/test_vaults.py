"""Key Vault and role assignments (facts, section 6): the user's vault, the one we make, and what is recoverable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentbreeder_core.errors import AuthError, CloudError, PreflightFailed
from agentbreeder_provisioners import environment, plan
from agentbreeder_provisioners.azure.clients import AzureClients
from agentbreeder_provisioners.env_formats import render
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.azure.world import Durations
from agentbreeder_sandbox.calls import Fault
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown

from .conftest import OWN_VAULT, READER, Agent, Once, calls

URL = "memory: {backend_url: 'rediss://:one@cache.example.com:6380/0'}"
DENIED = Fault(kind="reject", code="Forbidden/ForbiddenByRbac", message="Caller is not authorized", status=403)


def test_a_secret_that_a_teardown_left_recoverable_is_recovered_and_set_anew(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    path = agent(SCENARIOS["both"])
    do_deploy(azure_sandbox, path)
    names = azure_sandbox.inventory()["vault_secrets"]
    first = {k: v.reveal() for k, v in environment("support", project_dir=tmp_path, reveal=True).revealed.items()}
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.inventory()["deleted_secrets"] == names
    do_deploy(azure_sandbox, path)
    assert len(calls(azure_sandbox, "POST recover")) == 2
    assert azure_sandbox.inventory()["vault_secrets"] == names
    again = {k: v.reveal() for k, v in environment("support", project_dir=tmp_path, reveal=True).revealed.items()}
    assert again.keys() == first.keys()
    assert not set(again.values()) & set(first.values())


def test_a_recoverable_secret_of_another_state_stays_deleted_and_the_next_generation_is_made(
    azure_sandbox: AzureSandbox, tmp_path: Path
) -> None:
    for folder in ("one", "two"):
        do_deploy(azure_sandbox, write_agent(tmp_path / folder, URL, cloud="azure"))
        (name,) = azure_sandbox.standing()["vault_secrets"]
        assert name.endswith("-g2") == (folder == "two")
        do_teardown(azure_sandbox, tmp_path / folder)
    assert not calls(azure_sandbox, "POST recover")


def test_a_redeploy_in_the_middle_of_a_deletion_waits_until_the_secret_can_be_recovered(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    azure_sandbox.reset(durations=Durations(secret_delete_s=120.0, secret_recover_s=60.0))
    path = agent(URL)
    do_deploy(azure_sandbox, path)
    do_teardown(azure_sandbox, tmp_path)
    do_deploy(azure_sandbox, path)
    assert environment("support", project_dir=tmp_path, reveal=True).revealed["REDIS_URL"].reveal().startswith("rediss")


def test_a_right_that_we_just_assigned_is_waited_for_as_long_as_it_takes_effect(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    azure_sandbox.reset(durations=Durations(rbac_lag_s=420.0))
    before = azure_sandbox.standing()
    done = do_deploy(azure_sandbox, agent(SCENARIOS["both"], **OWN_VAULT))
    assert all(r.phase == "ready" for r in done.resources)
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


def test_a_right_that_never_takes_effect_ends_in_an_error_and_not_in_an_hour(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    azure_sandbox.reset(durations=Durations(rbac_lag_s=10**6))
    start = azure_sandbox.clock.now()
    with pytest.raises(AuthError, match="ForbiddenByRbac"):
        do_deploy(azure_sandbox, agent(SCENARIOS["redis"], **OWN_VAULT))
    assert (azure_sandbox.clock.now() - start).total_seconds() < 1800


def test_a_right_that_is_missing_in_the_users_vault_is_not_asked_for_twice(
    azure_sandbox: AzureSandbox, agent: Agent
) -> None:
    hook = Once("PUT secrets", DENIED, times=100)
    azure_sandbox.on_call(hook)
    with pytest.raises(AuthError) as e:
        do_deploy(azure_sandbox, agent(URL))
    assert hook.count == 1
    assert "az role assignment create" in e.value.hint


@pytest.mark.parametrize(
    ("how", "command"), [("rbac", "az role assignment create"), ("firewall", "az keyvault network-rule add")]
)
def test_a_vault_that_refuses_us_is_told_before_the_first_change(
    azure_sandbox: AzureSandbox, agent: Agent, how: str, command: str
) -> None:
    azure_sandbox.deny_vault(how)  # type: ignore[arg-type]
    before = azure_sandbox.standing()
    with pytest.raises(PreflightFailed) as e:
        do_deploy(azure_sandbox, agent(SCENARIOS["both"]))
    (problem,) = e.value.problems
    assert (problem.code, command in problem.message) == ("VAULT_RIGHTS", True)
    assert azure_sandbox.standing() == before


def test_a_vault_of_ours_is_deleted_and_stays_recoverable_and_a_redeploy_recovers_it(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    path = agent(SCENARIOS["redis"], **OWN_VAULT)
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, path)
    ours = set(azure_sandbox.inventory()["vaults"]) - set(before["vaults"])
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before
    assert len(azure_sandbox.inventory()["deleted_vaults"]) == 1
    do_deploy(azure_sandbox, path)
    assert set(azure_sandbox.inventory()["vaults"]) - set(before["vaults"]) == ours
    assert azure_sandbox.inventory()["deleted_vaults"] == []


def test_only_purge_gives_the_name_of_our_vault_free_and_it_never_touches_the_users(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"], **OWN_VAULT))
    do_teardown(azure_sandbox, tmp_path, purge=True)
    assert azure_sandbox.inventory()["deleted_vaults"] == []
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"]))
    do_teardown(azure_sandbox, tmp_path, purge=True)
    assert len(calls(azure_sandbox, "POST purge")) == 1
    assert len(azure_sandbox.inventory()["deleted_secrets"]) == 1


def test_a_purge_that_was_refused_is_made_up_for_by_the_next_teardown(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"], **OWN_VAULT))
    denied = Fault(kind="reject", code="AuthorizationFailed", message="no right to purge", status=403)
    azure_sandbox.on_call(Once("POST purge", denied))
    with pytest.raises(CloudError, match="no right to purge"):
        do_teardown(azure_sandbox, tmp_path, purge=True)
    assert len(azure_sandbox.inventory()["deleted_vaults"]) == 1
    assert do_teardown(azure_sandbox, tmp_path, purge=True).remaining == ()
    assert azure_sandbox.inventory()["deleted_vaults"] == []


def test_a_vault_with_purge_protection_is_left_to_its_window_and_says_so(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"], **OWN_VAULT))
    (ours,) = [v for v in azure_sandbox.inventory()["vaults"] if not v.endswith("user-kv")]
    vault_id = f"{azure_sandbox.user_vault_id.rpartition('/')[0]}/{ours.rpartition('/')[2]}"
    body = {"properties": {"enablePurgeProtection": True}}
    by_hand.request("PATCH", vault_id, api_version="2024-11-01", json=body)
    with pytest.raises(CloudError, match=r"(?i)purge"):
        do_teardown(azure_sandbox, tmp_path, purge=True)
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()


def test_the_runtime_may_read_its_own_secrets_only_and_teardown_takes_the_right_back(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    azure_sandbox.principal_is_new = True
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, agent(SCENARIOS["both"], AZURE_RUNTIME_PRINCIPAL_ID=READER))
    given = [a for a in azure_sandbox.inventory()["role_assignments"] if READER in a]
    scopes = {a.partition(" ")[0] for a in given}
    assert scopes == {s.rpartition("/")[2] for s in azure_sandbox.inventory()["vault_secrets"]}
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


def test_the_same_right_given_by_the_user_is_used_and_stays(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, by_hand: AzureClients
) -> None:
    path = agent(URL, AZURE_RUNTIME_PRINCIPAL_ID=READER)
    steps = {s.id: s for s in plan(path, network_env=azure_sandbox.network_env()).steps}
    scope = f"{azure_sandbox.user_vault_id}/secrets/{steps['azure/memory-url/secret'].name}"
    do_deploy(azure_sandbox, agent(URL))
    role = "4633458b-17de-408a-b874-0445c86b69e6"
    definition = (
        f"/subscriptions/{azure_sandbox.subscription_id}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    )
    by_hand.request(
        "PUT",
        f"{scope}/providers/Microsoft.Authorization/roleAssignments/99999999-9999-9999-9999-999999999999",
        api_version="2022-04-01",
        json={
            "properties": {
                "roleDefinitionId": definition,
                "principalId": READER,
                "principalType": "ServicePrincipal",
            }
        },
    )
    do_deploy(azure_sandbox, agent(URL, AZURE_RUNTIME_PRINCIPAL_ID=READER))
    assert len([a for a in azure_sandbox.inventory()["role_assignments"] if READER in a]) == 1
    do_teardown(azure_sandbox, tmp_path)
    assert not calls(azure_sandbox, "DELETE roleAssignments")


def test_container_apps_get_the_address_of_a_version_in_the_vault_and_an_identity(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    do_deploy(azure_sandbox, agent(SCENARIOS["both"]))
    found = json.loads(render(environment("support", project_dir=tmp_path), "container-apps"))
    by_name = {s["name"]: s for s in found["secrets"]}
    assert {e["name"]: e["secretRef"] for e in found["env"] if "secretRef" in e} == {
        "REDIS_URL": "redis-url",
        "KB_PGVECTOR_DSN": "kb-pgvector-dsn",
    }
    for secret in by_name.values():
        assert secret["identity"] == "system"
        vault, _, version = secret["keyVaultUrl"].partition("/secrets/")
        assert vault == "https://sandbox-user-kv.vault.azure.net"
        assert len(version.split("/")) == 2
