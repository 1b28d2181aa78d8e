"""Cloud SQL's state: instances, operations, names that are still taken. One operation at a time per instance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from .errors import Refused, listed
from .routing import Call, Route, route
from .sql_model import Instance, Operation
from .sql_rules import bad
from .world import World

_PENDING = 0.05  # of the time that an operation takes, it is PENDING first
_MISSING = "The Cloud SQL instance does not exist."


class SqlState:
    """What the calls of Cloud SQL share. `reserved` maps a deleted name to when it is free again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.instances: dict[str, Instance] = {}
        self.operations: dict[str, Operation] = {}
        self.reserved: dict[str, datetime] = {}
        self.final_backups: list[str] = []

    def clear(self) -> None:
        """Nothing there, no name taken."""
        self.instances.clear()
        self.operations.clear()
        self.reserved.clear()
        self.final_backups.clear()

    def find(self, name: str) -> Instance:
        """The instance. Raises `Refused` (404, `instanceDoesNotExist`)."""
        if name not in self.instances:
            raise listed(404, "instanceDoesNotExist", _MISSING)
        return self.instances[name]

    def free(self, name: str) -> Instance:
        """The instance, when nothing is under way for it. Raises `Refused` (404 or 409)."""
        instance = self.find(name)
        if instance.operation is not None:
            raise busy()
        return instance

    def running(self, name: str) -> Instance:
        """The instance, when it runs and nothing is under way. Raises `Refused` (404, 409 or 400)."""
        instance = self.free(name)
        if instance.state != "RUNNABLE":
            raise bad("Invalid request since instance is not running.")
        return instance

    def name_taken(self, name: str) -> bool:
        """By an instance, or by one that was deleted not long enough ago."""
        until = self.reserved.get(name)
        return name in self.instances or (until is not None and until > self.world.now())

    def reserve(self, name: str, at: datetime) -> None:
        """The name of a deleted instance stays taken for a while."""
        self.reserved[name] = at + timedelta(seconds=self.world.durations.name_reserved_s)

    def begin(
        self, instance: Instance, kind: str, seconds: float, finish: Callable[[datetime], None], path: str = ""
    ) -> Operation:
        """Start an operation that takes so long; `finish` applies what it does. It stops others until it is done."""
        operation = self.record(instance, kind, path)
        instance.operation = operation

        def start(at: datetime) -> None:
            operation.started = at

        def end(at: datetime) -> None:
            operation.ended = at
            instance.operation = None
            finish(at)

        self.world.later(seconds * _PENDING, start)
        self.world.later(seconds, end)
        return operation

    def record(self, instance: Instance, kind: str, path: str = "", *, done: bool = False) -> Operation:
        """An operation on the list; `done` for those that are over when the call answers."""
        now = self.world.now()
        operation = Operation(kind=kind, instance=instance.name, path=path, inserted=now)
        if done:
            operation.started = operation.ended = now
        self.operations[operation.name] = operation
        return operation


def busy() -> Refused:
    """409: one operation at a time (facts, section 4.1)."""
    return listed(409, "operationInProgress", "Operation failed because another operation was already in progress.")


class OperationApi:
    """`operations.get` and `operations.list`."""

    def __init__(self, state: SqlState) -> None:
        self._state = state

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "sql.operations.get": route(self.get),
            "sql.operations.list": route(self.list_all, "instance"),
        }

    def get(self, call: Call) -> dict[str, Any]:
        """404 for one that is not there, or whatever a test's switch says; the work goes on all the same."""
        lost = self._state.world.switches.lost_operations
        operation = self._state.operations.get(call.variables["operation"])
        if lost >= 500:
            raise listed(lost, "backendError", "Internal error encountered.", word="INTERNAL")
        if lost or operation is None:
            # No public report has this sentence; the status is what a wrong name gives.
            raise listed(404, "operationDoesNotExist", "The Cloud SQL instance operation does not exist.")
        return operation.on_wire(call.root)

    def list_all(self, call: Call) -> dict[str, Any]:
        """Newest first, of one instance when it is named."""
        wanted = call.one("instance")
        found = [o for o in self._state.operations.values() if wanted in ("", o.instance)]
        items = [o.on_wire(call.root) for o in reversed(found)]
        return {"kind": "sql#operationsList", **({"items": items} if items else {})}
