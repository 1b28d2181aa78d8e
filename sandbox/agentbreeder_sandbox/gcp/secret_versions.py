"""Versions of secrets (facts, section 4.4): by number they are there at once, `latest` and lists may lag."""

from __future__ import annotations

import base64
from typing import Any

from .crc32c import crc32c
from .errors import Refused, invalid, plain
from .paging import matching, page
from .routing import Call, Route, route
from .secrets import Secret, Secrets, Version, check_etag
from .sql_model import etag
from .world import stamp

_MAX_BYTES = 65536


class VersionApi:
    """The calls on versions."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._world = secrets.world

    def routes(self) -> dict[str, Route]:
        """By method id."""
        base = "secretmanager.projects.secrets"
        return {
            f"{base}.addVersion": route(self.add),
            f"{base}.versions.get": route(self.get),
            f"{base}.versions.list": route(self.list_all, "filter", "pageSize", "pageToken"),
            f"{base}.versions.access": route(self.access),
            f"{base}.versions.enable": route(self.enable),
            f"{base}.versions.disable": route(self.disable),
            f"{base}.versions.destroy": route(self.destroy),
        }

    def add(self, call: Call) -> dict[str, Any]:
        """At most 64 KiB; a checksum that comes along must fit."""
        secret = self._secrets.find(call)
        payload = call.body.get("payload", {})
        data = base64.b64decode(payload.get("data", ""))
        if not data:
            raise invalid("secretmanager", [("payload", "Secret Payload cannot be empty.")])
        if len(data) > _MAX_BYTES:
            text = f"The secret payload is {len(data)} bytes, which exceeds the maximum size of {_MAX_BYTES} bytes."
            raise invalid("secretmanager", [("payload.data", text)])
        claimed = payload.get("dataCrc32c")
        if claimed is not None and int(claimed) != crc32c(data):
            raise invalid("secretmanager", [("payload.data_crc32c", "The checksum does not match the payload.")])
        version = Version(
            number=len(secret.versions) + 1, payload=data, created=self._world.now(), summed=claimed is not None
        )
        secret.versions.append(version)
        return _on_wire(secret, version)

    def get(self, call: Call) -> dict[str, Any]:
        """Destroyed ones too."""
        secret = self._secrets.find(call)
        return _on_wire(secret, self._find(secret, call))

    def list_all(self, call: Call) -> dict[str, Any]:
        """Newest first. May miss what is too new."""
        secret = self._secrets.find(call)
        keep = matching("secretmanager", call.one("filter"))
        shown = [_on_wire(secret, v) for v in reversed(self._settled(secret))]
        shown = [v for v in shown if keep(v)]
        items, more = page("secretmanager", shown, call.one("pageSize"), call.one("pageToken"))
        answer: dict[str, Any] = {"versions": items, "totalSize": len(shown)} if shown else {}
        return {**answer, "nextPageToken": more} if more else answer

    def access(self, call: Call) -> dict[str, Any]:
        """400 for one that is disabled or destroyed, also by `latest`."""
        secret = self._secrets.find(call)
        version = self._find(secret, call)
        if version.payload is None or version.state != "ENABLED":
            raise _in_state(secret, version)
        payload = {"data": base64.b64encode(version.payload).decode(), "dataCrc32c": str(crc32c(version.payload))}
        return {"name": f"{secret.name}/versions/{version.number}", "payload": payload}

    def enable(self, call: Call) -> dict[str, Any]:
        """Not once it is destroyed."""
        return self._move(call, "ENABLED")

    def disable(self, call: Call) -> dict[str, Any]:
        """Not once it is destroyed."""
        return self._move(call, "DISABLED")

    def destroy(self, call: Call) -> dict[str, Any]:
        """Its payload is gone for ever."""
        return self._move(call, "DESTROYED")

    def _move(self, call: Call, state: str) -> dict[str, Any]:
        secret = self._secrets.find(call)
        version = self._find(secret, call)
        check_etag(call.body.get("etag", ""), _etag(secret, version))
        if version.state == "DESTROYED":
            raise _in_state(secret, version)
        version.state = state
        if state == "DESTROYED":
            version.payload, version.destroyed = None, self._world.now()
        return _on_wire(secret, version)

    def _find(self, secret: Secret, call: Call) -> Version:
        name = call.variables["versionsId"]
        if name == "latest":
            settled = self._settled(secret)
            if not settled:
                raise plain(404, "NOT_FOUND", f"Secret [{secret.name}] not found or has no versions.")
            return settled[-1]
        if not name.isdecimal() or not 1 <= int(name) <= len(secret.versions):
            raise plain(404, "NOT_FOUND", f"Secret Version [{secret.name}/versions/{name}] not found.")
        return secret.versions[int(name) - 1]

    def _settled(self, secret: Secret) -> list[Version]:
        """What the eventually consistent calls know of."""
        now, lag = self._world.now(), self._world.durations.latest_lag_s
        return [v for v in secret.versions if (now - v.created).total_seconds() >= lag]


def _in_state(secret: Secret, version: Version) -> Refused:
    name = f"{secret.name}/versions/{version.number}"
    return plain(400, "FAILED_PRECONDITION", f"Secret Version [{name}] is in {version.state} state.")


def _etag(secret: Secret, version: Version) -> str:
    return f'"{etag(secret.id, str(version.number), version.state)[:-1].lower()}"'


def _on_wire(secret: Secret, version: Version) -> dict[str, Any]:
    managed = secret.given["replication"].get("userManaged")
    status: dict[str, Any] = {"automatic": {}}
    if managed is not None:
        status = {"userManaged": {"replicas": [{"location": r.get("location")} for r in managed.get("replicas", ())]}}
    found: dict[str, Any] = {
        "name": f"{secret.name}/versions/{version.number}",
        "createTime": stamp(version.created),
        "etag": _etag(secret, version),
        "replicationStatus": status,
        "state": version.state,
    }
    if version.destroyed:
        found["destroyTime"] = stamp(version.destroyed)
    if version.summed:
        found["clientSpecifiedPayloadChecksum"] = True
    return found
