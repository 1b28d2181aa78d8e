"""One parser for every URL the product meets. `urlsplit` is not used: for a raw `#`, `/` or `?` in a password it takes
part of the secret for the host or port, and its errors quote it; it also knows neither several hosts nor sockets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from .hosts import Host, is_local
from .secret import Secret

Family = Literal["postgresql", "redis"]
"""Which kind of store a URL is of, and so which driver opens it."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://", re.ASCII)
_POSTGRES = re.compile(r"postgres(?:ql)?(\+[a-z0-9_]+)?", re.ASCII)
_REDIS = frozenset({"redis", "rediss", "valkey", "valkeys", "redis+sentinel", "rediss+sentinel", "unix"})
_SENTINEL = frozenset({"redis+sentinel", "rediss+sentinel"})
_TLS_SCHEMES = frozenset({"rediss", "valkeys", "rediss+sentinel"})
_TLS_VALUES = frozenset({"require", "verify-ca", "verify-full", "true", "1"})
_KNOWN = ("postgresql", "postgres", *sorted(_REDIS))
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"[A-Za-z0-9._~%!$&'()*+;=\-]*", re.ASCII)
_INNER_SPACE = re.compile(r"[\s\x00-\x20\x7f]")
_MAX_PORT = 65535
_ENCODE = "percent-encode it in the user name or password (%23 for #, %2F for /, %3F for ?, %40 for @, %5B for [)"


class BadUrl(ValueError):
    """A URL that cannot be used. Its text never holds any part of the URL but a host that is surely one."""

    def __init__(self, reason: str, *, suggestion: str = "") -> None:
        super().__init__(reason)
        self.suggestion = suggestion


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BackendUrl:
    """A parsed URL. `text` is what the container gets: the input without outer blanks, the scheme in lower case and
    `postgres` written out; nothing else is touched, so what was percent-encoded once stays encoded once."""

    text: str = field(repr=False)
    scheme: str
    family: Family
    username: str
    password: Secret | None
    hosts: tuple[Host, ...]
    database: str
    query: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> BackendUrl:
        """Parse, or raise `BadUrl` with a reason and never a piece of the user information."""
        return _parse(text)

    def __repr__(self) -> str:
        return f"BackendUrl({self.redacted()!r})"

    def as_injected(self) -> str:
        """The text for the container. It may hold a password."""
        return self.text

    @property
    def has_password(self) -> bool:
        """Whether the text carries a password, in the user information or in the query."""
        return self.password is not None or any(k in ("password", "sslpassword") and v for k, v in self.query)

    @property
    def tls(self) -> bool:
        """Whether the URL itself asks for TLS."""
        if self.scheme in _TLS_SCHEMES:
            return True
        return any(k in ("sslmode", "ssl", "tls") and v.lower() in _TLS_VALUES for k, v in self.query)

    def local_hosts(self) -> tuple[Host, ...]:
        """The hosts that a container in a real cloud could not reach."""
        return tuple(h for h in self.hosts if is_local(h))

    def redacted(self) -> str:
        """Scheme, hosts and ports; no user, password, database or query."""
        return f"{self.scheme}://{','.join(_shown(h) for h in self.hosts)}"


def scheme_of(text: str) -> str:
    """The scheme in lower case, or "" when the text is no `scheme://` URL."""
    match = _SCHEME.match(text.strip())
    return match.group(1).lower() if match else ""


def family_of(scheme: str) -> Family | None:
    """`postgresql`, `redis`, or None for a scheme of something else."""
    if _POSTGRES.fullmatch(scheme):
        return "postgresql"
    return "redis" if scheme in _REDIS else None


def hosts_of(text: str) -> tuple[Host, ...]:
    """The hosts of any `scheme://` URL, or () when they cannot be told. For looking at other people's variables."""
    match = _SCHEME.match(text.strip())
    if not match:
        return ()
    authority = re.split(r"[/?#]", text.strip()[match.end() :], maxsplit=1)[0]
    try:
        return tuple(_host(h) for h in authority.rpartition("@")[2].split(",") if h)
    except BadUrl:
        return ()


def _shown(host: Host) -> str:
    name = f"[{host.name}]" if host.kind == "ipv6" else host.name
    return f"{name}:{host.port}" if host.port is not None else name


