"""Physical names on AWS, within every service's limit."""

from __future__ import annotations

from ..engine import naming


def base_name(*, agent: str, team: str, region: str) -> str:
    """At most 32 characters. AWS names are scoped by account, so the account is not part of the hash.

    With `-redis` the result stays within ElastiCache's 40 characters, the narrowest limit (facts: replication group
    ids, 1-40).
    """
    return naming.base_name(("aws", region, team, agent), agent)


def secret_name(base: str, use: str) -> str:
    """`agentbreeder/<base>/<use>`: a charset Secrets Manager accepts, never ending in `-` and six characters."""
    return f"agentbreeder/{base}/{use}"
