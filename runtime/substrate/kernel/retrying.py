"""Trying again after a connection broke: the first attempt costs nothing extra, the others wait longer and longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
ATTEMPTS, FIRST_WAIT_S, LONGEST_WAIT_S = 5, 0.05, 1.0


async def persistently(call: Callable[[bool], Awaitable[T]], transient: tuple[type[BaseException], ...]) -> T:
    """`call(False)`, and after a `transient` error `call(True)` up to four times more, over some three seconds.

    The argument says whether an earlier attempt may have been carried out although its answer was lost. Raises the last
    error.
    """
    try:
        return await call(False)
    except transient:
        return await _again(call, transient)


async def _again(call: Callable[[bool], Awaitable[T]], transient: tuple[type[BaseException], ...]) -> T:
    from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential, wait_random

    policy = AsyncRetrying(
        retry=retry_if_exception_type(transient),
        stop=stop_after_attempt(ATTEMPTS - 1),
        wait=wait_exponential(FIRST_WAIT_S * 2, max=LONGEST_WAIT_S) + wait_random(0, FIRST_WAIT_S),
        reraise=True,
    )

    async def again() -> T:
        return await call(True)

    return await policy(again)
