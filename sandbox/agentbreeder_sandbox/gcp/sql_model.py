"""Cloud SQL's resources and how they look on the wire (facts, section 3.1)."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

from .certificates import Authority
from .world import NUMBER, PROJECT, stamp

PRIVATE = "PRIVATE"
CALLER = "user@example.com"
MINORS = {"18": "1", "17": "7", "16": "11", "15": "15", "14": "20", "13": "23"}
_RELEASE = "R20261004.01_24"


@dataclass(slots=True, kw_only=True)
class Operation:
    """`sql#operation`. `path` is its target's below the instance; `ended` is empty while it runs."""

    name: str = field(default_factory=lambda: str(uuid4()))
    kind: str
    instance: str
    path: str = ""
    inserted: datetime
    started: datetime | None = None
    ended: datetime | None = None
    error: dict[str, str] | None = None

    @property
    def status(self) -> str:
        """There is no `done`: PENDING, RUNNING, DONE, and a failure is DONE with `error`."""
        return "DONE" if self.ended else "RUNNING" if self.started else "PENDING"

    def on_wire(self, root: str) -> dict[str, Any]:
        """As Google writes it."""
        base = f"{root}/projects/{PROJECT}"
        found: dict[str, Any] = {
            "kind": "sql#operation",
            "insertTime": stamp(self.inserted),
            "name": self.name,
            "operationType": self.kind,
            "selfLink": f"{base}/operations/{self.name}",
            "status": self.status,
            "targetId": self.instance,
            "targetLink": f"{base}/instances/{self.instance}{self.path}",
            "targetProject": PROJECT,
            "user": CALLER,
        }
        if self.started:
            found["startTime"] = stamp(self.started)
        if self.ended:
            found["endTime"] = stamp(self.ended)
        if self.error is not None:
            found["error"] = {
                "kind": "sql#operationErrors",
                "errors": [{"kind": "sql#operationError", **self.error}],
            }
        return found


@dataclass(slots=True, kw_only=True)
class User:
    """`sql#user`. `owns` counts objects by database; a user with any is not deleted."""

    name: str
    kind: str = "BUILT_IN"
    password: str = field(default="", repr=False)
    owns: dict[str, int] = field(default_factory=dict)
    policy: dict[str, Any] | None = None

    def on_wire(self, instance: str) -> dict[str, Any]:
        """The password is never part of it."""
        found: dict[str, Any] = {
            "kind": "sql#user",
            "etag": etag(instance, self.name, self.password),
            "host": "",
            "instance": instance,
            "name": self.name,
            "project": PROJECT,
        }
        if self.kind != "BUILT_IN":
            found["type"] = self.kind
        if self.policy is not None:
            found["passwordPolicy"] = {**self.policy, "status": {}}
        return found


@dataclass(slots=True, kw_only=True)
class Database:
    """`sql#database`."""

    name: str
    charset: str = "UTF8"
    collation: str = "en_US.UTF8"

    def on_wire(self, instance: str, root: str) -> dict[str, Any]:
        """As Google writes it."""
        return {
            "kind": "sql#database",
            "charset": self.charset,
            "collation": self.collation,
            "etag": etag(instance, self.name, self.charset, self.collation),
            "instance": instance,
            "name": self.name,
            "project": PROJECT,
            "selfLink": f"{root}/projects/{PROJECT}/instances/{instance}/databases/{self.name}",
        }


