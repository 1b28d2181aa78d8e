"""A vault's data plane: secrets with versions, tags, soft delete, recovery and purge."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ..front import Answer
from .schemas import Shape, refuse_unfit
from .vault_access import opened
from .wire import Call, Refused, Route
from .world import Resource, World

_NAME = re.compile(r"[0-9A-Za-z-]{1,127}")
_MAX_BYTES, _PAGE, _DAY_S = 25_000, 25, 86_400
_ATTRIBUTES: Shape = {
    "enabled": "bool", "nbf": "int", "exp": "int", "created": "int", "updated": "int",
    "recoveryLevel": "str", "recoverableDays": "int",
}  # fmt: skip
_SET: Shape = {"value": "str", "tags": ("map", "str"), "contentType": "str", "attributes": _ATTRIBUTES}
_UPDATE: Shape = {"tags": ("map", "str"), "contentType": "str", "attributes": _ATTRIBUTES}


def _unix(moment: datetime) -> int:
    return int(moment.timestamp())


def _uri(vault: Resource) -> str:
    return str(vault.properties["vaultUri"]).rstrip("/")


def _missing(name: str) -> Refused:
    message = (
        f"A secret with (name/id) {name} was not found in this key vault. If you recently deleted this secret you may be "
        "able to recover it using the correct recovery command."
    )
    return Refused(404, "SecretNotFound", message)


def _conflict(message: str, inner: str) -> Refused:
    return Refused(409, "Conflict", message, inner=inner)


def _key(call: Call) -> str:
    name = call.names["secret"]
    if not _NAME.fullmatch(name):
        message = f"The request URI contains an invalid name: {name}"
        raise Refused(400, "BadParameter", message)
    return name.casefold()


def _not_in_between(world: World, vault: Resource, name: str) -> None:
    """Refuses a name that is held by a deletion or a recovery."""
    gone = vault.hidden["deleted_secrets"].get(name.casefold())
    if gone is None:
        return
    if gone["state"] == "deleting":
        raise _conflict(f"Secret {name} is currently being deleted.", "ObjectIsBeingDeleted")
    if gone["state"] == "recovering":
        raise _conflict(f"Secret {name} is currently being recovered.", "ObjectIsBeingRecovered")
    message = (
        f"Secret {name} is currently in a deleted but recoverable state, and its name cannot be reused; in this state, "
        "the secret can only be recovered or purged."
    )
    raise _conflict(message, "ObjectIsDeletedButRecoverable")


def _versions(vault: Resource, call: Call) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = vault.hidden["secrets"].get(_key(call), [])
    if not found:
        raise _missing(call.names["secret"])
    return found


def _set(world: World, call: Call) -> Answer:
    refuse_unfit(call.body, _SET)
    vault, key = opened(world, call, "set"), _key(call)
    value = call.body.get("value")
    if value is None or len(value.encode()) > _MAX_BYTES:
        raise Refused(400, "BadParameter", "The parameter value is missing or longer than 25 kilobytes.")
    _not_in_between(world, vault, call.names["secret"])
    now = _unix(world.now())
    given = {k: v for k, v in (call.body.get("attributes") or {}).items() if k in ("enabled", "nbf", "exp")}
    days = vault.properties["softDeleteRetentionInDays"]
    purgeable = "" if vault.properties.get("enablePurgeProtection") else "+Purgeable"
    level = f"{'CustomizedRecoverable' if days < 90 else 'Recoverable'}{purgeable}"
    bundle: dict[str, Any] = {
        "value": value,
        "id": f"{_uri(vault)}/secrets/{call.names['secret']}/{world.uuid().replace('-', '')}",
        "attributes": {
            "enabled": True, "created": now, "updated": now, "recoveryLevel": level, "recoverableDays": days, **given
        },
    }  # fmt: skip
    bundle.update({k: call.body[k] for k in ("contentType", "tags") if call.body.get(k) is not None})
    vault.hidden["secrets"].setdefault(key, []).append(bundle)
    return Answer(body=bundle)


def _of_version(vault: Resource, call: Call) -> dict[str, Any]:
    versions = _versions(vault, call)
    wanted = call.names.get("version") or ""
    found = next((v for v in versions if v["id"].rpartition("/")[2] == wanted), None) if wanted else versions[-1]
    if found is None:
        raise _missing(f"{call.names['secret']}/{wanted}")
    return found


def _get(world: World, call: Call) -> Answer:
    bundle = _of_version(opened(world, call, "get"), call)
    if not bundle["attributes"]["enabled"]:
        message = "Operation get is not allowed on a disabled secret."
        raise Refused(403, "Forbidden", message, inner="SecretDisabled")
    return Answer(body=bundle)


def _update(world: World, call: Call) -> Answer:
    """Tags are replaced as a whole, attributes one by one; the value stays."""
    refuse_unfit(call.body, _UPDATE)
    vault = opened(world, call, "update")
    bundle = _of_version(vault, call)
    _not_in_between(world, vault, call.names["secret"])
    given = call.body.get("attributes") or {}
    bundle["attributes"].update({k: v for k, v in given.items() if k in ("enabled", "nbf", "exp")})
    bundle["attributes"]["updated"] = _unix(world.now())
    bundle.update({k: call.body[k] for k in ("contentType", "tags") if call.body.get(k) is not None})
    return Answer(body=_without_value(bundle))


def _without_value(bundle: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in bundle.items() if k != "value"}


def _paged(call: Call, items: list[dict[str, Any]]) -> Answer:
    size = min(int(call.request.query.get("maxresults") or _PAGE), _PAGE)
    start = int(call.request.query.get("$skiptoken") or 0)
    more = start + size < len(items)
    query = f"api-version={call.version}&$skiptoken={start + size}&maxresults={size}"
    following = f"https://{call.request.host}{call.request.path}?{query}" if more else None
    return Answer(body={"value": items[start : start + size], "nextLink": following})


def _list(world: World, call: Call) -> Answer:
    vault = opened(world, call, "list")
    latest = [versions[-1] for _, versions in sorted(vault.hidden["secrets"].items())]
    return _paged(call, [{**_without_value(b), "id": b["id"].rpartition("/")[0]} for b in latest])


def _list_versions(world: World, call: Call) -> Answer:
    vault = opened(world, call, "list")
    found = vault.hidden["secrets"].get(_key(call), [])
    return _paged(call, [_without_value(b) for b in found])


def _deleted_bundle(gone: dict[str, Any]) -> dict[str, Any]:
    dates = {k: gone[k] for k in ("recoveryId", "deletedDate", "scheduledPurgeDate")}
    return {**dates, **_without_value(gone["versions"][-1])}


def _delete(world: World, call: Call) -> Answer:
    """Accepted at once; for a while the secret is neither there nor among the deleted ones (recordings)."""
    vault, key = opened(world, call, "delete"), _key(call)
    _not_in_between(world, vault, call.names["secret"])
    versions = _versions(vault, call)
    now, days = _unix(world.now()), vault.properties["softDeleteRetentionInDays"]
    gone = {
        "recoveryId": f"{_uri(vault)}/deletedsecrets/{call.names['secret']}",
        "deletedDate": now,
        "scheduledPurgeDate": now + days * _DAY_S,
        "versions": versions,
        "state": "deleting",
    }
    del vault.hidden["secrets"][key]
    vault.hidden["deleted_secrets"][key] = gone
    _soon(world, world.durations.secret_delete_s, lambda: gone.update(state="deleted"))
    world.later(days * world.durations.kept_day_s, lambda: _purged(vault, key, gone))
    return Answer(body=_deleted_bundle(gone))


def _soon(world: World, seconds: float, change: Callable[[], None]) -> None:
    if seconds > 0:
        world.later(seconds, change)
    else:
        change()


def _purged(vault: Resource, key: str, gone: dict[str, Any]) -> None:
    if vault.hidden["deleted_secrets"].get(key) is gone:
        del vault.hidden["deleted_secrets"][key]


def _deleted(vault: Resource, call: Call) -> dict[str, Any]:
    gone: dict[str, Any] | None = vault.hidden["deleted_secrets"].get(_key(call))
    if gone is None or gone["state"] == "recovering":
        raise Refused(404, "SecretNotFound", f"Deleted Secret not found: {call.names['secret']}")
    return gone


def _get_deleted(world: World, call: Call) -> Answer:
    gone = _deleted(opened(world, call, "get"), call)
    if gone["state"] == "deleting":
        raise Refused(404, "SecretNotFound", f"Deleted Secret not found: {call.names['secret']}")
    return Answer(body=_deleted_bundle(gone))


def _list_deleted(world: World, call: Call) -> Answer:
    vault = opened(world, call, "list")
    found = [g for _, g in sorted(vault.hidden["deleted_secrets"].items()) if g["state"] == "deleted"]
    return _paged(call, [{**b, "id": b["id"].rpartition("/")[0]} for b in map(_deleted_bundle, found)])


def _being_deleted(gone: dict[str, Any], call: Call) -> None:
    if gone["state"] == "deleting":
        raise _conflict(f"Secret {call.names['secret']} is currently being deleted.", "ObjectIsBeingDeleted")


def _recover(world: World, call: Call) -> Answer:
    vault, key = opened(world, call, "recover"), _key(call)
    if key in vault.hidden["secrets"]:
        message = f"Secret exists already: {call.names['secret']}"
        raise Refused(400, "MethodNotAllowed", message, inner="RequestNotAllowedOnNonDeletedObject")
    gone = _deleted(vault, call)
    _being_deleted(gone, call)
    gone["state"] = "recovering"

    def back() -> None:
        vault.hidden["secrets"][key] = gone["versions"]
        _purged(vault, key, gone)

    _soon(world, world.durations.secret_recover_s, back)
    return Answer(body=_without_value(gone["versions"][-1]))


def _purge(world: World, call: Call) -> Answer:
    vault = opened(world, call, "purge")
    gone = _deleted(vault, call)
    _being_deleted(gone, call)
    if vault.properties.get("enablePurgeProtection"):
        message = "Operation purge is not allowed because purge protection is enabled for this vault."
        raise Refused(403, "Forbidden", message, inner="ForbiddenByPurgeProtection")
    _purged(vault, _key(call), gone)
    return Answer(status=204)


def _route(method: str, template: str, answer: Callable[[World, Call], Answer], kind: str) -> Route:
    return Route(method=method, template=template, answer=answer, service="keyvault", operation=f"{method} {kind}")


_SECRET, _DELETED_SECRET = "/secrets/{secret}", "/deletedsecrets/{secret}"
ROUTES = [
    _route("GET", f"{_SECRET}/versions", _list_versions, "versions"),
    _route("PUT", _SECRET, _set, "secrets"),
    _route("GET", _SECRET, _get, "secrets"),
    _route("GET", f"{_SECRET}/{{version}}", _get, "secrets"),
    _route("PATCH", _SECRET, _update, "secrets"),
    _route("PATCH", f"{_SECRET}/{{version}}", _update, "secrets"),
    _route("DELETE", _SECRET, _delete, "secrets"),
    _route("GET", "/secrets", _list, "secrets"),
    _route("GET", _DELETED_SECRET, _get_deleted, "deletedsecrets"),
    _route("DELETE", _DELETED_SECRET, _purge, "deletedsecrets"),
    _route("POST", f"{_DELETED_SECRET}/recover", _recover, "recover"),
    _route("GET", "/deletedsecrets", _list_deleted, "deletedsecrets"),
]
