"""Filters and pages of list calls."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

from .errors import invalid, unserved

_TERM = re.compile(r'([\w.\-]+)\s*(:|=)\s*("[^"]*"|[^\s"]+)')
_MAX = 500
Predicate = Callable[[dict[str, Any]], bool]


def matching(api: str, text: str) -> Predicate:
    """Terms `path:value` or `path=value`, all of which must hold. Raises `Refused` for any richer expression.

    `:` compares a name as "contains", and everything else exactly.
    """
    rest = re.sub(r"\bAND\b", " ", _TERM.sub(" ", text)).strip()
    if rest:
        raise unserved(api, f"the filter {text!r}; it knows terms like labels.key=value")
    terms = [(path.split("."), sign, value.strip('"')) for path, sign, value in _TERM.findall(text)]
    return lambda item: all(_holds(item, path, sign, value) for path, sign, value in terms)


def _holds(item: dict[str, Any], path: list[str], sign: str, value: str) -> bool:
    found: Any = item
    for n, part in enumerate(path):
        if not isinstance(found, dict):
            return False
        rest = ".".join(path[n:])
        if rest in found:  # a label's key may have dots of its own
            found = found[rest]
            break
        found = found.get(part)
    if found is None:
        return False
    text = str(found).lower() if isinstance(found, bool) else str(found)
    return value in text if sign == ":" and path == ["name"] else value in (text, "*")


def page(api: str, items: Sequence[Any], size: str, token: str) -> tuple[list[Any], str]:
    """(one page, the token of the next, "" at the end). Raises `Refused` for a token that was never given out."""
    try:
        start = int(base64.urlsafe_b64decode(token)) if token else 0
    except (binascii.Error, ValueError):
        raise invalid(api, [("page_token", "The page token is not valid.")]) from None
    length = min(int(size or 0), _MAX) or _MAX
    end = start + length
    more = base64.urlsafe_b64encode(str(end).encode()).decode() if end < len(items) else ""
    return list(items[start:end]), more
