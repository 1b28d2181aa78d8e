"""Where each Google API is: its own address, or the one that gcloud's override variables name. Pure but for `os.environ`."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentbreeder_core.errors import ConfigError

OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
"""gcloud's own variables (`gcloud topic endpoint-override`); Google's Python libraries do not read them (facts, section 7)."""
ADDRESSES: dict[str, str] = {
    "sql": "https://sqladmin.googleapis.com",
    "redis": "https://redis.googleapis.com",
    "secretmanager": "https://secretmanager.googleapis.com",
    "servicenetworking": "https://servicenetworking.googleapis.com",
    "compute": "https://compute.googleapis.com",
    "cloudresourcemanager": "https://cloudresourcemanager.googleapis.com",
    "serviceusage": "https://serviceusage.googleapis.com",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`url` has no slash at its end. `local` means loopback: then, and only then, no credentials are sent."""

    url: str
    local: bool = False


def endpoint_of(service: str, environ: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint of a service. Raises `ConfigError` for an override that would send credentials unencrypted."""
    variable = OVERRIDE + service.upper()
    given = (os.environ if environ is None else environ).get(variable, "").strip()
    if not given:
        return Endpoint(url=ADDRESSES[service])
    parts = urlsplit(given)
    local = _is_loopback(parts.hostname or "")
    if not parts.hostname or parts.scheme not in ("http", "https") or (parts.scheme == "http" and not local):
        raise ConfigError(
            f"{variable} must be an https URL, or http on this machine (127.0.0.1) for a sandbox",
            hint=f"unset {variable}, or: agentbreeder sandbox --cloud gcp",
        )
    return Endpoint(url=given.rstrip("/"), local=local)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
