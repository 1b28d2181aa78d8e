"""Secret Manager's secrets and their policies, as `secretmanager.v1` does it and refuses it (facts, sections 3.3 and 4.4).

Answers name the project by its number, whatever the request said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .errors import Refused, invalid, plain, unserved
from .iam import Policy
from .labels import broken_label
from .paging import matching, page
from .routing import Call, Route, route
from .sql_model import etag
from .world import NUMBER, World, stamp

_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_SERVED = frozenset({"labels", "annotations", "replication", "etag", "secretType"})
_CHANGEABLE = frozenset({"labels", "annotations"})


@dataclass(slots=True, kw_only=True)
class Version:
    """`payload` is gone once it is destroyed. `summed`: the client sent a checksum with it."""

    number: int
    payload: bytes | None = field(repr=False)
    created: datetime
    summed: bool
    state: str = "ENABLED"
    destroyed: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Secret:
    """One secret. `seen_from` is when a change of its labels counts everywhere."""

    id: str
    given: dict[str, Any]
    created: datetime
    revision: int = 1
    versions: list[Version] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)

    @property
    def name(self) -> str:
        """With the project's number."""
        return f"projects/{NUMBER}/secrets/{self.id}"

    @property
    def etag(self) -> str:
        """A quoted string, as the recordings have it."""
        return f'"{etag(self.id, str(self.revision))[:-1].lower()}"'

    def on_wire(self, *, labels: bool = True) -> dict[str, Any]:
        """As Google writes it; a payload is never part of it."""
        given = {k: v for k, v in self.given.items() if v not in ({}, "") and (labels or k != "labels")}
        return {**given, "name": self.name, "createTime": stamp(self.created), "etag": self.etag}


class Secrets:
    """What stands there; shared with the calls on versions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.by_id: dict[str, Secret] = {}

    def find(self, call: Call) -> Secret:
        """The secret that the path names. Raises `Refused` (404)."""
        secret = self.by_id.get(call.variables["secretsId"])
        if secret is None:
            raise missing(call.variables["secretsId"])
        return secret


def missing(secret_id: str) -> Refused:
    """404, by the project's number."""
    return plain(404, "NOT_FOUND", f"Secret [projects/{NUMBER}/secrets/{secret_id}] not found.")


class SecretApi:
    """The calls on secrets and their policies."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._world = secrets.world

    def routes(self) -> dict[str, Route]:
        """By method id."""
        base = "secretmanager.projects.secrets"
        return {
            f"{base}.create": route(self.create, "secretId"),
            f"{base}.get": route(self.get),
            f"{base}.list": route(self.list_all, "filter", "pageSize", "pageToken"),
            f"{base}.patch": route(self.patch, "updateMask"),
            f"{base}.delete": route(self.delete, "etag"),
            f"{base}.getIamPolicy": route(self.get_policy, "options.requestedPolicyVersion"),
            f"{base}.setIamPolicy": route(self.set_policy),
            f"{base}.testIamPermissions": route(self.test_permissions),
        }

    def create(self, call: Call) -> dict[str, Any]:
        """Without a version: that is another call."""
        name = call.one("secretId")
        if not _ID.fullmatch(name):
            text = f"The provided Secret ID [{name}] does not match the expected format [[a-zA-Z_0-9]+]"
            raise invalid("secretmanager", [("secret_id", text)])
        unknown = call.body.keys() - _SERVED
        if unknown:
            raise unserved("secretmanager", f"the fields {', '.join(sorted(unknown))} of a secret")
        if not call.body.get("replication"):
            raise invalid("secretmanager", [("secret.replication", "Replication is required.")])
        _check_labels(call.body)
        if name in self._secrets.by_id:
            raise plain(409, "ALREADY_EXISTS", f"Secret [projects/{NUMBER}/secrets/{name}] already exists.")
        given = {k: v for k, v in call.body.items() if k != "etag"}
        secret = Secret(id=name, given=given, created=self._world.now())
        self._secrets.by_id[name] = secret
        return secret.on_wire()

    def get(self, call: Call) -> dict[str, Any]:
        """404 for one that is not there."""
        return self._shown(self._secrets.find(call))

    def list_all(self, call: Call) -> dict[str, Any]:
        """Newest first, with the number of all that fit."""
        keep = matching("secretmanager", call.one("filter"))
        shown = [s for s in map(self._shown, reversed(self._secrets.by_id.values())) if keep(s)]
        items, more = page("secretmanager", shown, call.one("pageSize"), call.one("pageToken"))
        answer: dict[str, Any] = {"secrets": items, "totalSize": len(shown)} if shown else {}
        return {**answer, "nextPageToken": more} if more else answer

    def patch(self, call: Call) -> dict[str, Any]:
        """Labels and annotations; replication is for ever."""
        secret = self._secrets.find(call)
        fields = [f for f in call.one("updateMask").split(",") if f]
        if not fields or not _CHANGEABLE.issuperset(fields):
            text = f"The update mask may name {', '.join(sorted(_CHANGEABLE))}, not {', '.join(fields) or 'nothing'}."
            raise invalid("secretmanager", [("update_mask", text)])
        check_etag(call.body.get("etag", ""), secret.etag)
        _check_labels(call.body)
        secret.given = {**secret.given, **{f: call.body.get(f, {}) for f in fields}}
        secret.revision += 1
        return secret.on_wire()

    def delete(self, call: Call) -> dict[str, Any]:
        """With every version, at once; the name is free."""
        secret = self._secrets.find(call)
        check_etag(call.one("etag"), secret.etag)
        del self._secrets.by_id[secret.id]
        return {}

    def get_policy(self, call: Call) -> dict[str, Any]:
        """Bindings of the secret itself."""
        return self._secrets.find(call).policy.on_wire()

    def set_policy(self, call: Call) -> dict[str, Any]:
        """Replaces the whole policy; 409 ABORTED when somebody else was quicker."""
        secret = self._secrets.find(call)
        if "updateMask" in call.body:
            raise unserved("secretmanager", "updateMask of setIamPolicy")
        secret.policy = secret.policy.replaced(call.body.get("policy", {}))
        return secret.policy.on_wire()

    def test_permissions(self, call: Call) -> dict[str, Any]:
        """Who calls the stand-in may do everything."""
        self._secrets.find(call)
        asked = call.body.get("permissions", [])
        return {"permissions": asked} if asked else {}

    def _shown(self, secret: Secret) -> dict[str, Any]:
        return secret.on_wire(labels=self._world.shows_labels(secret.created))


def check_etag(given: str, current: str) -> None:
    """A given etag must be the current one. The sentence is ours."""
    if given and given != current:
        raise plain(400, "FAILED_PRECONDITION", f"The etag {given} does not match the current one.")


def _check_labels(body: Mapping[str, Any]) -> None:
    broken = broken_label(body.get("labels", {}))
    if broken:
        raise invalid("secretmanager", [("secret.labels", f"Invalid label: {broken}.")])
