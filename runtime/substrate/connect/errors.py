"""What goes wrong between an agent and its store. No message holds a password or what a user said."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The store could not be reached, or lost the connection and did not come back in time. Nothing is known to be
    lost: what was acknowledged is there, and the last call may have been carried out."""


class StoreRefused(StoreError):
    """The store answered, and does not take this now: it is full or read only, or the user lacks a right. `lasting` says
    that it never will, because of what was sent."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class StoreMisconfigured(StoreError):
    """A variable or URL is missing, contradictory or cannot be used."""


class DriverMissing(StoreError):
    """A package is not installed; the message names the extra."""


_WORDS = {
    "ConnectionRefusedError": "nothing listens there",
    "gaierror": "the host's name is not known",
    "TimeoutError": "no answer in time",
    "builtins.ConnectionError": "it was refused or cut, perhaps because one side wants TLS and the other has none",
    "ConnectionError": "the connection was refused or cut",
    "SSLCertVerificationError": "its certificate is not trusted",
    "AuthenticationError": "user or password is wrong",
    "InvalidPasswordError": "user or password is wrong",
    "InvalidAuthorizationSpecificationError": "the user may not log in from here",
    "InvalidCatalogNameError": "there is no such database",
    "InsufficientPrivilegeError": "the user has no right to it",
    "TooManyConnectionsError": "it has no connection left",
    "UndefinedObjectError": "it does not know a parameter of the URL",
    "CantChangeRuntimeParamError": "a parameter of the URL cannot be set",
}


def reason(error: BaseException | None) -> str:
    """The kind of an error of a driver, in words where it is a usual one. Never its text, which may hold anything."""
    below = error and (error.__cause__ or error.__context__)
    if isinstance(below, OSError):
        error = below
    kind = type(error).__name__
    words = _WORDS.get(f"{type(error).__module__}.{kind}") or _WORDS.get(kind)
    return f"{words}: {kind}" if words else kind


def driver_missing(package: str | None, extra: str) -> DriverMissing:
    """The error for an import that failed."""
    return DriverMissing(f"{package} is not installed: pip install 'agentbreeder-memory[{extra}]'")
