"""Microsoft.KeyVault/vaults: names of the whole world, soft delete, recovery and purge (facts, sections 4 and 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..front import Answer
from .operations import purge_answer, start
from .schemas import check
from .wire import Call, Refused, Route, get_resource, lister, location_of, must_find, normal, shown, stamp
from .world import CALLER, TENANT, Resource, World, group_id

KIND = "Microsoft.KeyVault/vaults"
_NAME = re.compile(r"(?!.*--)[A-Za-z][0-9A-Za-z-]{1,22}[0-9A-Za-z]")
_RBAC_BY_DEFAULT = "2026-02-01"  # the first API version with it (facts, section 0)
_TAKEN = (
    "The vault name '{}' is already in use. Vault names are globaly unique so it is possible that the name is already "
    "taken. If you are sure that the vault name was not taken then it is possible that a vault with the same name was "
    "recently deleted but not purged after being placed in a recoverable state."
)
_RECOVERABLE = (
    "A vault with the same name already exists in deleted state. You need to either recover or purge existing key vault. "
    "Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft delete."
)


def bad(message: str) -> Refused:
    """The vault provider's generic refusal."""
    return Refused(400, "BadRequest", message)


def vault_named(world: World, name: str) -> Resource | None:
    """The vault of that name, in whatever resource group: the names are the whole world's."""
    return next((v for v in world.of_type(KIND) if v.name.casefold() == name.casefold()), None)


def _put(world: World, call: Call) -> Answer:
    check(call.body, "keyvault", "VaultCreateOrUpdateParameters")
    name, given = call.names["vault"], call.body.get("properties") or {}
    existing = world.find(call.id)
    location_of(call, KIND, existing)
    if not _NAME.fullmatch(name):
        message = (
            f"The vault name '{name}' is invalid. A vault's name must be between 3-24 alphanumeric characters. The name "
            "must begin with a letter, end with a letter or digit, and not contain consecutive hyphens."
        )
        raise Refused(400, "VaultNameNotValid", message)
    deleted = world.deleted_vaults.get(name.casefold())
    if given.get("createMode") == "recover":
        return _recover(world, call, deleted)
    _check_body(call, given)
    if existing is not None:
        return _change(world, call, existing)
    if deleted is not None:
        raise Refused(409, "ConflictError", _RECOVERABLE)
    if vault_named(world, name) is not None:
        raise Refused(409, "VaultAlreadyExists", _TAKEN.format(name))
    vault = _new(world, call, given)
    world.put(vault)
    _register_dns(world, vault)
    return Answer(status=200, body=shown(world, vault))


def _check_body(call: Call, given: Mapping[str, Any]) -> None:
    if not given.get("tenantId"):
        raise bad("The parameter tenantId is required.")
    sku = given.get("sku") or {}
    if sku.get("family") != "A" or sku.get("name") not in ("standard", "premium"):
        raise bad("The parameter sku is invalid.")
    if given.get("enableSoftDelete") is False:
        raise bad('The property "enableSoftDelete" can be set to false only for creating new vault.')
    if given.get("enablePurgeProtection") is False:
        message = 'The property "enablePurgeProtection" cannot be set to false. Enabling the purge protection is '
        raise bad(f"{message}an irreversible action.")
    if not 7 <= given.get("softDeleteRetentionInDays", 90) <= 90:
        raise bad("The property softDeleteRetentionInDays must be between 7 and 90.")
    rbac = given.get("enableRbacAuthorization")
    if not (call.version >= _RBAC_BY_DEFAULT if rbac is None else rbac) and given.get("accessPolicies") is None:
        raise bad("The parameter accessPolicies is required.")


def _new(world: World, call: Call, given: Mapping[str, Any]) -> Resource:
    rbac = given.get("enableRbacAuthorization")
    chosen = {**given, "enableRbacAuthorization": call.version >= _RBAC_BY_DEFAULT if rbac is None else rbac}
    vault = Resource(id=call.id, document={}, born=world.now())
    vault.document.update(_document(world, vault, normal(str(call.body["location"])), chosen, call.caller))
    vault.hidden.update(secrets={}, deleted_secrets={})
    world.set_tags(vault, call.body.get("tags"))
    return vault


