"""Versions of a Secret Manager secret. The values never leave this module but as `Secret`.

A version read by its number is strongly consistent right after it was added; `latest` and lists may lag for minutes
(facts, section 4.4). So every reference that is recorded carries the number.
"""

from __future__ import annotations

from agentbreeder_core.secret import Secret

from ..clients import GcpClients


def read_version(gcp: GcpClients, version: str) -> Secret:
    """The payload of `projects/N/secrets/X/versions/7`. Raises `NotFound`, or `AuthError` which may mean the same."""
    client = gcp.secretmanager
    answer = gcp.gapic("secretmanager.versions.access", client.access_secret_version, {"name": version})
    value = Secret(answer.payload.data.decode())
    gcp.caller.hide(value)
    return value


def add_version(gcp: GcpClients, secret: str, value: Secret) -> str:
    """Add a version and return its full name, with the number."""
    gcp.caller.hide(value)
    client = gcp.secretmanager
    request = {"parent": secret, "payload": {"data": value.reveal().encode()}}
    return str(gcp.gapic("secretmanager.versions.add", client.add_secret_version, request).name)


def versions_of(gcp: GcpClients, secret: str) -> list[str]:
    """Full names of the enabled versions, the oldest first. May miss the newest for a while."""
    client = gcp.secretmanager
    request = {"parent": secret, "filter": "state:ENABLED"}
    listed = [v.name for v in gcp.gapic("secretmanager.versions.list", client.list_secret_versions, request)]
    return sorted((str(n) for n in listed), key=lambda n: int(n.rpartition("/")[2]))
