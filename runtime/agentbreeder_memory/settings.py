"""What the container was given: read once, checked whole, and refused with one line when it does not add up."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from agentbreeder_core.namespaces import SPECIAL, escape
from agentbreeder_core.url import BackendUrl, BadUrl
from substrate.connect.cloud_sql import CloudSqlInstance
from substrate.connect.errors import StoreMisconfigured

Backend = Literal["redis", "postgresql", "in_memory", "none"]
MemoryType = Literal["buffer_window", "buffer"]
OnOutage = Literal["raise", "continue"]
BACKENDS = ("redis", "postgresql", "in_memory", "none")
PLACEHOLDERS = frozenset({"agent_id", "session_id", "user_id", "team"})
DEFAULT_PATTERN = "{agent_id}:{session_id}"
DEFAULT_WINDOW, MAX_WINDOW, MAX_TTL_S = 100, 100_000, 10 * 365 * 86_400
MAX_NAMESPACE = 2_600
"""Bytes; characters beyond letters and digits count three times each. An index of PostgreSQL holds no longer one."""
_URL_OF = {"redis": "REDIS_URL", "postgresql": "DATABASE_URL"}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """`ttl_s` 0 keeps sessions for ever; `max_messages` 0 keeps all messages. `url` may hold a password.

    `cloud_sql` opens the connections of PostgreSQL through Google's connector; `vectors` says that a knowledge base keeps
    its own in the same database, so that the extension must be there; `telemetry` makes spans and metrics.
    """

    backend: Backend
    agent: str
    url: str = field(default="", repr=False)
    ttl_s: int = 0
    memory_type: MemoryType = "buffer_window"
    max_messages: int = DEFAULT_WINDOW
    namespace_pattern: str = DEFAULT_PATTERN
    team: str = ""
    on_outage: OnOutage = "raise"
    redis_ca_pem: str = field(default="", repr=False)
    cloud_sql: CloudSqlInstance | None = None
    vectors: bool = False
    telemetry: bool = False

    def __post_init__(self) -> None:
        """Raises `StoreMisconfigured` for a buffer with a number: it keeps all."""
        if self.memory_type == "buffer" and self.max_messages not in (0, DEFAULT_WINDOW):
            raise StoreMisconfigured("max_messages is for memory_type buffer_window; buffer keeps all messages")

    @property
    def window(self) -> int:
        """How many messages of a session are kept; 0 for all."""
        return 0 if self.memory_type == "buffer" else self.max_messages

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> MemorySettings:
        """From `MEMORY_BACKEND`, `REDIS_URL` or `DATABASE_URL`, `MEMORY_TTL_SECONDS`, `AGENT_NAME`, and where given
        `AGENT_TEAM`, `MEMORY_TYPE`, `MEMORY_MAX_MESSAGES`, `MEMORY_NAMESPACE_PATTERN`, `MEMORY_ON_OUTAGE`,
        `REDIS_CA_PEM_BASE64`, `INSTANCE_CONNECTION_NAME`, `CLOUD_SQL_IP_TYPE`, `KB_PGVECTOR_DSN`,
        `MEMORY_TELEMETRY`.

        Raises `StoreMisconfigured`: nothing is guessed, because a guess loses the agent's memory at its next start.
        """
        backend = _one_of(environ, "MEMORY_BACKEND", BACKENDS, "")
        memory_type = _one_of(environ, "MEMORY_TYPE", ("buffer_window", "buffer"), "buffer_window")
        window = _number(environ, "MEMORY_MAX_MESSAGES", DEFAULT_WINDOW, 1, MAX_WINDOW)
        if memory_type == "buffer" and environ.get("MEMORY_MAX_MESSAGES"):
            raise StoreMisconfigured("MEMORY_MAX_MESSAGES is for MEMORY_TYPE buffer_window; buffer keeps all messages")
        return cls(
            backend=cast("Backend", backend),
            agent=_agent(environ, backend),
            url=_url(environ, backend),
            ttl_s=_number(environ, "MEMORY_TTL_SECONDS", 0, 0, MAX_TTL_S),
            memory_type=cast("MemoryType", memory_type),
            max_messages=0 if memory_type == "buffer" else window,
            namespace_pattern=_pattern(environ),
            team=environ.get("AGENT_TEAM", "").strip(),
            on_outage=cast("OnOutage", _one_of(environ, "MEMORY_ON_OUTAGE", ("raise", "continue"), "raise")),
            redis_ca_pem=_ca_pem(environ) if backend == "redis" else "",
            cloud_sql=CloudSqlInstance.from_environ(environ) if backend == "postgresql" else None,
            vectors=backend == "postgresql" and shares_database(environ),
            telemetry=_one_of(environ, "MEMORY_TELEMETRY", ("none", "opentelemetry"), "none") != "none",
        )


def shares_database(environ: Mapping[str, str]) -> bool:
    """Whether a knowledge base's `KB_PGVECTOR_DSN` leads to the same database as `DATABASE_URL`."""
    memory, base = (_database(environ.get(name, "")) for name in ("DATABASE_URL", "KB_PGVECTOR_DSN"))
    return memory is not None and memory == base