def _document(world: World, vault: Resource, location: str, given: Mapping[str, Any], caller: str) -> dict[str, Any]:
    now = stamp(world.now(), 3)
    return {
        "id": vault.id,
        "name": vault.name,
        "type": KIND,
        "location": location,
        "tags": {},
        "systemData": {
            "createdBy": caller,
            "createdByType": "User",
            "createdAt": now,
            "lastModifiedBy": caller,
            "lastModifiedByType": "User",
            "lastModifiedAt": now,
        },
        "properties": {
            "sku": dict(given["sku"]),
            "tenantId": given["tenantId"],
            "accessPolicies": list(given.get("accessPolicies") or []),
            "enabledForDeployment": bool(given.get("enabledForDeployment")),
            "enableSoftDelete": True,
            "softDeleteRetentionInDays": given.get("softDeleteRetentionInDays", 90),
            "enableRbacAuthorization": given["enableRbacAuthorization"],
            "vaultUri": f"https://{vault.name.lower()}.vault.azure.net",
            "provisioningState": "RegisteringDns",
            "publicNetworkAccess": given.get("publicNetworkAccess", "Enabled"),
            **({"enablePurgeProtection": True} if given.get("enablePurgeProtection") else {}),
        },
    }


def make_vault(world: World, group: str, name: str, location: str) -> Resource:
    """A vault of the user's that is there from the start, with RBAC."""
    vault = Resource(id=f"{group_id(group)}/providers/{KIND}/{name}", document={}, born=world.now())
    given = {"sku": {"family": "A", "name": "standard"}, "tenantId": TENANT, "enableRbacAuthorization": True}
    vault.document.update(_document(world, vault, location, given, CALLER))
    vault.hidden.update(secrets={}, deleted_secrets={})
    vault.properties.update(provisioningState="Succeeded", vaultUri=f"{vault.properties['vaultUri']}/")
    world.put(vault)
    return vault


def _register_dns(world: World, vault: Resource) -> None:
    """The name is known to the world a little later; only then does the URI end with a slash (recordings)."""

    def registered() -> None:
        vault.properties.update(provisioningState="Succeeded")
        vault.properties["vaultUri"] = vault.properties["vaultUri"].rstrip("/") + "/"

    if world.durations.vault_dns_s > 0:
        world.later(world.durations.vault_dns_s, registered)
    else:
        registered()


def _recover(world: World, call: Call, deleted: Resource | None) -> Answer:
    """The vault comes back with its secrets, and without the role assignments on it."""
    if deleted is None or deleted.id.casefold() != call.id.casefold():
        message = f"The specified deleted vault '{call.names['vault']}' does not exist."
        raise Refused(404, "DeletedVaultNotFound", message)
    del world.deleted_vaults[deleted.name.casefold()]
    deleted.document["systemData"]["lastModifiedAt"] = stamp(world.now(), 3)
    world.put(deleted)
    return Answer(status=200, body=shown(world, deleted))


def _patch(world: World, call: Call) -> Answer:
    check(call.body, "keyvault", "VaultPatchParameters")
    vault = must_find(world, call.id)
    if (call.body.get("properties") or {}).get("enablePurgeProtection") is False:
        raise bad('The property "enablePurgeProtection" cannot be set to false.')
    return _change(world, call, vault)


def _change(world: World, call: Call, vault: Resource) -> Answer:
    given, before = call.body.get("properties") or {}, vault.properties
    days = given.get("softDeleteRetentionInDays", before["softDeleteRetentionInDays"])
    if days != before["softDeleteRetentionInDays"]:
        raise bad("The property softDeleteRetentionInDays has been set already and it can't be modified.")
    changeable = ("accessPolicies", "enabledForDeployment", "enableRbacAuthorization", "publicNetworkAccess")
    before.update({k: given[k] for k in changeable if given.get(k) is not None})
    if given.get("enablePurgeProtection"):
        before["enablePurgeProtection"] = True
    world.set_tags(vault, call.body.get("tags"))
    vault.document["systemData"]["lastModifiedAt"] = stamp(world.now(), 3)
    return Answer(status=200, body=shown(world, vault))


def _delete(world: World, call: Call) -> Answer:
    """At once, and kept under its name until it is purged or its retention is over."""
    vault = world.find(call.id)
    if vault is None:
        return Answer(status=204)
    world.remove(vault.id)
    world.deleted_vaults[vault.name.casefold()] = vault
    at = vault.hidden["deleted_at"] = world.now()
    days = vault.properties["softDeleteRetentionInDays"]
    world.later(days * world.durations.kept_day_s, lambda: _purge(world, vault, at))
    return Answer(status=200)


