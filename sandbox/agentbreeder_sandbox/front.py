"""The HTTP front of the JSON stand-ins: counts calls, injects faults the way a network does, one call at a time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

from agentbreeder_core.errors import MissingExtra

from .calls import ApiCall, Hook

_ASKING = ("POST check", "POST get", "POST list")  # Azure asks some questions by POST
StartResponse = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request. `path` is unquoted, header names are in lower case, `host` is the Host header without a port.

    `query` has the last of a repeated parameter; `raw_query` has them all.
    """

    method: str
    host: str
    path: str
    query: Mapping[str, str]
    raw_query: str
    headers: Mapping[str, str]
    body: bytes = field(default=b"", repr=False)

    def json(self) -> Any:
        """The body as JSON, `{}` when there is none. Raises `ValueError` when it is not JSON."""
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer. `body` is JSON-able data, or bytes sent as they are, or None for an empty body."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Service(Protocol):
    """A cloud behind the front. `answer` and `pass_time` are called one at a time, under the front's lock."""

    def name(self, request: Request) -> tuple[str, str]:
        """(service, operation), for the list of calls and for hooks."""
        ...

    def pass_time(self) -> None:
        """Apply every change whose time has come."""
        ...

    def answer(self, request: Request) -> Answer:
        """Apply the request."""
        ...

    def refusal(self, request: Request, code: str, message: str, status: int) -> Answer:
        """An injected error in this cloud's own shape."""
        ...


class Front:
    """Serves one `Service` on 127.0.0.1. `lock` is held while a call is applied; whoever looks in from outside takes it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._let_go = threading.Event()
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self.lock = threading.RLock()
        self.calls: list[ApiCall] = []
        self.on_call: Hook | None = None

    @property
    def endpoint_url(self) -> str:
        """`http://127.0.0.1:PORT`. Only after `start`."""
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    def start(self, port: int = 0) -> None:
        """Listen in a thread of its own. Raises `MissingExtra` without werkzeug, `OSError` when the port is taken."""
        try:
            from werkzeug.serving import WSGIRequestHandler, make_server
        except ImportError as e:
            raise MissingExtra(
                f"the sandbox needs werkzeug: {e.name} is not installed",
                hint="pip install 'agentbreeder-memory[sandbox]'",
            ) from e

        class Quiet(WSGIRequestHandler):  # type: ignore[misc]
            protocol_version = "HTTP/1.1"  # keep-alive, as the clouds do

            def log(self, type: str, message: str, *args: Any) -> None:
                """The stand-in's access log would drown what the user looks at."""

        # Bound here, because werkzeug's own answer to a taken port is to end the process.
        with socket.create_server(("127.0.0.1", port)) as bound:
            host, real_port = bound.getsockname()[:2]
            self._server = make_server(host, real_port, self, threaded=True, request_handler=Quiet, fd=bound.fileno())
        self._server.daemon_threads, self._server.block_on_close = True, False
        self._thread = threading.Thread(target=self._server.serve_forever, name="sandbox", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; whoever hangs is cut off."""
        self.forget()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._thread is not None:
            self._thread.join()
        self._server = self._thread = None

    def forget(self) -> None:
        """No recorded calls, no faults, and whoever hangs is cut off."""
        with self.lock:
            self.calls.clear()
            self.on_call = None
            self._let_go.set()
            self._let_go = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        request = _read(environ)
        with self.lock:
            call = self._record(request)
            hook, let_go = self.on_call, self._let_go
        fault = hook(call) if hook else None
        if fault and fault.kind == "hang":
            let_go.wait()
            return _drop(environ)
        if fault and fault.kind == "drop_before":
            return _drop(environ)
        if fault and fault.kind == "reject":
            return _send(self._service.refusal(request, fault.code, fault.message, fault.status), start_response)
        with self.lock:
            self._service.pass_time()
            answer = self._service.answer(request)
        return _drop(environ) if fault else _send(answer, start_response)

    def _record(self, request: Request) -> ApiCall:
        service, operation = self._service.name(request)
        try:
            params = request.json()
        except ValueError:
            params = {}
        call = ApiCall(
            index=len(self.calls) + 1,
            service=service,
            operation=operation,
            params=params if isinstance(params, dict) else {},
            read=request.method in ("GET", "HEAD") or operation.startswith(_ASKING),
        )
        self.calls.append(call)
        return call


def _read(environ: dict[str, Any]) -> Request:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    headers = {k[5:].replace("_", "-").lower(): v for k, v in environ.items() if k.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    raw_path = str(environ.get("REQUEST_URI") or environ["PATH_INFO"]).partition("?")[0]
    return Request(
        method=environ["REQUEST_METHOD"],
        host=headers.get("host", "").rpartition(":")[0] or headers.get("host", ""),
        path=unquote(raw_path),
        raw_query=environ.get("QUERY_STRING", ""),
        query=dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)),
        headers=headers,
        body=environ["wsgi.input"].read(length) if length else b"",
    )


def _drop(environ: dict[str, Any]) -> Iterable[bytes]:
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError("the sandbox cut this connection on purpose")


def _send(answer: Answer, start_response: StartResponse) -> Iterable[bytes]:
    headers = dict(answer.headers)
    if answer.body is None:
        body = b""
    elif isinstance(answer.body, bytes):
        body = answer.body
    else:
        body = json.dumps(answer.body).encode()
        headers.setdefault("Content-Type", "application/json; charset=UTF-8")
    if answer.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        headers["Content-Length"] = str(len(body))
    start_response(f"{answer.status} {_phrase(answer.status)}", list(headers.items()))
    return [body]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
