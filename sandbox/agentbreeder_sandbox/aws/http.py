"""The HTTP front: counts calls, injects faults the way a network does, and lets time pass before each call."""

from __future__ import annotations

import io
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4
from xml.sax.saxutils import escape

from ..calls import ApiCall, Fault, Hook

_TAGS = re.compile(rb"<(TagList|tagSet)>.*?</\1>|\"Tags\": ?\[.*?\](, )?", re.DOTALL)
_READS = ("Describe", "Get", "List")
_SCOPE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([a-z0-9-]+)/aws4_request")


Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Front:
    """A WSGI application around moto's. One call at a time: moto's models are not made for several threads.

    `lock` is held while a call is applied; whoever reads or changes moto's models from outside takes it too.
    """

    def __init__(self, app: Wsgi, before: Callable[[], None]) -> None:
        self._app, self._before = app, before
        self._let_go = threading.Event()
        self.lock = threading.RLock()
        self.calls: list[ApiCall] = []
        self.on_call: Hook | None = None
        self.tags_hidden: Callable[[], bool] = lambda: False

    def forget(self) -> None:
        """No recorded calls, no faults, and whoever hangs is cut off."""
        with self.lock:
            self.calls.clear()
            self.on_call = None
            self._let_go.set()
            self._let_go = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        service, operation, params = _named(environ, _read(environ))
        if not operation:  # not AWS: moto's own pages
            with self.lock:
                return list(self._app(environ, start_response))
        with self.lock:
            call = ApiCall(
                index=len(self.calls) + 1,
                service=service,
                operation=operation,
                params=params,
                read=operation.startswith(_READS),
            )
            self.calls.append(call)
            hook, let_go = self.on_call, self._let_go
        fault = hook(call) if hook else None
        if fault and fault.kind == "hang":
            let_go.wait()
            return _drop(environ)
        if fault and fault.kind == "drop_before":
            return _drop(environ)
        if fault and fault.kind == "reject":
            return _reject(fault, environ, start_response)
        with self.lock:
            self._before()
            answer = list(self._app(environ, start_response))
            if self.tags_hidden():
                answer = [_without_tags(b"".join(answer))]
        return _drop(environ) if fault else answer


def _without_tags(body: bytes) -> bytes:
    """An answer in which tags do not show yet; its length stays, as the headers are out already."""
    return _TAGS.sub(lambda found: b" " * len(found.group()), body)


def _read(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _named(environ: dict[str, Any], body: bytes) -> tuple[str, str, Mapping[str, Any]]:
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    service = match.group(1) if match else ""
    text = body.decode("utf-8", "replace")
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return service, target.rpartition(".")[2], json.loads(text or "{}")
    params = dict(parse_qsl(text, keep_blank_values=True))
    return service, params.pop("Action", ""), params


def _drop(environ: dict[str, Any]) -> Iterable[bytes]:
    connection = environ["werkzeug.socket"]
    connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError("the sandbox cut this connection on purpose")


def _reject(fault: Fault, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    request_id = str(uuid4())
    error = f"<Code>{escape(fault.code)}</Code><Message>{escape(fault.message)}</Message>"
    kind = "text/xml"
    if environ.get("HTTP_X_AMZ_TARGET"):
        body = json.dumps({"__type": fault.code, "message": fault.message})
        kind = "application/x-amz-json-1.1"
    elif "/ec2/" in environ.get("HTTP_AUTHORIZATION", ""):
        body = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
    else:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error><RequestId>{request_id}</RequestId>"
            "</ErrorResponse>"
        )
    start_response(f"{fault.status} Refused", [("Content-Type", kind), ("x-amzn-RequestId", request_id)])
    return [body.encode()]
