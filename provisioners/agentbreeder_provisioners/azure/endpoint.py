"""Where Azure is: Microsoft's own addresses, or a stand-in on this machine when one setting says so."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from agentbreeder_core.errors import ConfigError

VARIABLE = "AGENTBREEDER_AZURE_ENDPOINT"
MANAGEMENT_HOST = "management.azure.com"
MANAGEMENT = f"https://{MANAGEMENT_HOST}"


def endpoint_of(environ: Mapping[str, str]) -> str:
    """`http://ADDRESS:PORT` of a stand-in that every request goes to instead of Azure; "" for Azure itself.

    Raises `ConfigError` for anything but a loopback http address: with this setting no credentials are used.
    """
    text = environ.get(VARIABLE, "").strip().rstrip("/")
    if not text:
        return ""
    parts = urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme != "http" or parts.path or parts.query or not _loopback(host):
        raise ConfigError(
            f"{VARIABLE} must be the http address of a stand-in on this machine, such as http://127.0.0.1:4000",
            hint=f"unset {VARIABLE} to reach Azure",
        )
    return f"http://{parts.netloc}"


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
