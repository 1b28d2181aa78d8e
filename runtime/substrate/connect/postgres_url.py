"""A PostgreSQL URL for asyncpg: every spelling that deploy accepts, without what one driver or another chokes on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from agentbreeder_core.url import BackendUrl, BadUrl

from .errors import StoreMisconfigured

CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S = 5.0, 10.0
_SSL_WORDS = {"true": "require", "1": "require", "false": "disable", "0": "disable"}
# What libpq or another driver means by it is given to asyncpg in its own way, or has no meaning for it.
_OURS = frozenset({"connect_timeout", "command_timeout", "pgbouncer", "statement_cache_size", "ssl"})
_DROPPED = frozenset(
    {
        "channel_binding",
        "prepared_statement_cache_size",
        "prepared_statement_name_func",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "gssencmode",
        "pool_size",
        "max_overflow",
        "connection_limit",
        "pool_timeout",
        "socket_timeout",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncpgUrl:
    """`dsn` may hold a password. `cached` is False where a pooler between us and the server keeps no prepared
    statements (PgBouncer in transaction mode)."""

    dsn: str = field(repr=False)
    connect_timeout_s: float
    command_timeout_s: float
    cached: bool


def asyncpg_url(url: str) -> AsyncpgUrl:
    """Raises `StoreMisconfigured`, without any part of the URL in the message."""
    try:
        parsed = BackendUrl.parse(url)
    except BadUrl as e:
        raise StoreMisconfigured(f"the PostgreSQL URL cannot be used: {e}") from None
    if parsed.family != "postgresql":
        raise StoreMisconfigured(f"a {parsed.scheme}:// URL is no PostgreSQL URL")
    query = {k: v for k, v in parsed.query if k not in _DROPPED and k not in _OURS}
    asked = {k: v for k, v in parsed.query if k in _OURS}
    if "schema" in query:  # Prisma's word for it
        query.setdefault("search_path", query.pop("schema"))
    ssl = asked.get("ssl", "").lower()
    if ssl:
        query.setdefault("sslmode", _SSL_WORDS.get(ssl, ssl))
    text = re.sub(r"^[a-z]+(\+[a-z0-9_]+)?://", "postgresql://", parsed.text)
    base = text.partition("?")[0]
    pooled = asked.get("pgbouncer", "").lower() in ("true", "1")
    return AsyncpgUrl(
        dsn=f"{base}?{urlencode(query, quote_via=quote)}" if query else base,
        connect_timeout_s=_seconds(asked, "connect_timeout", CONNECT_TIMEOUT_S),
        command_timeout_s=_seconds(asked, "command_timeout", ANSWER_TIMEOUT_S),
        cached=not pooled and asked.get("statement_cache_size") != "0",
    )


def _seconds(asked: dict[str, str], name: str, default: float) -> float:
    if name not in asked:
        return default
    try:
        return float(asked[name]) or default
    except ValueError:
        raise StoreMisconfigured(f"{name} in the PostgreSQL URL must be a number of seconds") from None
