"""Around every request: its size, its time, and how many there were. Plain ASGI, because it is on every path."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import MutableMapping
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .envelope import refusal

_log = logging.getLogger("agentbreeder.service")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = Counter("agentbreeder_http_requests_total", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram("agentbreeder_http_request_seconds", "Time to answer", ["method", "route"], buckets=_BUCKETS)


class TooLarge(Exception):
    """A body beyond the limit, noticed while it is read."""


class BodyLimit:
    """Answers 413 for a body beyond so many bytes, by its header or while it comes in."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > self._max:
            await self._refuse(scope, receive, send)
            return
        seen, started = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max:
                raise TooLarge
            return message

        async def sending(message: Message) -> None:
            nonlocal started
            if seen <= self._max or started:  # else it is about a body that was cut off, and ours is the answer
                started = True
                await send(message)

        with contextlib.suppress(TooLarge):  # answered below, as when somebody inside took it for another error
            await self._app(scope, counted, sending)
        if seen > self._max and not started:
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = {"code": "too_large", "message": f"a request has at most {self._max} bytes", "field": None}
        await refusal(413, [problem])(scope, receive, send)


class Sheltered:
    """Answers 500 for an error that nobody foresaw. Its text may hold anything, so it stays out of the answer and the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except TooLarge:
            raise
        except Exception as e:
            if scope["type"] != "http":
                raise
            _log.error("%s at %s", type(e).__name__, getattr(scope.get("route"), "path", "no route"))
            if not started:
                problem = {"code": "internal", "message": "something went wrong here", "field": None}
                await refusal(500, [problem])(scope, receive, send)


class Measured:
    """Counts every answer and its time, by route and not by path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._counters: dict[tuple[str, str, int], Any] = {}
        self._timers: dict[tuple[str, str], Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._count(scope, status, time.perf_counter() - began)

    def _count(self, scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in ("GET", "POST", "PATCH", "DELETE") else "other"
        counter = self._counters.get((method, route, status))
        if counter is None:
            counter = self._counters[method, route, status] = REQUESTS.labels(method, route, str(status))
        timer = self._timers.get((method, route))
        if timer is None:
            timer = self._timers[method, route] = SECONDS.labels(method, route)
        counter.inc()
        timer.observe(seconds)


def _header(scope: Scope, name: bytes) -> bytes:
    return next((v for k, v in scope["headers"] if k == name), b"")
