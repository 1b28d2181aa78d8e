"""Building the URLs of stores this product makes: every part percent-encoded, exactly one port."""

from __future__ import annotations

from urllib.parse import quote

from agentbreeder_core.hosts import Host
from agentbreeder_core.secret import Secret

_UNRESERVED = ""


def _encode(text: str) -> str:
    return quote(text, safe=_UNRESERVED)  # a space becomes %20; `+` would be a literal plus in user information


def _address(endpoint: str, port: int) -> str:
    """`host:port`. Some services report an endpoint that carries its port already."""
    bare = endpoint.strip()
    name, _, given = bare.rpartition(":") if bare.count(":") == 1 else (bare, "", "")
    host = name if given.isdigit() else bare
    shown = f"[{host}]" if Host(host).kind == "ipv6" else host
    return f"{shown}:{port}"


def make_postgres_url(
    user: str, password: Secret, host: str, port: int, database: str, *, sslmode: str = "require"
) -> Secret:
    """`postgresql://user:password@host:port/database?sslmode=...` as a `Secret`."""
    credentials = f"{_encode(user)}:{_encode(password.reveal())}"
    return Secret(f"postgresql://{credentials}@{_address(host, port)}/{_encode(database)}?sslmode={_encode(sslmode)}")


def make_redis_url(host: str, port: int, *, tls: bool, password: Secret | None, database: int = 0) -> Secret:
    """`redis://` or `rediss://`, with the password when there is one. Certificates are verified: no option is added."""
    scheme = "rediss" if tls else "redis"
    credentials = f":{_encode(password.reveal())}@" if password is not None else ""
    return Secret(f"{scheme}://{credentials}{_address(host, port)}/{database}")
