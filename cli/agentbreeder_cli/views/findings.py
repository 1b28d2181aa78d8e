"""Warnings and notes: code, message, and where to look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from agentbreeder_resolver.plan_types import Finding

from .text import Colour, clean, paint, paragraph

_COLOUR: dict[str, Colour] = {"error": "red", "warning": "yellow", "note": "cyan"}


def finding_lines(findings: Iterable[Finding], stream: TextIO) -> list[str]:
    """Two lines per finding: `warning CODE where`, then the message."""
    lines = []
    for finding in findings:
        head = paint(f"{finding.severity} {finding.code}", _COLOUR[finding.severity], stream)
        lines.append(f"{head} {clean(finding.where)}".rstrip())
        lines += paragraph(finding.message, indent=2, stream=stream)
    return lines
