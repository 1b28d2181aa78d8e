"""AWS writes tags as lists of Key/Value pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...engine.ownership import Owner


def to_aws(owner: Owner) -> list[dict[str, str]]:
    """The owner's tags as AWS wants them, in a fixed order. AWS forbids some characters in values; none of ours are."""
    return [{"Key": k, "Value": v} for k, v in sorted(owner.tags().items())]


def from_aws(tags: Iterable[Mapping[str, str]] | None) -> dict[str, str]:
    """AWS's pairs as a dict."""
    return {t["Key"]: t.get("Value", "") for t in tags or ()}
