"""A resource's IAM policy: read, change, write with the etag of what was read."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from .errors import invalid, plain

_EMPTY_ETAG = "ACAB"  # what Google answers for a policy that was never set
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(user|serviceAccount|group|domain|projectOwner|projectEditor|projectViewer|"
    r"principal|principalSet|deleted):.+"
)
_ROLE = re.compile(
    r"roles/[a-z]+\.[A-Za-z.]+|(projects|organizations)/[^/]+/roles/[A-Za-z0-9_.]+|roles/(owner|editor|viewer)"
)
_CONFLICT = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`revision` 0 means that none was ever set."""

    bindings: tuple[dict[str, Any], ...] = ()
    version: int = 1
    revision: int = 0

    @property
    def etag(self) -> str:
        """Base64, as all bytes in JSON."""
        return base64.b64encode(b"BwY" + self.revision.to_bytes(5)).decode() if self.revision else _EMPTY_ETAG

    def on_wire(self) -> dict[str, Any]:
        """As Google writes it: nothing but the etag while it is empty."""
        found: dict[str, Any] = {"etag": self.etag}
        if self.revision:
            found["version"] = self.version
        if self.bindings:
            found["bindings"] = [dict(b) for b in self.bindings]
        return found

    def replaced(self, given: dict[str, Any]) -> Policy:
        """The next policy. Raises `Refused`: 409 for an old etag, 400 for a member or role that cannot be."""
        if given.get("etag", self.etag) != self.etag:
            raise plain(
                409,
                "ABORTED",
                f"{_CONFLICT} The request's ETag '{given['etag']}' did not match the current policy's ETag '{self.etag}'.",
            )
        bindings = [b for b in given.get("bindings", ()) if b.get("members")]
        for binding in bindings:
            _check(binding)
        return Policy(bindings=tuple(bindings), version=given.get("version") or 1, revision=self.revision + 1)

    def members(self) -> list[str]:
        """`role member` for each, sorted."""
        return sorted(f"{b['role']} {member}" for b in self.bindings for member in b["members"])


def _check(binding: dict[str, Any]) -> None:
    role = binding.get("role", "")
    if not _ROLE.fullmatch(role):
        raise invalid("secretmanager", [("policy.bindings", f"Role {role} is not supported for this resource.")])
    for member in binding["members"]:
        if not _MEMBER.fullmatch(member):
            text = f"The member {member} is of an unknown type. Please set a valid type prefix for the member."
            raise invalid("secretmanager", [("policy.bindings", text)])
