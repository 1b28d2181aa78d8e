"""What every route gets: the service, and who asks."""

from __future__ import annotations

from fastapi import Request
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import FixedWindowRateLimiter
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ServiceError, TooMany
from ..principals import Principal, Requesting
from ..service import MemoryService
from ..tokens import TokenChecker
from .envelope import error, headers_of, refusal

GUARDED = "/api/"


class Gate:
    """Who asks, and whether it may ask that often. The rate is counted per principal in each process."""

    def __init__(self, checker: TokenChecker, rate: str) -> None:
        self._checker = checker
        self._rate = parse(rate) if rate else None
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    async def admit(self, authorization: str) -> Principal:
        """Raises `Unauthorized`, `TooMany`."""
        found = await self._checker.principal(authorization)
        if self._rate is not None and not await self._limiter.hit(self._rate, found.team, found.subject):
            raise TooMany("too_many_requests", f"more than {self._rate} are not answered: try again later")
        return found


class Admission:
    """Asks the gate before anything else of the API, so that no route can forget to. Plain ASGI, because it is on every path."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            try:
                scope["principal"] = await self._gate.admit(_authorization(scope))
            except ServiceError as e:
                await refusal(e.status, [error(e)], headers_of(e))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def asked(request: Request) -> tuple[MemoryService, Requesting]:
    """The service, and who asks."""
    principal: Principal = request.scope["principal"]
    return request.app.state.service, principal.requesting()


def nothing(value: object) -> object:
    """A parameter that is named and left empty, as in `?limit=&before=`, is one that is not given."""
    return None if value == "" else value


def _authorization(scope: Scope) -> str:
    return next((v.decode("latin-1") for k, v in scope["headers"] if k == b"authorization"), "")
