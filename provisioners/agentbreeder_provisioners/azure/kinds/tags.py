"""Our tags as Azure stores them: names with `-`, because private DNS zones and others do not take `:` everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from ...engine.ownership import Owner


def to_azure(owner: Owner) -> dict[str, str]:
    """The owner's tags. Private DNS zones refuse blanks in values, so these (and `%`) are percent-encoded everywhere."""
    return {_name(k): v.replace("%", "%25").replace(" ", "%20") for k, v in sorted(owner.tags().items())}


def from_azure(tags: Mapping[str, str] | None) -> dict[str, str]:
    """Azure's tags with our names as the engine knows them; other people's tags stay as they are."""
    return {_OURS.get(k.lower(), k): unquote(v) if k.lower() in _OURS else v for k, v in (tags or {}).items()}


def _name(tag: str) -> str:
    return tag.replace(":", "-")


# Azure keeps the case of a tag's name but compares names without it.
_OURS = {_name(k): k for k in Owner(agent="", team="", lineage="").tags()}
