"""What goes wrong between an agent and its store. No message holds a password or what a user said."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The store could not be reached, or lost the connection and did not come back in time. Nothing is known to be
    lost: what was acknowledged is there, and the last call may have been carried out."""


class StoreMisconfigured(StoreError):
    """A variable or URL is missing, contradictory or cannot be used."""


class DriverMissing(StoreError):
    """A package is not installed; the message names the extra."""


def driver_missing(package: str | None, extra: str) -> DriverMissing:
    """The error for an import that failed."""
    return DriverMissing(f"{package} is not installed: pip install 'agentbreeder-memory[{extra}]'")