def _purge(world: World, vault: Resource, at: datetime) -> None:
    """Unless it was recovered meanwhile, and perhaps deleted anew."""
    if world.deleted_vaults.get(vault.name.casefold()) is vault and vault.hidden["deleted_at"] == at:
        del world.deleted_vaults[vault.name.casefold()]


def _deleted_of(world: World, call: Call) -> Resource:
    vault = world.deleted_vaults.get(call.names["vault"].casefold())
    if vault is None or vault.document["location"] != normal(call.names["location"]):
        message = f"The specified deleted vault '{call.names['vault']}' does not exist."
        raise Refused(404, "DeletedVaultNotFound", message)
    return vault


def _deleted_document(vault: Resource) -> dict[str, Any]:
    at, subscription = vault.hidden["deleted_at"], vault.id.split("/resourceGroups/")[0]
    location = vault.document["location"]
    purged = at + timedelta(days=vault.properties["softDeleteRetentionInDays"])
    return {
        "id": f"{subscription}/providers/Microsoft.KeyVault/locations/{location}/deletedVaults/{vault.name}",
        "name": vault.name,
        "type": "Microsoft.KeyVault/deletedVaults",
        "properties": {
            "vaultId": vault.id,
            "location": location,
            "tags": dict(vault.document["tags"]),
            "deletionDate": stamp(at, 0).replace(".", ""),
            "scheduledPurgeDate": stamp(purged, 0).replace(".", ""),
            **({"purgeProtectionEnabled": True} if vault.properties.get("enablePurgeProtection") else {}),
        },
    }


def _get_deleted(world: World, call: Call) -> Answer:
    return Answer(body=_deleted_document(_deleted_of(world, call)))


def _list_deleted(world: World, call: Call) -> Answer:
    return Answer(body={"value": [_deleted_document(v) for _, v in sorted(world.deleted_vaults.items())]})


def _purge_deleted(world: World, call: Call) -> Answer:
    vault = _deleted_of(world, call)
    if vault.properties.get("enablePurgeProtection"):
        message = f"Operation 'DeletedVaultPurge' is not allowed: purge protection is enabled on '{vault.name}'."
        raise Refused(400, "MethodNotAllowed", message)
    seconds, location = world.durations.vault_purge_s, str(vault.document["location"])
    operation = start(world, "vault purge", location, seconds, lambda: _purge(world, vault, vault.hidden["deleted_at"]))
    return purge_answer(world, operation, call)


def _check_availability(world: World, call: Call) -> Answer:
    name = str(call.body.get("name", ""))
    if not _NAME.fullmatch(name):
        return Answer(body={"nameAvailable": False, "reason": "AccountNameInvalid", "message": "The name is invalid."})
    if vault_named(world, name) or name.casefold() in world.deleted_vaults:
        message = _TAKEN.format(name)
        return Answer(body={"nameAvailable": False, "reason": "AlreadyExists", "message": message})
    return Answer(body={"nameAvailable": True})


_VAULTS = f"/subscriptions/{{subscription}}/resourceGroups/{{group}}/providers/{KIND}"
_SUBSCRIPTION = "/subscriptions/{subscription}/providers/Microsoft.KeyVault"
_DELETED = f"{_SUBSCRIPTION}/locations/{{location}}/deletedVaults/{{vault}}"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str = "vaults") -> Route:
    service, operation = "Microsoft.KeyVault", f"{method} {kind}"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", f"{_VAULTS}/{{vault}}", _put),
    _route("PATCH", f"{_VAULTS}/{{vault}}", _patch),
    _route("GET", f"{_VAULTS}/{{vault}}", get_resource),
    _route("DELETE", f"{_VAULTS}/{{vault}}", _delete),
    _route("GET", _VAULTS, lister(KIND)),
    _route("GET", f"{_SUBSCRIPTION}/vaults", lister(KIND)),
    _route("GET", _DELETED, _get_deleted, "deletedVaults"),
    _route("GET", f"{_SUBSCRIPTION}/deletedVaults", _list_deleted, "deletedVaults"),
    _route("POST", f"{_DELETED}/purge", _purge_deleted, "purge"),
    _route("POST", f"{_SUBSCRIPTION}/checkNameAvailability", _check_availability, "checkNameAvailability"),
]
