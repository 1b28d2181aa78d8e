"""Memorystore's resources and long-running operations as they look on the wire (facts, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

from .certificates import Authority
from .world import NUMBER, stamp

_PACKAGE = "type.googleapis.com/google.cloud.redis.v1"
_FOREIGN = "type.googleapis.com/google.cloud.common.OperationMetadata"  # what v1beta1 answers (facts, section 1.4)
TLS_PORT, PLAIN_PORT = 6378, 6379


@dataclass(slots=True, kw_only=True)
class Operation:
    """`google.longrunning.Operation`. `response` is there once it is done, or `error`, never both."""

    name: str
    verb: str
    target: str
    created: datetime
    ended: datetime | None = None
    response: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def on_wire(self, *, foreign: bool) -> dict[str, Any]:
        """As Google writes it, with an explicit `done`. `foreign`: with metadata of a type no v1 library knows."""
        metadata: dict[str, Any] = {
            "@type": _FOREIGN if foreign else f"{_PACKAGE}.OperationMetadata",
            "createTime": stamp(self.created),
            "target": self.target,
            "verb": self.verb,
            "apiVersion": "v1",
        }
        if not foreign:
            metadata["cancelRequested"] = False
        if self.ended:
            metadata["endTime"] = stamp(self.ended)
        found: dict[str, Any] = {"name": self.name, "metadata": metadata, "done": self.ended is not None}
        if self.error is not None:
            found["error"] = self.error
        elif self.response is not None:
            found["response"] = self.response
        return found


def operation_name(parent: str, now: datetime) -> str:
    """In the form of the recordings."""
    tail = uuid4().hex
    return f"{parent}/operations/operation-{int(now.timestamp() * 1000)}-{tail[:13]}-{tail[13:21]}-{tail[21:29]}"


EMPTY: dict[str, Any] = {"@type": "type.googleapis.com/google.protobuf.Empty"}


@dataclass(slots=True, kw_only=True)
class Instance:
    """One instance. `given` is what it was made with, with Google's defaults; the rest comes with time."""

    name: str
    given: dict[str, Any]
    created: datetime
    zone: str
    block: str
    first_host: str
    state: str = "CREATING"
    up: bool = False
    auth_string: str = field(default_factory=lambda: str(uuid4()), repr=False)
    authority: Authority | None = None
    operation: Operation | None = None

    @property
    def tls(self) -> bool:
        """Whether clients must speak TLS."""
        return bool(self.given["transitEncryptionMode"] == "SERVER_AUTHENTICATION")

    def on_wire(self, *, labels: bool = True) -> dict[str, Any]:
        """As Google writes it, enum values as names. Without an address until it is up; the AUTH string never."""
        found = {k: v for k, v in self.given.items() if v not in (False, "", 0, {}) and (labels or k != "labels")}
        found |= {
            "name": self.name,
            "createTime": stamp(self.created),
            "locationId": self.zone,
            "persistenceConfig": self.given.get("persistenceConfig") or {"persistenceMode": "DISABLED"},
            "persistenceIamIdentity": f"serviceAccount:service-{NUMBER}@cloud-redis.iam.gserviceaccount.com",
            "reservedIpRange": self.block,
            "state": self.state,
        }
        if self.up:
            port = TLS_PORT if self.tls else PLAIN_PORT
            found |= {"host": self.first_host, "port": port, "currentLocationId": self.zone}
            found["nodes"] = [{"id": "node-0", "zone": self.zone}]
            if self.given["tier"] == "STANDARD_HA":
                found["alternativeLocationId"] = self.zone[:-1] + ("b" if self.zone.endswith("a") else "a")
                found["nodes"].append({"id": "node-1", "zone": found["alternativeLocationId"]})
        if self.authority is not None:
            found["serverCaCerts"] = [
                {
                    "serialNumber": self.authority.serial,
                    "cert": self.authority.pem,
                    "createTime": stamp(self.authority.made),
                    "expireTime": stamp(self.authority.ends),
                    "sha1Fingerprint": self.authority.sha1,
                }
            ]
        return found

    def as_response(self) -> dict[str, Any]:
        """Inside an operation: with its type, enum values always as names."""
        return {"@type": f"{_PACKAGE}.Instance", **self.on_wire()}
