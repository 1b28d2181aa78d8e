"""Preflight: the user's vault and what the deployer may do in it, or who the deployer is when one is to be made."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import AuthError, Problem
from agentbreeder_resolver.plan_types import Finding, MemoryPlan

from ..engine.kinds import NotFound
from ..engine.wiring import Checks
from .clients import AzureClients
from .errors import DeniedByRbac, NotPermitted
from .identity import Identity
from .names import base_name, resource_id, same_id, secret_name

_API = "2024-11-01"
_VAULTS = "Microsoft.KeyVault/vaults"
_KEY = "deploy.env_vars.AZURE_KEY_VAULT_NAME"


def check_vault(az: AzureClients, plan: MemoryPlan, checks: Checks, tenant: str) -> None:
    """Facts: `vault_id`, `vault_uri` of the user's vault; `tenant_id`, `deployer_id`, `deployer_type` for one of ours."""
    who = az.identity()
    checks.facts.update(tenant_id=tenant or who.tenant_id, deployer_id=who.object_id, deployer_type=who.kind)
    name = str(plan.network.get("key_vault_name", ""))
    if not name:
        _must_know_deployer(who, checks)
        return
    vault = _find(az, str(plan.network["resource_group"]), name)
    if vault is None:
        group = plan.network["resource_group"]
        command = f"az keyvault create --name {name} --resource-group {group} --location {plan.region}"
        _problem(checks, "VAULT_NOT_FOUND", f"vault {name!r} does not exist in this subscription: {command}")
        return
    properties = vault.get("properties") or {}
    checks.facts["vault_id"] = str(vault["id"])
    checks.facts["vault_uri"] = str(properties.get("vaultUri", "")).rstrip("/")
    _check_rights(az, plan, checks, who, str(vault["id"]))
    if plan.network.get("runtime_principal_id") and properties.get("enableRbacAuthorization") is False:
        _note_policies(checks, plan, name)


def _problem(checks: Checks, code: str, message: str) -> None:
    checks.problems.append(Problem(code=code, message=message, key=_KEY))


def _must_know_deployer(who: Identity, checks: Checks) -> None:
    if not who.object_id:
        message = (
            "a vault is to be made, but the credentials do not tell whom to give access to it; name a vault of yours: "
            "az keyvault list --output table"
        )
        _problem(checks, "DEPLOYER_UNKNOWN", message)


def _find(az: AzureClients, group: str, name: str) -> dict[str, Any] | None:
    """In the agent's resource group, else anywhere in the subscription."""
    try:
        return az.request("GET", resource_id(az.subscription, group, _VAULTS, name), api_version=_API).body
    except NotFound:
        pass
    try:
        vaults = az.listed(f"/subscriptions/{az.subscription}/providers/{_VAULTS}", api_version=_API)
    except NotPermitted:
        return None
    return next((v for v in vaults if same_id(str(v.get("name", "")), name)), None)


def _check_rights(az: AzureClients, plan: MemoryPlan, checks: Checks, who: Identity, vault_id: str) -> None:
    """Asks for the secret that would be made: to be told that there is none needs the right to read it."""
    name = secret_name(base_name(plan), "postgres")
    try:
        az.call(az.secrets(checks.facts["vault_uri"]).get_secret, name)
    except NotFound:
        return
    except DeniedByRbac:
        role = 'az role assignment create --role "Key Vault Secrets Officer"'
        message = f"these credentials may not use secrets in it: {role} --assignee {who.object_id} --scope {vault_id}"
        _problem(checks, "VAULT_RIGHTS", message)
    except AuthError as e:
        _problem(checks, "VAULT_RIGHTS", f"{e.detail}: {e.hint}")


def _note_policies(checks: Checks, plan: MemoryPlan, name: str) -> None:
    principal = plan.network["runtime_principal_id"]
    command = f"az keyvault set-policy --name {name} --object-id {principal} --secret-permissions get"
    text = f"vault {name} uses access policies, where a role has no effect; let the agent read: {command}"
    checks.findings.append(Finding(severity="warning", code="VAULT_POLICIES", message=text))
