"""Deaths at chosen points: before or after the n-th API call, and before or after the n-th save of the state file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest


class SimulatedDeath(BaseException):
    """Not an `Exception`, so no handler of the product can swallow it."""


def die() -> None:
    """Raise the simulated death."""
    raise SimulatedDeath


_READS = ("Describe", "Get", "List")
POLLS_COUNTED = 3
"""Of a row of identical status polls only the first few are points of their own: the others are the same state."""


class Points:
    """Counts points and runs `act` at the chosen one; after a death every other thread dies at its next point too."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self._at, self._act = at, act
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self.count = 0
        self.fired = False

    def reach(self, name: str = "", *, poll: bool = False) -> bool:
        """Count one point; True when it is the chosen one, or when the process is already dead."""
        with self._lock:
            self._seen[name] = self._seen.get(name, 0) + 1
            if not poll or self._seen[name] <= POLLS_COUNTED:
                self.count += 1
                self.fired = self.fired or self.count == self._at
            return self.fired

    def act(self) -> None:
        """Carry out the death."""
        self._act()


@contextmanager
def api_calls(monkeypatch: pytest.MonkeyPatch, points: Points, *, after: bool) -> Iterator[None]:
    """Die at an API call: `after` means that the cloud has applied it and the answer is lost with the process.

    Cut where each SDK hands a call to the network: botocore's client, and the `requests` session of Google and Azure.
    """
    from botocore.client import BaseClient
    from requests.sessions import Session

    aws, http = BaseClient._make_api_call, Session.request

    def call_aws(self: Any, operation: str, params: dict[str, Any]) -> Any:
        return _cut(points, operation, operation.startswith(_READS), after, lambda: aws(self, operation, params))

    def call_http(self: Any, method: str, url: str, *args: Any, **kw: Any) -> Any:
        name = f"{method} {urlsplit(url).path}"
        return _cut(points, name, method == "GET", after, lambda: http(self, method, url, *args, **kw))

    with monkeypatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", call_aws)
        patch.setattr(Session, "request", call_http)
        yield


def _cut(points: Points, name: str, poll: bool, after: bool, call: Callable[[], Any]) -> Any:
    here = points.reach(name, poll=poll)
    if here and not after:
        points.act()
    answer = call()
    if here:
        points.act()
    return answer


@contextmanager
def saves(monkeypatch: pytest.MonkeyPatch, points: Points, *, after: bool) -> Iterator[None]:
    """Die at a save: before or after the new file takes the old one's place."""
    original = os.replace

    def replace(source: Any, target: Any, **kw: Any) -> None:
        here = str(target).endswith("infra-state.json") and points.reach()
        if here and not after:
            points.act()
        original(source, target, **kw)
        if here:
            points.act()

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", replace)
        yield
