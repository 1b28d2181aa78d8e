"""A value that never prints itself, and the one place that makes passwords."""

from __future__ import annotations

import hmac
import secrets
import string
from typing import NoReturn

PASSWORD_LENGTH = 32
_ALPHABET = string.ascii_letters + string.digits


class Secret:
    """Holds one secret string. `repr`, `str`, formatting, JSON and pickle never show it; only `reveal()` does."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself. Call it only where the value leaves for a vault, a driver or the SDK."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('****')"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> NoReturn:
        raise TypeError("a Secret is not hashable: a hash of it could leak through a set or a cache key")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or copied; pass the object itself")


def new_password() -> Secret:
    """A fresh password: 32 letters and digits (about 190 bits) from the operating system's secure source.

    Alphanumeric, so no service's forbidden set applies (RDS bans ``/ @ " space``, ElastiCache allows few specials) and
    the raw and the percent-encoded form are the same text. At least one lower-case letter, upper-case letter and digit,
    for services that ask for classes.
    """
    while True:
        text = "".join(secrets.choice(_ALPHABET) for _ in range(PASSWORD_LENGTH))
        if any(c.islower() for c in text) and any(c.isupper() for c in text) and any(c.isdigit() for c in text):
            return Secret(text)
