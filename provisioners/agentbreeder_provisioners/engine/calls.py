"""One call to a cloud: short retries through the clock, and no secret in any message."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import Interrupted
from agentbreeder_core.secret import Secret

from .kinds import Transient

RETRY_TOTAL_S, RETRY_MAX_WAIT_S, RETRY_ATTEMPTS = 120.0, 20.0, 12
T = TypeVar("T")


class Caller:
    """Repeats a call that ended in `Transient` for about two minutes, with jitter; the waits go through the clock and
    stop at once on cancel. Safe to share between threads."""

    def __init__(self, cloud: str, clock: Clock, cancel: threading.Event, secrets: Iterable[Secret] = ()) -> None:
        self._cloud, self._clock, self._cancel = cloud, clock, cancel
        self._hidden = [s.reveal() for s in secrets]

    def call(self, once: Callable[[], T], *, retry: bool = True) -> T:
        """Run `once`, which raises this product's own errors. Raises the last one when retries are used up.

        A create whose reply was lost comes back as `AlreadyExists`, or as success where creating is an upsert.
        """
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        def tired(state: Any) -> bool:
            return bool(state.idle_for >= RETRY_TOTAL_S or state.attempt_number >= (RETRY_ATTEMPTS if retry else 1))

        retrying = Retrying(
            retry=retry_if_exception_type(Transient),
            wait=wait_random_exponential(multiplier=1, max=RETRY_MAX_WAIT_S),
            stop=tired,
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(once)

    def hide(self, secret: Secret) -> None:
        """From now on this secret is cut out of any message the cloud may echo it in."""
        self._hidden.append(secret.reveal())

    def cut(self, message: str) -> str:
        """The message without any hidden secret."""
        for hidden in self._hidden:
            message = message.replace(hidden, "****")
        return message

    def _sleep(self, seconds: float) -> None:
        if self._clock.wait(self._cancel, seconds):
            raise Interrupted(f"stopped while waiting to ask {self._cloud} again")
