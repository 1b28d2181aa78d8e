"""The HTTP front: counts calls, injects faults the way a network does, and lets time pass before each call."""

from __future__ import annotations

import io
import re
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs
from uuid import uuid4

_SCOPE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([a-z0-9-]+)/aws4_request")
_CHUNK_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One request as it came over the wire. `index` counts from 1 since the last reset."""

    index: int
    service: str
    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to a call instead of an answer.

    `drop_before`: the connection breaks and nothing was applied. `drop_after`: it was applied and the reply is lost.
    `reject`: refused with `code` and `message`.
    """

    kind: Literal["drop_before", "drop_after", "reject"]
    code: str = "Throttling"
    message: str = "Rate exceeded"
    status: int = 400


Hook = Callable[[ApiCall], Fault | None]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Front:
    """A WSGI application around moto's. One call at a time: moto's models are not made for several threads."""

    def __init__(self, app: Wsgi, before: Callable[[], None]) -> None:
        self._app, self._before = app, before
        self._lock = threading.Lock()
        self.calls: list[ApiCall] = []
        self.on_call: Hook | None = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = _read(environ)
        service, operation = _named(environ, body)
        if not operation:
            with self._lock:
                return list(self._app(environ, start_response))
        with self._lock:
            call = ApiCall(index=len(self.calls) + 1, service=service, operation=operation)
            self.calls.append(call)
            hook = self.on_call
        fault = hook(call) if hook else None
        if fault and fault.kind == "drop_before":
            return _drop(environ)
        if fault and fault.kind == "reject":
            return _reject(fault, environ, start_response)
        with self._lock:
            self._before()
            answer = list(self._app(environ, start_response))
        return _drop(environ) if fault else answer


def _read(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _named(environ: dict[str, Any], body: bytes) -> tuple[str, str]:
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    service = match.group(1) if match else ""
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return service, target.rpartition(".")[2]
    if len(body) > _CHUNK_LIMIT:
        return service, ""
    return service, parse_qs(body.decode("utf-8", "replace")).get("Action", [""])[0]


def _drop(environ: dict[str, Any]) -> Iterable[bytes]:
    connection = environ["werkzeug.socket"]
    connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError("the sandbox cut this connection on purpose")


def _reject(fault: Fault, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    request_id = str(uuid4())
    if environ.get("HTTP_X_AMZ_TARGET"):
        body = f'{{"__type": "{fault.code}", "message": "{fault.message}"}}'
        kind = "application/x-amz-json-1.1"
    elif "/ec2/" in environ.get("HTTP_AUTHORIZATION", ""):
        body = (
            f"<Response><Errors><Error><Code>{fault.code}</Code><Message>{fault.message}</Message></Error></Errors>"
            f"<RequestID>{request_id}</RequestID></Response>"
        )
        kind = "text/xml"
    else:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{fault.code}</Code><Message>{fault.message}</Message>"
            f"</Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        )
        kind = "text/xml"
    start_response(f"{fault.status} Refused", [("Content-Type", kind), ("x-amzn-RequestId", request_id)])
    return [body.encode()]
