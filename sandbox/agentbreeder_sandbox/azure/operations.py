"""Long-running operations: how each resource provider hands out its poll URLs, and what these answer (facts, 4)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..front import Answer
from .wire import Call, Refused, Route, must_find, shown, stamp
from .world import SUBSCRIPTION, Operation, Resource, World

ARM = "https://management.azure.com"
_CERTIFICATE_BYTES, _SIGNATURE_BYTES = 2700, 256  # about 4.3 KB once they are written in base64
_PROVIDER = "/subscriptions/{subscription}/providers"
_RETRY_AFTER_S: Mapping[str, str] = {
    # Inferred from the distance of the polls in the recordings (facts, 4); Managed Redis from terraform's interval.
    "UpsertServerManagementOperationV2": "60",
    "UpdateServerManagementOperation": "60",
    "DropServerManagementOperation": "15",
    "UpsertServerDatabaseManagementOperation": "10",
    "DropServerDatabaseManagementOperation": "10",
    "UpdateConfigurationManagementOperation": "10",
    "cache": "30",
    "managed": "15",
    "dns": "30",
    "vault purge": "5",
}


def start(
    world: World,
    kind: str,
    location: str,
    seconds: float,
    finish: Callable[[], None],
    *,
    result: str = "",
    error: Mapping[str, str] | None = None,
) -> Operation:
    """Something that takes a while: then `finish` is applied, and the operation has succeeded or failed with `error`."""
    operation = Operation(id=world.uuid(), kind=kind, location=location, started=world.now(), result=result)
    world.operations[operation.id] = operation

    def over() -> None:
        finish()
        operation.ended = world.now()
        operation.error = dict(error) if error else None

    if seconds > 0:
        world.later(seconds, over)
    else:
        over()
    return operation


def retry_after(world: World, operation: Operation) -> dict[str, str]:
    """The header that asks for patience. "0" is a trap that a test may set: the SDK takes it for none (facts, 3)."""
    asked = world.switches.retry_after
    return {"Retry-After": _RETRY_AFTER_S[operation.kind] if asked is None else asked}


def signed(operation: Operation, version: str) -> str:
    """The query of a poll URL, several KB of it. Whoever polls must send it back as it is."""
    seed = hashlib.sha256(operation.id.encode()).digest()
    return "&".join(
        [
            f"api-version={version}",
            f"t={int(operation.started.timestamp() * 10_000_000) + 621_355_968_000_000_000}",
            f"c={_noise(seed + b'c', _CERTIFICATE_BYTES)}",
            f"s={_noise(seed + b's', _SIGNATURE_BYTES)}",
            f"h={_noise(seed + b'h', 32)}",
        ]
    )


def _noise(seed: bytes, length: int) -> str:
    blocks = (hashlib.sha256(seed + bytes([n])).digest() for n in range(length // 32 + 1))
    return base64.urlsafe_b64encode(b"".join(blocks)[:length]).decode().rstrip("=")


def postgres_answer(world: World, operation: Operation, call: Call) -> Answer:
    """202 with the operation, not the resource, and both headers."""
    base = f"{ARM}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.DBforPostgreSQL/locations/"
    base += quote(operation.location)
    query = signed(operation, call.version)
    return Answer(
        status=202,
        body={"operation": operation.kind, "startTime": stamp(operation.started, 3)},
        headers={
            "Azure-AsyncOperation": f"{base}/azureAsyncOperation/{operation.id}?{query}",
            "Location": f"{base}/operationResults/{operation.id}?{query}",
            **retry_after(world, operation),
        },
    )


def cache_headers(world: World, operation: Operation, call: Call, *, asynchronous: bool) -> dict[str, str]:
    """A classic cache: creation names an operation and the cache itself, deletion only where its result will be."""
    base = f"{ARM}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Cache/locations/{quote(operation.location)}"
    query = signed(operation, call.version)
    headers = retry_after(world, operation)
    if not asynchronous:
        return {"Location": f"{base}/operationresults/{operation.id}?{query}", **headers}
    location = f"{ARM}{call.id}?api-version={call.version}"
    return {
        "Azure-AsyncOperation": f"{base}/asyncOperations/{operation.id}?{query}",
        "Location": location,
        **headers,
    }


def managed_headers(world: World, operation: Operation, call: Call) -> dict[str, str]:
    """Azure Managed Redis: the status at the location, the result under the resource."""
    base = f"{ARM}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Cache/locations/{quote(operation.location)}"
    query = signed(operation, call.version)
    return {
        "Azure-AsyncOperation": f"{base}/operationsStatus/{operation.id}?{query}",
        "Location": f"{ARM}{call.id}/operationresults/{operation.id}?{query}",
        **retry_after(world, operation),
    }


def dns_answer(world: World, operation: Operation, call: Call, status: int = 202, body: Any = None) -> Answer:
    """Private DNS: the port is written out in one of the two URLs."""
    group = call.id.partition("/providers/")[0]
    path = f"{group}/providers/Microsoft.Network"
    query = signed(operation, call.version)
    headers = {
        "Azure-AsyncOperation": f"{ARM}:443{path}/privateDnsOperationStatuses/{operation.id}?{query}",
        "Location": f"{ARM}{path}/privateDnsOperationResults/{operation.id}?{query}",
        **retry_after(world, operation),
    }
    return Answer(status=status, body={} if body is None else body, headers=headers)


def purge_answer(world: World, operation: Operation, call: Call) -> Answer:
    """Purging a vault: 202, empty, Location only."""
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault/locations/{quote(operation.location)}"
    url = f"{ARM}{path}/operationResults/{operation.id}?{signed(operation, call.version)}"
    return Answer(status=202, headers={"Location": url, **retry_after(world, operation)})


def _asked_for(world: World, call: Call) -> Operation:
    """The operation of a poll URL. Raises `Refused` when it is unknown, or its query is not as it was handed out."""
    operation = world.operations.get(call.names["operation"])
    if operation is None:
        message = f"The operation with Id: '{call.names['operation']}' does not exist."
        raise Refused(404, "OperationIdNotFound", message)
    given = call.request.query
    wanted = dict(pair.partition("=")[::2] for pair in signed(operation, call.version).split("&"))
    if any(given.get(name) != value for name, value in wanted.items()):
        raise Refused(400, "BadRequest", "The signature of the operation's URL is missing or not valid.")
    return operation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """How a provider tells of an operation: the status code while it runs, the document, and which headers repeat where
    to ask."""

    running: int
    document: Callable[[World, Call, Operation], dict[str, Any]]
    repeated: Callable[[Call, Operation], dict[str, str]] = lambda call, operation: {}


def _here(call: Call, *, port: str = "") -> str:
    return f"{ARM}{port}{quote(call.request.path)}?{call.request.raw_query}"


def _cache_repeats(call: Call, operation: Operation) -> dict[str, str]:
    return {"Azure-AsyncOperation": _here(call)}


def _dns_repeats(call: Call, operation: Operation) -> dict[str, str]:
    if operation.ended:
        return {}
    result = _here(call).replace("/privateDnsOperationStatuses/", "/privateDnsOperationResults/")
    return {"Azure-AsyncOperation": _here(call, port=":443"), "Location": result}


def _plain(world: World, call: Call, operation: Operation) -> dict[str, Any]:
    found = {"name": operation.id, "status": operation.status, "startTime": stamp(operation.started, 3)}
    return {**found, "error": operation.error} if operation.error else found


def _cache(world: World, call: Call, operation: Operation) -> dict[str, Any]:
    nothing = dict.fromkeys(("startTime", "endTime", "percentComplete", "properties"))
    found = {"id": call.id, "name": operation.id, "status": operation.status}
    return {**found, **nothing, "error": operation.error}


def _managed(world: World, call: Call, operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {"id": call.id, "name": operation.id, "status": operation.status}
    found["startTime"] = operation.started.isoformat()
    if operation.ended:
        found["endTime"] = operation.ended.isoformat()
    return {**found, "error": operation.error} if operation.error else found


def _dns(world: World, call: Call, operation: Operation) -> dict[str, Any]:
    return {"status": operation.status, **({"error": operation.error} if operation.error else {})}


def _status(style: _Style) -> Callable[[World, Call], Answer]:
    def answer(world: World, call: Call) -> Answer:
        operation = _asked_for(world, call)
        code = style.running if operation.ended is None else 200
        headers = {} if operation.ended else retry_after(world, operation)
        repeated = style.repeated(call, operation)
        return Answer(status=code, body=style.document(world, call, operation), headers={**headers, **repeated})

    return answer


def _result(world: World, call: Call) -> Answer:
    """The result URL: 202 and nothing while it runs, then the resource or an empty 200."""
    operation = _asked_for(world, call)
    if operation.ended is None:
        return Answer(status=202, headers=retry_after(world, operation))
    if operation.error:
        raise Refused(500, operation.error["code"], operation.error["message"])
    if not operation.result:
        return Answer(status=200)
    resource: Resource = must_find(world, operation.result)
    return Answer(body=shown(world, resource))


def _purge_result(world: World, call: Call) -> Answer:
    operation = _asked_for(world, call)
    made = f"{operation.started:%Y-%m-%d %H:%M:%SZ}"
    if operation.ended is None:
        headers = {"Location": _here(call), **retry_after(world, operation)}
        return Answer(status=202, body={"createdDateTime": made, "status": "NotStarted"}, headers=headers)
    done = f"{operation.ended:%Y-%m-%d %H:%M:%SZ}"
    return Answer(body={"createdDateTime": made, "lastActionDateTime": done, "status": "Succeeded"})


def _poll(template: str, answer: Callable[[World, Call], Answer], *, at_location: bool = True) -> Route:
    return Route(
        method="GET",
        template=template,
        answer=answer,
        service="arm",
        operation="GET operation",
        at_location=at_location,
    )


_CACHE_PLACE = f"{_PROVIDER}/Microsoft.Cache/locations/{{location}}"
_PG_PLACE = f"{_PROVIDER}/Microsoft.DBforPostgreSQL/locations/{{location}}"
_GROUP = "/subscriptions/{subscription}/resourceGroups/{group}/providers"
_AMR = f"{_GROUP}/Microsoft.Cache/redisEnterprise/{{cluster}}"
ROUTES = [
    _poll(f"{_PG_PLACE}/azureAsyncOperation/{{operation}}", _status(_Style(running=200, document=_plain))),
    _poll(f"{_PG_PLACE}/operationResults/{{operation}}", _result),
    _poll(
        f"{_CACHE_PLACE}/asyncOperations/{{operation}}",
        _status(_Style(running=200, document=_cache, repeated=_cache_repeats)),
    ),
    _poll(f"{_CACHE_PLACE}/operationsStatus/{{operation}}", _status(_Style(running=200, document=_managed))),
    _poll(f"{_CACHE_PLACE}/operationresults/{{operation}}", _result),
    _poll(f"{_AMR}/operationresults/{{operation}}", _result, at_location=False),
    _poll(f"{_AMR}/databases/{{database}}/operationresults/{{operation}}", _result, at_location=False),
    _poll(
        f"{_GROUP}/Microsoft.Network/privateDnsOperationStatuses/{{operation}}",
        _status(_Style(running=202, document=_dns, repeated=_dns_repeats)),
        at_location=False,
    ),
    _poll(f"{_GROUP}/Microsoft.Network/privateDnsOperationResults/{{operation}}", _result, at_location=False),
    _poll(f"{_PROVIDER}/Microsoft.KeyVault/locations/{{location}}/operationResults/{{operation}}", _purge_result),
]
