"""Trying again after a connection broke: the first attempt costs nothing extra, the others wait longer and longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
ATTEMPTS, FIRST_WAIT_S, LONGEST_WAIT_S, PATIENCE_S = 5, 0.05, 1.0, 3.0


_UNSENT = "agentbreeder_unsent"


def mark_unsent(error: BaseException) -> None:
    """Say of an error that it came before anything was sent."""
    setattr(error, _UNSENT, True)


def was_unsent(error: BaseException) -> bool:
    """Whether it was said."""
    return hasattr(error, _UNSENT)


async def persistently(
    call: Callable[[bool], Awaitable[T]],
    transient: tuple[type[BaseException], ...],
    between: Callable[[BaseException], Awaitable[None]] | None = None,
    unsent: Callable[[BaseException], bool] = lambda _: False,
) -> T:
    """`call(False)`, and after a `transient` error `call(True)` up to four times more, over some three seconds; `between`
    is told each error before the next attempt.

    The argument says whether an earlier attempt may have been carried out although its answer was lost: that is, whether
    any of their errors was not `unsent`. Where nothing answers at all, an attempt takes the driver's own five seconds, and
    two are made. Raises the last error.
    """
    try:
        return await call(False)
    except transient as e:
        return await again_after(e, call, transient, between, unsent)


async def again_after(
    first: BaseException,
    call: Callable[[bool], Awaitable[T]],
    transient: tuple[type[BaseException], ...],
    between: Callable[[BaseException], Awaitable[None]] | None = None,
    unsent: Callable[[BaseException], bool] = lambda _: False,
) -> T:
    """The further attempts of `persistently`, for those who make the first one themselves, which is quicker."""
    sent = not unsent(first)
    if between is not None:
        await between(first)
    from tenacity import (
        AsyncRetrying,
        RetryCallState,
        retry_if_exception_type,
        stop_after_attempt,
        stop_after_delay,
        wait_exponential,
        wait_random,
    )

    async def told(state: RetryCallState) -> None:
        nonlocal sent
        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            sent = sent or not unsent(error)
        if between is not None and error is not None:
            await between(error)

    policy = AsyncRetrying(
        retry=retry_if_exception_type(transient),
        stop=stop_after_attempt(ATTEMPTS - 1) | stop_after_delay(PATIENCE_S),
        wait=wait_exponential(FIRST_WAIT_S * 2, max=LONGEST_WAIT_S) + wait_random(0, FIRST_WAIT_S),
        before_sleep=told,
        reraise=True,
    )

    async def again() -> T:
        return await call(sent)

    return await policy(again)
