"""Memorystore for Redis: create, look, change, delete, as `redis.v1` does it and refuses it (facts, sections 3.2 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from .certificates import make_authority
from .errors import plain
from .network import Networks, full_name
from .paging import page
from .redis_model import EMPTY, PLAIN_PORT, Instance, Operation, operation_name
from .redis_rules import argument, busy, check_instance, check_name, check_region, default_network, precondition
from .routing import Call, Route, route
from .world import NUMBER, PROJECT, World

HOW = frozenset({"quota", "failed"})
"""How a create can be told to end."""
_QUOTA = {
    "code": 8,
    "message": "Unable to create instance. System limit for internal resources has been reached. "
    "Please request higher limit here: https://forms.gle/zY66qAosE75F6SNi7",
}
_FAILED = {"code": 13, "message": "an internal error has occurred"}
_FULL = {
    "code": 9,
    "message": "Failed to create subnetwork. Couldn't find free blocks in allocated IP ranges. "
    "Please allocate new ranges for this service provider.",
}
_CHANGEABLE = frozenset({"displayName", "labels", "memorySizeGb", "authEnabled", "redisConfigs", "persistenceConfig"})
_DEFAULTS = {
    "connectMode": "DIRECT_PEERING",
    "transitEncryptionMode": "DISABLED",
    "readReplicasMode": "READ_REPLICAS_DISABLED",
    "redisVersion": "REDIS_7_0",
}
_BLOCK = 29
Finish = Callable[[datetime], dict[str, Any]]


class RedisApi:
    """The calls on instances and their operations."""

    def __init__(self, world: World, networks: Networks) -> None:
        self._world, self._networks = world, networks
        self.instances: dict[str, Instance] = {}
        self.operations: dict[str, Operation] = {}

    def clear(self) -> None:
        """Nothing there."""
        self.instances.clear()
        self.operations.clear()

    def routes(self) -> dict[str, Route]:
        """By method id."""
        base = "redis.projects.locations"
        return {
            f"{base}.instances.create": route(self.create, "instanceId"),
            f"{base}.instances.get": route(self.get),
            f"{base}.instances.list": route(self.list_all, "pageSize", "pageToken"),
            f"{base}.instances.patch": route(self.patch, "updateMask"),
            f"{base}.instances.delete": route(self.delete),
            f"{base}.instances.getAuthString": route(self.get_auth_string),
            f"{base}.operations.get": route(self.get_operation),
            f"{base}.operations.list": route(self.list_operations, "pageSize", "pageToken"),
        }

    def create(self, call: Call) -> dict[str, Any]:
        """Answers with an operation; the instance is seen as CREATING at once, without an address."""
        parent, name = _parent(call), call.one("instanceId")
        check_region(call.variables["locationsId"])
        check_name(name)
        given = {**_DEFAULTS, **call.body}
        network = given.get("authorizedNetwork") or default_network()
        given["authorizedNetwork"] = (full_name(network) or network).replace(f"/{NUMBER}/", f"/{PROJECT}/")
        check_instance(given, self._networks)
        full = f"{parent}/instances/{name}"
        if full in self.instances:
            info = {"@type": "type.googleapis.com/google.rpc.ResourceInfo", "resourceName": full}
            raise plain(409, "ALREADY_EXISTS", f"Resource '{full}' already exists", [info])
        return self._begin_create(full, given, call.variables["locationsId"])

    def get(self, call: Call) -> dict[str, Any]:
        """404 for one that is not there."""
        return self._shown(self._find(_name(call)))

    def list_all(self, call: Call) -> dict[str, Any]:
        """Of one location, or of all for `-`."""
        parent = _parent(call)
        anywhere = call.variables["locationsId"] == "-"
        found = [self._shown(i) for n, i in self.instances.items() if anywhere or n.startswith(f"{parent}/instances/")]
        items, more = page("redis", found, call.one("pageSize"), call.one("pageToken"))
        return {**({"instances": items} if items else {}), **({"nextPageToken": more} if more else {})}

    def get_auth_string(self, call: Call) -> dict[str, Any]:
        """The only place that shows it."""
        instance = self._find(_name(call))
        if not instance.given.get("authEnabled"):
            raise precondition("AUTH is not enabled for this instance.")
        if not instance.up:
            raise busy("get the AUTH string")
        return {"authString": instance.auth_string}

    def patch(self, call: Call) -> dict[str, Any]:
        """Changes what the mask names; connect mode, network and TLS are for ever."""
        instance = self._ready(_name(call), "update")
        fields = [f for f in call.one("updateMask").split(",") if f]
        if not fields:
            raise argument("update_mask", "update_mask must be specified.")
        fixed = [f for f in fields if f not in _CHANGEABLE]
        if fixed:
            raise argument("update_mask", f"The fields {', '.join(fixed)} cannot be updated.")
        wanted = {**instance.given, **{f: call.body.get(f) for f in fields}}
        check_instance({k: v for k, v in wanted.items() if v is not None}, self._networks)
        instance.state = "UPDATING"

        def finish(at: datetime) -> dict[str, Any]:
            instance.given = {k: v for k, v in wanted.items() if v is not None}
            instance.state = "READY"
            return instance.as_response()

        return self._begin(instance, "update", self._world.durations.redis_update_s, finish)

    def delete(self, call: Call) -> dict[str, Any]:
        """Refused while anything else is under way. The name is free once it is gone."""
        instance = self._ready(_name(call), "delete")
        instance.state = "DELETING"

        def finish(at: datetime) -> dict[str, Any]:
            del self.instances[instance.name]
            return EMPTY

        return self._begin(instance, "delete", self._world.durations.redis_delete_s, finish)

    def get_operation(self, call: Call) -> dict[str, Any]:
        """404 for one that is not there, or whatever a test's switch says."""
        name = f"{_parent(call)}/operations/{call.variables['operationsId']}"
        lost = self._world.switches.lost_operations
        if lost >= 500:
            raise plain(lost, "", "Internal error encountered.")
        if lost or name not in self.operations:
            raise plain(404, "NOT_FOUND", f"Resource '{name}' was not found")
        return self.operations[name].on_wire(foreign=self._world.switches.unknown_metadata)

    def list_operations(self, call: Call) -> dict[str, Any]:
        """Of one location, newest first."""
        start = f"{_parent(call)}/operations/"
        found = [
            o.on_wire(foreign=self._world.switches.unknown_metadata)
            for name, o in reversed(self.operations.items())
            if name.startswith(start)
        ]
        items, more = page("redis", found, call.one("pageSize"), call.one("pageToken"))
        return {**({"operations": items} if items else {}), **({"nextPageToken": more} if more else {})}

    def _begin_create(self, name: str, given: dict[str, Any], region: str) -> dict[str, Any]:
        how = self._world.switches.fail_next.pop("redis", "")
        private = given["connectMode"] == "PRIVATE_SERVICE_ACCESS"
        block = (
            self._networks.take_address(given["authorizedNetwork"], region, "redis", _BLOCK)
            if private
            else self._networks.take_direct()
        )
        error = {"quota": _QUOTA, "failed": _FAILED}.get(how) or (None if block else _FULL)
        instance = Instance(
            name=name,
            given=given,
            created=self._world.now(),
            zone=given.pop("locationId", "") or f"{region}-a",
            block=str(block or ""),
            first_host=str(block.network_address + 3) if block else "",
        )
        self.instances[name] = instance

        def finish(at: datetime) -> dict[str, Any]:
            if error is not None:
                del self.instances[name]
                return {}
            instance.state, instance.up = "READY", True
            if self._world.plane is not None and not instance.tls:
                instance.first_host = self._world.plane.redis(f"{name} {instance.created}", PLAIN_PORT)[0]
            if instance.tls:
                instance.authority = make_authority(name, "Google Cloud Memorystore Redis Server CA", instance.created)
            return instance.as_response()

        return self._begin(instance, "create", self._world.durations.redis_create_s, finish, error)

    def _begin(
        self, instance: Instance, verb: str, seconds: float, finish: Finish, error: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        now = self._world.now()
        parent = instance.name.rpartition("/instances/")[0]
        operation = Operation(name=operation_name(parent, now), verb=verb, target=instance.name, created=now)
        self.operations[operation.name] = instance.operation = operation

        def end(at: datetime) -> None:
            instance.operation = None
            operation.ended, operation.error = at, error
            operation.response = finish(at)

        self._world.later(seconds, end)
        return operation.on_wire(foreign=self._world.switches.unknown_metadata)

    def _ready(self, name: str, what: str) -> Instance:
        instance = self._find(name)
        if instance.operation is not None:
            raise busy(what)
        return instance

    def _find(self, name: str) -> Instance:
        if name not in self.instances:
            raise plain(404, "NOT_FOUND", f"Resource '{name}' was not found")
        return self.instances[name]

    def _shown(self, instance: Instance) -> dict[str, Any]:
        return instance.on_wire(labels=self._world.shows_labels(instance.created))


def _parent(call: Call) -> str:
    """By the project's id, however it was asked for."""
    return f"projects/{PROJECT}/locations/{call.variables['locationsId']}"


def _name(call: Call) -> str:
    return f"{_parent(call)}/instances/{call.variables['instancesId']}"
