"""The rules that labels follow in every Google API."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_MAX = 64


def broken_label(labels: Mapping[str, str]) -> str:
    """The first label against the rules, as `key=value`; "" when all are fine (facts, section 4.3)."""
    for key, value in labels.items():
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            return f"{key}={value}"
    return f"{len(labels)} labels, more than {_MAX}" if len(labels) > _MAX else ""