@dataclass(slots=True, kw_only=True)
class Instance:
    """`sql#instance`. `operation` is the one under way: there is never more than one."""

    name: str
    region: str
    version: str
    settings: dict[str, Any]
    created: datetime
    state: str = "PENDING_CREATE"
    revision: int = 1
    operation: Operation | None = None
    addresses: list[dict[str, str]] = field(default_factory=list)
    authority: Authority | None = None
    users: dict[str, User] = field(default_factory=dict)
    databases: dict[str, Database] = field(default_factory=dict)

    def on_wire(self, root: str, *, labels: bool = True) -> dict[str, Any]:
        """As Google writes it; the root password is never part of it."""
        settings = {**self.settings, "kind": "sql#settings", "settingsVersion": str(self.revision)}
        if not labels:
            settings.pop("userLabels", None)
        zone = settings.get("locationPreference", {}).get("zone") or f"{self.region}-a"
        settings["locationPreference"] = {"kind": "sql#locationPreference", "zone": zone}
        found: dict[str, Any] = {
            "kind": "sql#instance",
            "backendType": "SECOND_GEN",
            "connectionName": f"{PROJECT}:{self.region}:{self.name}",
            "createTime": stamp(self.created),
            "databaseInstalledVersion": self._installed(),
            "databaseVersion": self.version,
            "etag": etag(self.name, self.state, str(self.revision)),
            "gceZone": zone,
            "geminiConfig": {
                "activeQueryEnabled": False,
                "entitled": False,
                "googleVacuumMgmtEnabled": False,
                "indexAdvisorEnabled": False,
                "oomSessionCancelEnabled": False,
            },
            "instanceType": "CLOUD_SQL_INSTANCE",
            "maintenanceVersion": f"{self._installed()}.{_RELEASE}",
            "name": self.name,
            "project": PROJECT,
            "region": self.region,
            "satisfiesPzi": True,
            "selfLink": f"{root}/projects/{PROJECT}/instances/{self.name}",
            "serviceAccountEmailAddress": f"p{NUMBER}-{etag(self.name)[:6].lower()}@gcp-sa-cloud-sql.iam.gserviceaccount.com",
            "settings": settings,
            "sqlNetworkArchitecture": "NEW_NETWORK_ARCHITECTURE",
            "state": self.state,
        }
        if self.addresses:
            found["ipAddresses"] = list(self.addresses)
        if self.authority is not None:
            found["serverCaCert"] = self.shown_certificate(self.authority)
        return found

    def _installed(self) -> str:
        major = self.version.removeprefix("POSTGRES_")
        return f"{self.version}_{MINORS[major]}" if major in MINORS else self.version

    def shown_certificate(self, authority: Authority) -> dict[str, str]:
        """A certificate as Google writes it."""
        return {
            "kind": "sql#sslCert",
            "cert": authority.pem,
            "certSerialNumber": "0",
            "commonName": authority.common_name,
            "createTime": stamp(authority.made),
            "expirationTime": stamp(authority.ends),
            "instance": self.name,
            "sha1Fingerprint": authority.sha1,
        }


def etag(*parts: str) -> str:
    """A value that changes with what it is made of."""
    digest = hashlib.sha256("\x00".join(parts).encode()).digest()
    return base64.urlsafe_b64encode(digest[:8]).decode()


def with_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as Google fills them in. Only the edition, which decides on the tier, must be there already."""
    plus = settings["edition"] == "ENTERPRISE_PLUS"
    backups = settings.get("backupConfiguration", {})
    ip = settings.get("ipConfiguration", {})
    return {
        "activationPolicy": "ALWAYS",
        "authorizedGaeApplications": [],
        "availabilityType": "ZONAL",
        "connectorEnforcement": "NOT_REQUIRED",
        "dataDiskSizeGb": "10",
        "dataDiskType": "PD_SSD",
        "deletionProtectionEnabled": False,
        "pricingPlan": "PER_USE",
        "replicationType": "SYNCHRONOUS",
        "storageAutoResize": True,
        "storageAutoResizeLimit": "0",
        **{k: v for k, v in settings.items() if k not in ("settingsVersion", "kind")},
        "backupConfiguration": {
            "enabled": False,
            "kind": "sql#backupConfiguration",
            "startTime": "12:00",
            "transactionLogRetentionDays": 14 if plus else 7,
            "transactionalLogStorageState": "TRANSACTIONAL_LOG_STORAGE_STATE_UNSPECIFIED",
            **backups,
            "backupRetentionSettings": {
                "retainedBackups": 15 if plus else 7,
                "retentionUnit": "COUNT",
                **backups.get("backupRetentionSettings", {}),
            },
        },
        "ipConfiguration": {
            "authorizedNetworks": [],
            "ipv4Enabled": True,
            "requireSsl": False,
            "sslMode": "ALLOW_UNENCRYPTED_AND_ENCRYPTED",
            **ip,
        },
    }