def _parse(raw: str) -> BackendUrl:
    text = raw.strip()
    if not text:
        raise BadUrl("it is empty")
    if _INNER_SPACE.search(text):
        raise BadUrl("it holds a blank or control character; in a password write it percent-encoded (%20 for a space)")
    match = _SCHEME.match(text)
    if not match:
        raise BadUrl("it is not a URL: it must start with a scheme, such as postgresql:// or redis://")
    scheme = match.group(1).lower()
    family = family_of(scheme)
    if family is None:
        raise _unknown_scheme(scheme)
    if scheme.split("+")[0] == "postgres":
        scheme = "postgresql" + scheme.removeprefix("postgres")
    rest = text[match.end() :]
    authority, path, query_text = _split(rest)
    userinfo, at, hostlist = authority.rpartition("@")
    username, password = _userinfo(userinfo if at else "")
    query = tuple(_pair(p) for p in query_text.split("&") if p)
    hosts = _hosts(scheme, family, hostlist, path, query)
    return BackendUrl(
        text=f"{scheme}://{rest}",
        scheme=scheme,
        family=family,
        username=username,
        password=password,
        hosts=hosts,
        database="" if scheme == "unix" else unquote(path[1:]),
        query=query,
    )


def _unknown_scheme(scheme: str) -> BadUrl:
    from difflib import get_close_matches

    close = get_close_matches(scheme, _KNOWN, n=1, cutoff=0.7)
    hint = f"; did you mean {close[0]}://?" if close else "; known are postgresql:// and redis:// and their variants"
    return BadUrl(f"its scheme {scheme[:40]!r} is not known{hint}", suggestion=close[0] if close else "")


def _split(rest: str) -> tuple[str, str, str]:
    """Authority, path with its slash, query. Refuses what shows that a reserved character stands raw in the secret."""
    if "#" in rest:
        raise BadUrl(f"it holds a raw '#'; {_ENCODE}")
    before_query, _, query = rest.partition("?")
    authority, slash, path = before_query.partition("/")
    if "@" in path or ("@" in query and "@" not in authority):
        raise BadUrl(f"an '@' stands behind a raw '/' or '?'; {_ENCODE}")
    if authority.count("@") > 1:
        raise BadUrl(f"it holds more than one '@'; {_ENCODE}")
    userinfo = authority.rpartition("@")[0]
    if "[" in userinfo or "]" in userinfo or ("@" not in authority and _stray_bracket(authority)):
        raise BadUrl(f"a raw '[' or ']' stands before the host; {_ENCODE}")
    if _BAD_PERCENT.search(rest):
        raise BadUrl("a '%' must be followed by two hexadecimal digits; write a plain percent sign as %25")
    return authority, slash + path, query


def _stray_bracket(authority: str) -> bool:
    return any("[" in h and not h.startswith("[") for h in authority.split(","))


def _userinfo(text: str) -> tuple[str, Secret | None]:
    user, colon, password = text.partition(":")
    return unquote(user), Secret(unquote(password)) if colon and password else None


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return unquote(key), unquote(value)


def _hosts(
    scheme: str, family: Family, hostlist: str, path: str, query: tuple[tuple[str, str], ...]
) -> tuple[Host, ...]:
    if scheme == "unix":
        return (Host(unquote(path) or "/"),)
    hosts = tuple(_host(h) for h in hostlist.split(","))
    if len(hosts) > 1 and family == "redis" and scheme not in _SENTINEL:
        raise BadUrl("several hosts are only possible with redis+sentinel:// and postgresql://")
    if family == "postgresql":
        named = [h for k, v in query if k in ("host", "hostaddr") for h in v.split(",") if h]
        if named:
            return (*(h for h in hosts if h.name), *(Host(h) for h in named))
    return hosts


def _host(text: str) -> Host:
    if text.startswith("["):
        name, bracket, port = text[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise BadUrl("an IPv6 address must stand in brackets, like [::1]:5432")
        return Host(name, _port(port[1:], name))
    name, _, port = text.partition(":")
    if ":" in port:
        raise BadUrl(f"the port of host {_safe(name)!r} is given twice or is no number; IPv6 addresses need brackets")
    if not _HOST.fullmatch(name):
        raise BadUrl("the host holds a character that no host name has; is something in the password not encoded?")
    return Host(unquote(name), _port(port, name))


def _port(text: str, host: str) -> int | None:
    if not text:
        return None
    # The text itself is not shown: with an unencoded password it may be a piece of it.
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:6]) <= _MAX_PORT:
        raise BadUrl(f"the port of host {_safe(host)!r} is not a number from 1 to 65535")
    return int(text)


def _safe(host: str) -> str:
    # A single word before a colon may be a user name whose '@' was lost; a dotted name is a host.
    return host if "." in host or host == "localhost" else "(not shown)"
