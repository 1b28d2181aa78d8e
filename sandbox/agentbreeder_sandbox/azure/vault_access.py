"""Who may do what in a vault: the 401 challenge, role assignments or access policies, and the vault's firewall."""

from __future__ import annotations

from ..front import Answer
from .roles import allowed
from .vaults import vault_named
from .wire import Call, Refused
from .world import TENANT, Resource, World

_ACTIONS = {
    "get": "getSecret",
    "list": "readMetadata",
    "set": "setSecret",
    "update": "update",
    "delete": "delete",
    "recover": "recover",
    "purge": "purge",
}


def challenge(world: World, vault: str) -> Answer:
    """401 to a request without a token, naming whose tokens the vault takes (recordings, kv_secret_soft_delete)."""
    found = vault_named(world, vault)
    tenant = found.properties["tenantId"] if found else TENANT
    bearer = f'Bearer authorization="https://login.microsoftonline.com/{tenant}", resource="https://vault.azure.net"'
    error = {"code": "Unauthorized", "message": "AKV10000: Request is missing a Bearer or PoP token."}
    return Answer(status=401, body={"error": error}, headers={"WWW-Authenticate": bearer})


def opened(world: World, call: Call, right: str) -> Resource:
    """The vault, once the caller may do this there. Raises `Refused` 403 with Key Vault's inner codes, or 404."""
    vault = vault_named(world, call.names["vault"])
    if vault is None or vault.properties["provisioningState"] != "Succeeded":
        # The real name would not resolve; a 404 is what resolvers that are behind see.
        raise Refused(404, "VaultNotFound", f"The vault '{call.names['vault']}' was not found.")
    denied = world.switches.vaults_denied.get(vault.name.casefold(), "")
    if denied == "firewall":
        message = (
            "Client address is not authorized and caller is not a trusted service.\r\nClient address: 203.0.113.7\r\n"
            f"Caller: oid={call.caller}\r\nVault: {vault.name};location={vault.document['location']}"
        )
        raise Refused(403, "Forbidden", message, inner="ForbiddenByFirewall")
    if not vault.properties["enableRbacAuthorization"]:
        _check_policies(vault, call, right)
        return vault
    secret = call.names.get("secret")
    scope = f"{vault.id}/secrets/{secret}" if secret else vault.id
    if denied == "rbac" or not allowed(world, call.caller, scope, right):
        message = (
            "Caller is not authorized to perform action on resource.\r\nIf role assignments, deny assignments or role "
            f"definitions were changed recently, please observe propagation time.\r\nCaller: oid={call.caller}\r\n"
            f"Action: 'Microsoft.KeyVault/vaults/secrets/{_ACTIONS[right]}/action'\r\nResource: '{scope.lower()}'\r\n"
            f"Assignment: (not found)\r\nVault: {vault.name};location={vault.document['location']}\r\n"
        )
        raise Refused(403, "Forbidden", message, inner="ForbiddenByRbac")
    return vault


def _check_policies(vault: Resource, call: Call, right: str) -> None:
    wanted = "set" if right == "update" else right
    for policy in vault.properties["accessPolicies"]:
        given = {p.casefold() for p in (policy.get("permissions") or {}).get("secrets") or []}
        if policy.get("objectId", "").casefold() == call.caller.casefold() and (
            wanted in given or ("all" in given and wanted != "purge")
        ):
            return
    message = (
        f"The user, group or application 'oid={call.caller}' does not have secrets {wanted} permission on key vault "
        f"'{vault.name};location={vault.document['location']}'."
    )
    raise Refused(403, "Forbidden", message, inner="ForbiddenByPolicy")