def _database(url: str) -> tuple[object, str] | None:
    try:
        parsed = BackendUrl.parse(url)
    except BadUrl:
        return None  # whoever opens it says what is wrong with it
    return (parsed.hosts, parsed.database) if parsed.family == "postgresql" else None


def _pattern(environ: Mapping[str, str]) -> str:
    pattern = checked_pattern(environ.get("MEMORY_NAMESPACE_PATTERN", DEFAULT_PATTERN))
    if "{team}" in pattern and not environ.get("AGENT_TEAM", "").strip():
        raise StoreMisconfigured("AGENT_TEAM is not set, and MEMORY_NAMESPACE_PATTERN needs it for {team}")
    return pattern


def _one_of(environ: Mapping[str, str], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = environ.get(name, "").strip().lower() or default
    if value not in allowed:
        word = re.fullmatch(
            r"[a-z0-9_-]{1,30}", value
        )  # anything else may be a URL that strayed in here, with its password
        said = f"{name} is {value if word else 'something else'}" if value else f"{name} is not set"
        raise StoreMisconfigured(f"{said}; it must be one of {', '.join(allowed)}")
    return value


def _number(environ: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
        raise StoreMisconfigured(f"{name} is {text[:40]!r}; it must be a whole number from {least} to {most}")
    return int(text)


def _ca_pem(environ: Mapping[str, str]) -> str:
    text = environ.get("REDIS_CA_PEM_BASE64", "").strip()
    try:
        found = base64.b64decode(text, validate=True).decode("ascii")
    except ValueError:
        found = "?"
    if found and "BEGIN CERTIFICATE" not in found:
        raise StoreMisconfigured("REDIS_CA_PEM_BASE64 is not a certificate in PEM, encoded in base64")
    return found


def _agent(environ: Mapping[str, str], backend: str) -> str:
    agent = environ.get("AGENT_NAME", "").strip()
    if not agent and backend not in ("none", "in_memory"):
        raise StoreMisconfigured("AGENT_NAME is not set; without it agents would share one memory")
    return agent or "agent"


def _url(environ: Mapping[str, str], backend: str) -> str:
    name = _URL_OF.get(backend)
    if name is None:
        return ""
    url = environ.get(name, "").strip()
    if url:
        return url
    other = next((v for b, v in _URL_OF.items() if b != backend and environ.get(v)), "")
    beside = f", although {other} is" if other else ""
    raise StoreMisconfigured(f"MEMORY_BACKEND is {backend}, but {name} is not set{beside}")


def checked_pattern(pattern: str) -> str:
    """A namespace pattern whose placeholders are all known. Raises `StoreMisconfigured`."""
    names = _PLACEHOLDER.findall(pattern)
    unknown = [n for n in names if n not in PLACEHOLDERS]
    if unknown or not names or "{" in _PLACEHOLDER.sub("", pattern) or "}" in _PLACEHOLDER.sub("", pattern):
        raise StoreMisconfigured(
            f"the namespace pattern {pattern[:80]!r} must hold placeholders out of: "
            + ", ".join(f"{{{n}}}" for n in sorted(PLACEHOLDERS))
        )
    if any(not SPECIAL.search(between) for between in _PLACEHOLDER.split(pattern)[2:-1:2]) or "%" in pattern:
        # Two values would meet: "a-b" and "c" is "a" and "b-c".
        raise StoreMisconfigured(
            f"the namespace pattern {pattern[:80]!r} needs a character between its placeholders that no value can hold, "
            "such as ':' or '/', and no '%'"
        )
    return pattern


def namespace_of(pattern: str, values: Mapping[str, str]) -> str:
    """The pattern with its values, each escaped so that no value can reach another namespace.

    Raises `ValueError` for a placeholder without a value.
    """
    missing = [n for n in _PLACEHOLDER.findall(pattern) if not values.get(n)]
    if missing:
        raise ValueError(f"the namespace pattern needs {', '.join(missing)}")
    made = _PLACEHOLDER.sub(lambda m: escape(values[m[1]]), pattern)
    if len(made.encode()) > MAX_NAMESPACE:
        raise ValueError(f"the session's and the user's names are too long: together {MAX_NAMESPACE} bytes at most")
    return made
