"""Physical names on AWS: deterministic, computed offline, within every service's limit, never cut at the hash."""

from __future__ import annotations

import base64
import hashlib
import json
import re

_SLUG_LENGTH, _HASH_LENGTH = 18, 10


def base_name(*, agent: str, team: str, region: str) -> str:
    """`ab-<readable>-<hash>`, at most 32 characters of `a-z0-9-`.

    The hash covers cloud, region, team and the exact agent name, so names that differ only in case, in `_` and `-`, or
    past the cut stay apart. AWS names are scoped by account, so the account is not part of it. With `-redis` the
    result stays within ElastiCache's 40 characters, the narrowest limit (facts: replication group ids, 1-40).
    """
    identity = json.dumps(["aws", region, team, agent]).encode()
    digest = base64.b32encode(hashlib.sha256(identity).digest()).decode().lower()[:_HASH_LENGTH]
    slug = re.sub(r"[^a-z0-9]+", "-", agent.lower()).strip("-")[:_SLUG_LENGTH].strip("-") or "agent"
    return f"ab-{slug}-{digest}"


def secret_name(base: str, use: str) -> str:
    """`agentbreeder/<base>/<use>`: a charset Secrets Manager accepts, never ending in `-` and six characters."""
    return f"agentbreeder/{base}/{use}"
