"""Who the credentials are, read from the claims of their token. Pure; the token itself never leaves this run."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NOBODY = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`object_id` is what role assignments name; `kind` is their `principalType`. All "" when it cannot be told."""

    object_id: str = ""
    tenant_id: str = ""
    kind: str = ""


def identity_of(token: str) -> Identity:
    """Read the claims without checking the signature: nothing is decided by them but whom we give access to."""
    claims = _claims(token)
    # A token on behalf of a person carries the scopes they agreed to; one of an application has roles instead.
    kind = "User" if claims.get("scp") else "ServicePrincipal"
    return Identity(
        object_id=str(claims.get("oid") or ""),
        tenant_id=str(claims.get("tid") or ""),
        kind=kind if claims.get("oid") else "",
    )


def anonymous_token() -> str:
    """What a stand-in is shown: an unsigned token of nobody, worth nothing anywhere else."""
    header, claims = {"alg": "none"}, {"oid": _NOBODY, "tid": _NOBODY}
    return ".".join([_encoded(header), _encoded(claims), ""])


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def _claims(token: str) -> Mapping[str, Any]:
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except (IndexError, ValueError):
        return {}  # some identities hand out tokens that only Azure can read
    return claims if isinstance(claims, dict) else {}
