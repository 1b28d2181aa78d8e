"""Where the container's values come from, once the steps are ready."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSource:
    """The output of a ready step that holds a value (`secret` False) or a vault reference (`secret` True).

    `key` names the JSON key inside the vault's secret; "" when the secret's whole value is the URL.
    """

    step: str
    output: str
    secret: bool
    key: str = ""
