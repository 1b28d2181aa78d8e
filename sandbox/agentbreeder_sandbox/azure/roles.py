"""Microsoft.Authorization/roleAssignments at any scope, and what they allow in a vault once they have taken effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .schemas import Shape, refuse_unfit
from .wire import Call, Refused, Route, not_found, stamp
from .world import SUBSCRIPTION, TENANT, Resource, World

KIND = "Microsoft.Authorization/roleAssignments"
SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
_READS = frozenset({"get", "list"})
_ALL = frozenset({"get", "list", "set", "update", "delete", "recover", "purge"})
DATA_RIGHTS: Mapping[str, frozenset[str]] = {
    SECRETS_OFFICER: _ALL,
    "00482a5a-887f-4fb3-b363-3b7fe8e74483": _ALL,  # Key Vault Administrator
    SECRETS_USER: frozenset({"get"}),  # getSecret and readMetadata; listing is readMetadata too
    # Control-plane roles give no right to secrets (facts, section 6).
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": frozenset(),  # Owner
    "b24988ac-6180-42a0-ab88-20f7382dd24c": frozenset(),  # Contributor
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": frozenset(),  # Reader
    "f25e0fa2-a7c8-4377-a976-54943a77a395": frozenset(),  # Key Vault Contributor
}
_BODY: Shape = {
    "id": "str",
    "name": "str",
    "type": "str",
    "properties": {
        "roleDefinitionId": "str",
        "principalId": "str",
        "principalType": "str",
        "description": "str",
        "condition": "str",
        "conditionVersion": "str",
        "delegatedManagedIdentityResourceId": "str",
    },
}
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TYPES = ("User", "Group", "ServicePrincipal", "ForeignGroup", "Device")
_FILTER = re.compile(r"(principalId|assignedTo)(?:\(| eq )'([^']+)'", re.IGNORECASE)


def allowed(world: World, caller: str, scope: str, right: str) -> bool:
    """Whether some assignment at the scope or above it, old enough to have taken effect, gives the caller this right."""
    for assignment in world.of_type(KIND):
        given = assignment.properties
        above = f"{scope}/".casefold().startswith(f"{given['scope'].rstrip('/')}/".casefold())
        effective = world.seconds_ago(assignment.born) >= assignment.hidden["lag_s"]
        role = given["roleDefinitionId"].rpartition("/")[2].casefold()
        mine = given["principalId"].casefold() == caller.casefold()
        if above and effective and mine and right in DATA_RIGHTS[role]:
            return True
    return False


def grant(world: World, scope: str, role: str, principal: str, name: str) -> None:
    """An assignment that is there from the start."""
    resource_id = f"{scope}/providers/{KIND}/{name}"
    document = _document(world, resource_id, scope, {"principalId": principal, "principalType": "User"}, role, "")
    world.put(Resource(id=resource_id, document=document, born=world.now(), hidden={"lag_s": 0.0}))


def _put(world: World, call: Call) -> Answer:
    refuse_unfit(call.body, _BODY)
    scope, name = "/" + call.names["scope"].strip("/"), call.names["assignment"]
    if not _GUID.fullmatch(name):
        raise Refused(
            400, "InvalidRoleAssignmentId", f"The role assignment ID '{name}' is not valid. It must be a GUID."
        )
    _check_scope(world, scope)
    given = call.body.get("properties") or {}
    principal, role = (
        str(given.get("principalId", "")),
        str(given.get("roleDefinitionId", "")).rpartition("/")[2].lower(),
    )
    if not _GUID.fullmatch(principal):
        raise Refused(400, "BadRequestFormat", "The request was incorrectly formatted.")
    if role not in DATA_RIGHTS:
        message = f"The specified role definition with ID '{role.replace('-', '')}' does not exist."
        raise Refused(404, "RoleDefinitionDoesNotExist", message)
    if given.get("principalType", "User") not in _TYPES:
        raise Refused(
            400, "UnsupportedPrincipalType", f"Principals of type {given['principalType']} are not supported."
        )
    _check_principal(world, given, principal)
    same = _same(world, scope, principal, role)
    existing = world.find(call.id)
    if existing is not None and same is not existing:
        message = "Tenant ID, application ID, principal ID, and scope are not allowed to be updated."
        raise Refused(400, "RoleAssignmentUpdateNotPermitted", message)
    if existing is not None:
        return Answer(status=200, body=existing.document)
    if same is not None:
        raise Refused(409, "RoleAssignmentExists", "The role assignment already exists.")
    document = _document(world, call.id, scope, given, role, call.caller)
    hidden = {"lag_s": world.durations.rbac_lag_s}
    world.put(Resource(id=call.id, document=document, born=world.now(), hidden=hidden))
    return Answer(status=201, body=document)


def _check_scope(world: World, scope: str) -> None:
    """The subscription, a group, a resource, or one secret of a vault, which ARM does not look for."""
    parts = scope.split("/")
    if scope.casefold() == f"/subscriptions/{SUBSCRIPTION}".casefold():
        return
    if len(parts) == 5 and parts[4].casefold() in world.groups:
        return
    vault = "/".join(parts[:9]) if len(parts) == 11 and parts[9].casefold() == "secrets" else scope
    if world.find(vault) is None:
        raise not_found(scope)


def _check_principal(world: World, given: Mapping[str, Any], principal: str) -> None:
    if world.switches.principal_is_new and not given.get("principalType"):
        message = (
            f"Principal {principal.replace('-', '')} does not exist in the directory {TENANT}. Check that you have the "
            "correct principal ID. If you are creating this principal and then immediately assigning a role, this error "
            "might be related to a replication delay. In this case, set the role assignment principalType property to a "
            "value, such as ServicePrincipal, User, or Group.  See https://aka.ms/docs-principaltype"
        )
        raise Refused(400, "PrincipalNotFound", message)


def _same(world: World, scope: str, principal: str, role: str) -> Resource | None:
    for found in world.of_type(KIND):
        given = found.properties
        wanted = (scope.casefold(), principal.casefold(), role)
        has = (given["scope"].casefold(), given["principalId"].casefold(), given["roleDefinitionId"].rpartition("/")[2])
        if wanted == has:
            return found
    return None


def _document(
    world: World, resource_id: str, scope: str, given: Mapping[str, Any], role: str, caller: str
) -> dict[str, Any]:
    now = stamp(world.now())
    return {
        "properties": {
            "roleDefinitionId": (
                f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
            ),
            "principalId": given["principalId"],
            "principalType": given.get("principalType") or "User",
            "scope": scope,
            "condition": given.get("condition"),
            "conditionVersion": given.get("conditionVersion"),
            "createdOn": now,
            "updatedOn": now,
            "createdBy": caller or None,
            "updatedBy": caller or None,
            "delegatedManagedIdentityResourceId": None,
            "description": given.get("description"),
        },
        "id": resource_id,
        "type": KIND,
        "name": resource_id.rpartition("/")[2],
    }


def _get(world: World, call: Call) -> Answer:
    found = world.find(call.id)
    if found is None:
        message = f"The role assignment '{call.names['assignment']}' is not found."
        raise Refused(404, "RoleAssignmentNotFound", message)
    return Answer(body=found.document)


def _delete(world: World, call: Call) -> Answer:
    found = world.find(call.id)
    if found is None:
        return Answer(status=204)
    world.remove(found.id)
    return Answer(body=found.document)


def _list(world: World, call: Call) -> Answer:
    """At the scope, above it and below it; `$filter=atScope()` leaves out what is below."""
    scope = "/" + call.names["scope"].strip("/")
    asked = call.request.query.get("$filter", "")
    principal = match[2].casefold() if (match := _FILTER.search(asked)) else ""
    found = []
    for assignment in world.of_type(KIND):
        at = assignment.properties["scope"]
        above = f"{scope}/".casefold().startswith(f"{at}/".casefold())
        below = f"{at}/".casefold().startswith(f"{scope}/".casefold()) and "atscope()" not in asked.casefold()
        if (above or below) and principal in ("", assignment.properties["principalId"].casefold()):
            found.append(assignment.document)
    return Answer(body={"value": found})


_PATH = "/{scope*}/providers/Microsoft.Authorization/roleAssignments"


def _route(method: str, template: str, answer: Callable[[World, Call], Answer]) -> Route:
    service, operation = "Microsoft.Authorization", f"{method} roleAssignments"
    return Route(method=method, template=template, answer=answer, service=service, operation=operation)


ROUTES = [
    _route("PUT", f"{_PATH}/{{assignment}}", _put),
    _route("GET", f"{_PATH}/{{assignment}}", _get),
    _route("DELETE", f"{_PATH}/{{assignment}}", _delete),
    _route("GET", _PATH, _list),
]
