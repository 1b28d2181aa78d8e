"""What each cloud's tests deploy so that every kind of it is there, and the fixture of its stand-in."""

from __future__ import annotations

_BOTH = "memory: {backend: redis, provision: {tls: true}}\nknowledge_bases: [{ref: kb/docs}]"
STAND_INS_OF_TESTS = {"aws": "aws_sandbox"}
EVERY_KIND: dict[str, dict[str, str]] = {
    "aws": {"both": _BOTH},
}
"""Agents per cloud; together their steps have every kind that the cloud has."""
