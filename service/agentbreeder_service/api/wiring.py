"""What every route gets: the service, and who asks."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request
from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import FixedWindowRateLimiter

from ..errors import TooMany
from ..principals import Principal
from ..service import MemoryService
from ..tokens import TokenChecker


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


async def _principal(request: Request) -> Principal:
    gate: Gate = request.app.state.gate
    found = await gate.admit(request.headers.get("authorization", ""))
    request.state.principal = found
    return found


def _service(request: Request) -> MemoryService:
    return cast("MemoryService", request.app.state.service)


Who = Annotated[Principal, Depends(_principal)]
Service = Annotated[Any, Depends(_service)]
