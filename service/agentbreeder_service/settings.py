"""What `serve` is told by its environment; checked whole, and refused with one line when it does not add up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agentbreeder_core.errors import ConfigError
from agentbreeder_core.url import BackendUrl, BadUrl

MIN_SECRET = 32
DEFAULT_RATE = "3000/second"
_RATE = re.compile(r"[0-9]{1,9}/(second|minute|hour|day)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSettings:
    """One of `secret` (HS256), `public_key` (RS256, PEM) and `jwks_url` (RS256) is set. `issuer` and `audience` must be in
    every token."""

    secret: str = field(default="", repr=False)
    public_key: str = ""
    jwks_url: str = ""
    issuer: str = "agentbreeder"
    audience: str = "agentbreeder-memory"

    @property
    def algorithm(self) -> str:
        """The only one that is accepted: what a token says itself does not count."""
        return "HS256" if self.secret else "RS256"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """`database_url` may hold a password. `rate` is per principal and process, such as `200/second`; "" for none."""

    tokens: TokenSettings
    database_url: str = field(default="", repr=False)
    read_database_url: str = field(default="", repr=False)
    sqlite_path: Path | None = None
    rate: str = DEFAULT_RATE
    max_body_bytes: int = 4 * 1024 * 1024
    pool_size: int = 10

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, sqlite_path: Path | None = None) -> ServiceSettings:
        """From `DATABASE_URL`, `DATABASE_READ_URL`, `AGENTBREEDER_JWT_SECRET` or `_JWT_PUBLIC_KEY` (a file) or
        `_JWKS_URL`, `AGENTBREEDER_JWT_ISSUER`, `_JWT_AUDIENCE`, `AGENTBREEDER_RATE_LIMIT`, `AGENTBREEDER_POOL_SIZE`.

        Raises `ConfigError`.
        """
        database = "" if sqlite_path else postgres_url(environ, "DATABASE_URL")
        if not database and sqlite_path is None:
            raise ConfigError(
                "DATABASE_URL is not set",
                hint="set it to a PostgreSQL URL, or try the service out: agentbreeder serve --dev",
            )
        rate = environ.get("AGENTBREEDER_RATE_LIMIT", DEFAULT_RATE).strip()
        if rate and not _RATE.fullmatch(rate):
            raise ConfigError(
                f"AGENTBREEDER_RATE_LIMIT is {rate[:40]!r}", hint="write it like 3000/second, or leave it empty"
            )
        pool = environ.get("AGENTBREEDER_POOL_SIZE", "10").strip()
        if not re.fullmatch(r"[1-9][0-9]{0,3}", pool, re.ASCII):
            raise ConfigError(
                f"AGENTBREEDER_POOL_SIZE is {pool[:40]!r}", hint="a number of connections per process, such as 10"
            )
        return cls(
            tokens=token_settings(environ),
            database_url=database,
            read_database_url=postgres_url(environ, "DATABASE_READ_URL"),
            sqlite_path=sqlite_path,
            rate=rate,
            pool_size=int(pool),
        )


def token_settings(environ: Mapping[str, str]) -> TokenSettings:
    """Raises `ConfigError` unless exactly one kind of key is given, and for a secret that can be guessed."""
    secret = environ.get("AGENTBREEDER_JWT_SECRET", "")
    key_file, jwks = environ.get("AGENTBREEDER_JWT_PUBLIC_KEY", ""), environ.get("AGENTBREEDER_JWKS_URL", "")
    if sum(map(bool, (secret, key_file, jwks))) != 1:
        raise ConfigError(
            "exactly one of AGENTBREEDER_JWT_SECRET, AGENTBREEDER_JWT_PUBLIC_KEY and AGENTBREEDER_JWKS_URL must be set",
            hint='export AGENTBREEDER_JWT_SECRET="$(openssl rand -hex 32)"',
        )
    if secret and len(secret.encode()) < MIN_SECRET:
        raise ConfigError(
            f"AGENTBREEDER_JWT_SECRET is shorter than {MIN_SECRET} bytes and could be guessed",
            hint='export AGENTBREEDER_JWT_SECRET="$(openssl rand -hex 32)"',
        )
    if jwks and not is_safe(jwks):
        raise ConfigError("AGENTBREEDER_JWKS_URL must be an https URL, or http on this machine", hint="check the URL")
    return TokenSettings(
        secret=secret,
        public_key=_key(key_file) if key_file else "",
        jwks_url=jwks,
        issuer=environ.get("AGENTBREEDER_JWT_ISSUER", "") or "agentbreeder",
        audience=environ.get("AGENTBREEDER_JWT_AUDIENCE", "") or "agentbreeder-memory",
    )


def is_safe(url: str) -> bool:
    """An https URL, or one of this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
        )
    except ValueError:
        return False


def _key(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, ValueError) as e:
        raise ConfigError(
            f"AGENTBREEDER_JWT_PUBLIC_KEY: {path} cannot be read ({type(e).__name__})", hint="name a PEM file"
        ) from e
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(text.encode())
    except ValueError:
        key = None
    if not isinstance(key, RSAPublicKey):
        raise ConfigError(
            f"AGENTBREEDER_JWT_PUBLIC_KEY: {path} holds no public RSA key in PEM", hint="openssl rsa -pubout"
        )
    return text


def postgres_url(environ: Mapping[str, str], name: str) -> str:
    """A variable's PostgreSQL URL, "" when it is not set. Raises `ConfigError`, which holds no part of it."""
    url = environ.get(name, "").strip()
    if not url:
        return ""
    try:
        parsed = BackendUrl.parse(url)
    except BadUrl as e:
        raise ConfigError(f"{name} cannot be used: {e}", hint="postgresql://user:password@host/database") from None
    if parsed.family != "postgresql":
        raise ConfigError(f"{name} is a {parsed.scheme}:// URL", hint="the service keeps its data in PostgreSQL")
    return url
