"""Where a host is: this machine, a developer's machine, or elsewhere. Judged on the parsed host alone."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Literal

HostKind = Literal["name", "ipv4", "ipv6", "socket"]
Locality = Literal["this-machine", "dev-machine", "single-label", "remote", "socket", "cloudsql-socket"]

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_DEV_NAMES = frozenset(
    {
        "host.docker.internal",
        "gateway.docker.internal",
        "kubernetes.docker.internal",
        "host.containers.internal",
        "host.minikube.internal",
        "host.lima.internal",
        "host.orb.internal",
    }
)


@dataclass(frozen=True, slots=True)
class Host:
    """`name` is without brackets and percent-encoding; for a Unix socket it is the path. `port` None means the default."""

    name: str
    port: int | None = None

    @property
    def kind(self) -> HostKind:
        if self.name.startswith("/"):
            return "socket"
        if _ipv4(self.name) is not None:
            return "ipv4"
        return "ipv6" if ":" in self.name else "name"


def locality(host: Host) -> Locality:
    """Where this host is, as seen by a container in a real cloud. Pure: no name is looked up."""
    if host.kind == "socket":
        return "cloudsql-socket" if host.name.startswith("/cloudsql/") else "socket"
    address = _address(host.name)
    if address is not None:
        mapped = getattr(address, "ipv4_mapped", None) or address
        return "this-machine" if mapped.is_loopback or mapped.is_unspecified else "remote"
    name = host.name.lower().rstrip(".")
    if name == "" or name in _LOCAL_NAMES or name.endswith(".localhost"):
        return "this-machine"
    if name in _DEV_NAMES:
        return "dev-machine"
    return "remote" if "." in name else "single-label"


def is_local(host: Host) -> bool:
    """Whether a container elsewhere could not reach it: this machine, a developer's, or a socket file."""
    return locality(host) in ("this-machine", "dev-machine", "socket")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if ":" in name:
        try:
            return ipaddress.IPv6Address(name.split("%", maxsplit=1)[0])
        except ValueError:
            return None
    return _ipv4(name)


def _ipv4(name: str) -> ipaddress.IPv4Address | None:
    # inet_aton also reads the spellings that resolvers accept: 127.1, 2130706433, 0x7f.1, 0177.0.0.1
    if not name[:1].isdigit():
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name.rstrip(".")))
    except OSError:
        return None
