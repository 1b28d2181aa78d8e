"""A redis-py client from a URL: plain, TLS, Unix socket, Sentinel or Cluster."""

from __future__ import annotations

import inspect
import re
from typing import Any

from agentbreeder_core.hosts import Host
from agentbreeder_core.url import BackendUrl, BadUrl

from .errors import StoreMisconfigured, driver_missing

CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S = 5.0, 5.0
_PORT, _SENTINEL_PORT = 6379, 26379
_VERIFY = {"": "required", "required": "required", "optional": "optional", "none": "none"}
_NUMBERS = {
    "socket_timeout": float,
    "socket_connect_timeout": float,
    "max_connections": int,
    "db": int,
    "protocol": int,
}
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_ca_data")
_SWITCHES = ("cluster", "ssl_check_hostname")
_IGNORED = frozenset({"decode_responses", "encoding", "health_check_interval", "retry_on_timeout"})


def parse_redis(url: str) -> BackendUrl:
    """The parsed URL. Raises `StoreMisconfigured`, without any part of it in the message."""
    try:
        parsed = BackendUrl.parse(url)
    except BadUrl as e:
        raise StoreMisconfigured(f"the Redis URL cannot be used: {e}") from None
    if parsed.family != "redis":
        raise StoreMisconfigured(f"a {parsed.scheme}:// URL is no Redis URL")
    return parsed


def open_redis(url: str, *, ca_pem: str = "") -> Any:
    """A `redis.asyncio` client; makes no connection yet, and one per process is enough.

    `ca_pem` are the authorities of a server that signs for itself (Memorystore with TLS). They belong to this server
    alone, so its certificate is not compared with its name, which such servers do not put there.

    Nothing is repeated by the client itself, which would not say that it did: whoever sends a command knows whether a
    second one is safe. A command blocks at most 5 s, and so does connecting. Raises `StoreMisconfigured`, `DriverMissing`.
    """
    parsed = parse_redis(url)
    try:
        import redis.asyncio as aio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as e:
        raise driver_missing(e.name, "redis") from e
    options = {**_options(parsed), "retry": Retry(NoBackoff(), 0), **_without_notices(aio)}
    if ca_pem and parsed.tls:
        options.update(ssl_ca_data=ca_pem, ssl_check_hostname=False)
    cluster = options.pop("cluster", False)
    if parsed.username:
        options["username"] = parsed.username
    if parsed.password is not None:
        options["password"] = parsed.password.reveal()
    if "sentinel" in parsed.scheme:
        return _by_sentinel(aio, parsed, options)
    if cluster:
        options.pop("db", None)
        return aio.RedisCluster(
            host=parsed.hosts[0].name, port=parsed.hosts[0].port or _PORT, **_tls(parsed), **options
        )
    place = _place(parsed.hosts[0], parsed)
    return aio.Redis(**place, **_tls(parsed), **options)


def _without_notices(aio: Any) -> dict[str, Any]:
    """redis-py 8 waits for notices of maintenance by default, and then gives out connections whose end it has seen."""
    if "maint_notifications_config" not in inspect.signature(aio.Redis.__init__).parameters:
        return {}
    from redis.maint_notifications import MaintNotificationsConfig

    return {"maint_notifications_config": MaintNotificationsConfig(enabled=False)}


def _place(host: Host, parsed: BackendUrl) -> dict[str, Any]:
    database = _database(parsed)
    if parsed.scheme == "unix":
        return {"unix_socket_path": host.name, "db": database}
    return {"host": host.name, "port": host.port or _PORT, "db": database}


def _database(parsed: BackendUrl) -> int:
    named = next((v for k, v in parsed.query if k == "db"), parsed.database.rpartition("/")[2])
    if named and not re.fullmatch(r"[0-9]{1,6}", named, re.ASCII):
        raise StoreMisconfigured("the Redis URL's database must be a number, as in redis://host:6379/0")
    return int(named or 0)


def _tls(parsed: BackendUrl) -> dict[str, Any]:
    if not parsed.tls:
        return {}
    asked = next((v for k, v in parsed.query if k == "ssl_cert_reqs"), "")
    verify = _VERIFY.get(asked.lower().removeprefix("cert_"))
    if verify is None:
        raise StoreMisconfigured("ssl_cert_reqs in the Redis URL must be required, optional or none")
    return {"ssl": True, "ssl_cert_reqs": verify}


def _options(parsed: BackendUrl) -> dict[str, Any]:
    options: dict[str, Any] = {
        "socket_timeout": ANSWER_TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
    }
    for name, value in parsed.query:
        if name in _NUMBERS:
            options[name] = _number(name, value)
        elif name in _FILES:
            options[name] = value
        elif name in _SWITCHES:
            options[name] = value.lower() in ("true", "1", "yes")
        elif name not in _IGNORED and name not in ("ssl_cert_reqs", "ssl", "tls", "password", "username"):
            raise StoreMisconfigured(f"the Redis URL has a parameter {name!r} that is not known")
    options.pop("db", None)
    return options


def _number(name: str, value: str) -> Any:
    try:
        return _NUMBERS[name](value)
    except ValueError:
        raise StoreMisconfigured(f"{name} in the Redis URL must be a number") from None


def _by_sentinel(aio: Any, parsed: BackendUrl, options: dict[str, Any]) -> Any:
    """`redis+sentinel://:PASSWORD@host:26379,host:26379/SERVICE[/DB]`: the current master, found again after each
    failover."""
    service, _, database = parsed.database.partition("/")
    if not service:
        raise StoreMisconfigured("a Sentinel URL names its service: redis+sentinel://host:26379/mymaster/0")
    hosts = [(h.name, h.port or _SENTINEL_PORT) for h in parsed.hosts]
    timeouts = {k: options[k] for k in ("socket_timeout", "socket_connect_timeout")}
    sentinel = aio.Sentinel(hosts, sentinel_kwargs=timeouts, **_tls(parsed), **options)
    return sentinel.master_for(service, db=int(database) if database.isdigit() else 0)
