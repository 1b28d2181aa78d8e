"""Memorystore for Redis instance, reachable only inside the network; AUTH and TLS on request."""

from __future__ import annotations

import base64
from typing import Any

from agentbreeder_core.errors import CloudError, ResourceFailed
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.url_build import make_redis_url

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import NotYet, Run
from ..clients import GcpClients
from ..errors import failed_operation
from .base import GcpKind
from .labels import from_labels, to_labels
from .operations import Operations

_VERSIONS = {"7": "REDIS_7_2", "6": "REDIS_6_X"}
_FAILED = frozenset({"DELETING", "REPAIRING", "FAILING_OVER"})


def auth_string(gcp: GcpClients, name: str) -> Secret:
    """The AUTH string that Google made for this instance; it is never part of the instance itself."""
    answer = gcp.gapic("redis.instances.getAuthString", gcp.redis.get_instance_auth_string, {"name": name})
    value = Secret(str(answer.auth_string))
    gcp.caller.hide(value)
    return value


class RedisInstance(GcpKind):
    """Inputs: see `gcp.steps`. Outputs: `name` (full), `host`, `port` as the service reports them; `url` without TLS,
    `ca_pem_base64` with it."""

    delete_timeout_s = 2700.0

    def __init__(self, clients: GcpClients) -> None:
        super().__init__(clients)
        self._operations = Operations(self._ask)

    def find(self, target: Target, run: Run) -> Found | None:
        """By full name; its labels come in the same answer."""
        try:
            instance = self._get(target)
        except NotFound:
            return None
        state = "deleting" if instance.state.name == "DELETING" else "present"
        labels = from_labels(instance.labels, target.owner)
        return Found(physical_id=str(instance.name), tags=labels, state=state)  # type: ignore[arg-type]

    def create(self, target: Target, run: Run) -> str:
        """Version and connect mode are sent explicitly: Google's defaults differ by page and over time (facts, 4.3)."""
        i = target.inputs
        from_plan = {
            "tier": i["tier"],
            "memory_size_gb": i["memory_gib"],
            "redis_version": _VERSIONS[i["engine_version"]],
            "connect_mode": i["connect_mode"],
            "authorized_network": i["network"],
            "auth_enabled": i["tls"],
            "transit_encryption_mode": "SERVER_AUTHENTICATION" if i["tls"] else "DISABLED",
            "labels": to_labels(target.owner),
            "display_name": f"agentbreeder memory of {target.owner.agent}"[:80],
        }
        request = {"parent": self._parent(target), "instance_id": target.name, "instance": from_plan}
        operation = self._gcp.gapic("redis.instances.create", self._gcp.redis.create_instance, request)
        self._operations.started(self._name(target), str(operation.operation.name))
        return self._name(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Typically 5 minutes. The address appears only near the end."""

        def look() -> dict[str, Any] | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("CREATING")
            try:
                instance = self._get(target)
            except NotFound:
                self._operations.raise_error_of(target.physical_id)
                raise
            state = instance.state.name
            if state in _FAILED:
                raise ResourceFailed(
                    f"{target.step_id}: Memorystore reports {target.name} as {state}",
                    hint="see it in the Google Cloud console; agentbreeder teardown removes it",
                )
            if state != "READY" or not instance.host:
                return NotYet(str(state))
            return self._outputs(target, instance)

        return run.until(look)

    def drift(self, target: Target, run: Run) -> str:
        """Compares state, size, tier and that transit encryption stayed as asked."""
        instance = self._get(target)
        wanted = {
            "state": (instance.state.name, "READY"),
            "memory_size_gb": (instance.memory_size_gb, target.inputs["memory_gib"]),
            "tier": (instance.tier.name, target.inputs["tier"]),
            "TLS": (instance.transit_encryption_mode.name == "SERVER_AUTHENTICATION", target.inputs["tls"]),
        }
        return "; ".join(f"{k} is {is_!r}, made as {was!r}" for k, (is_, was) in wanted.items() if is_ != was)

    def delete(self, target: Target, run: Run) -> None:
        """One that is on its way already is refused as busy, which is success."""
        if self._get(target).state.name == "DELETING":
            return
        operation = self._gcp.gapic(
            "redis.instances.delete", self._gcp.redis.delete_instance, {"name": self._name(target)}
        )
        self._operations.started(self._name(target), str(operation.operation.name))

    def wait_gone(self, target: Target, run: Run) -> None:
        """Some minutes."""

        def look() -> bool | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("DELETING")
            try:
                state = str(self._get(target).state.name)
            except NotFound:
                return True
            self._operations.raise_error_of(target.physical_id)
            return NotYet(state)

        run.until(look)

    def _ask(self, target: Target, name: str) -> tuple[bool, CloudError | None]:
        client = self._gcp.redis.transport.operations_client
        operation = self._gcp.operation("redis.operations.get", client.get_operation, name)
        if not operation.done or not operation.error.code:
            return bool(operation.done), None
        message = self._gcp.caller.cut(operation.error.message)
        return True, failed_operation(target.step_id, str(operation.error.code), message)

    def _outputs(self, target: Target, instance: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = {"name": str(instance.name), "host": str(instance.host), "port": int(instance.port)}
        if target.inputs["tls"]:
            pem = "\n".join(str(ca.cert).strip() for ca in instance.server_ca_certs) + "\n"
            outputs["ca_pem_base64"] = base64.b64encode(pem.encode()).decode()
        else:
            outputs["url"] = make_redis_url(outputs["host"], outputs["port"], tls=False, password=None).reveal()
        return outputs

    def _get(self, target: Target) -> Any:
        return self._gcp.gapic("redis.instances.get", self._gcp.redis.get_instance, {"name": self._name(target)})

    def _parent(self, target: Target) -> str:
        return f"projects/{target.inputs['project']}/locations/{target.inputs['region']}"

    def _name(self, target: Target) -> str:
        return target.physical_id or f"{self._parent(target)}/instances/{target.name}"
