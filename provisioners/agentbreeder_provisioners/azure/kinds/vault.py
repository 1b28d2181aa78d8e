"""Reading and writing one secret of a Key Vault. The values never leave this module but as `Secret`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret

from ...engine.kinds import Target
from ...engine.run import NotYet, Run
from ..clients import AzureClients
from ..errors import DeniedByRbac
from .tags import to_azure

PASSWORD, URL = "password", "connection-url"
"""Content types: an earlier version of a database's secret holds the password, the newest one the URL."""

_RBAC_PATIENCE_S = 600.0  # "allow several minutes" (facts, section 6)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One version of a secret. `secret_id` is its full address, with the version."""

    secret_id: str
    value: Secret = field(repr=False)
    tags: dict[str, str]
    content_type: str


def parts_of(secret_id: str) -> tuple[str, str, str]:
    """(vault's address, name, version or "") of `https://VAULT/secrets/NAME/VERSION`. Raises `CloudError`."""
    vault, secrets, rest = secret_id.partition("/secrets/")
    name, _, version = rest.partition("/")
    if not secrets or not name or not vault.startswith("https://"):
        raise CloudError(f"{secret_id!r} is no address of a Key Vault secret")
    return vault, name, version


def read_version(az: AzureClients, secret_id: str) -> Stored:
    """The version named by the address, the newest one when it names none. Raises `NotFound` when it is absent."""
    vault, name, version = parts_of(secret_id)
    found = az.call(az.secrets(vault).get_secret, name, version or None)
    value = Secret(str(found.value or ""))
    az.hide(value)
    properties = found.properties
    return Stored(
        secret_id=str(found.id),
        value=value,
        tags=dict(properties.tags or {}),
        content_type=str(properties.content_type or ""),
    )


def write_version(az: AzureClients, vault: str, target: Target, name: str, value: Secret, content_type: str) -> str:
    """Put a new version and return its address. Tags belong to a version, so each one carries them.

    Not retried: a lost reply is found out by reading. Raises `Recoverable` while a deleted secret holds the name,
    `Busy` while one is on its way there or back.
    """
    az.hide(value)
    set_secret = az.secrets(vault).set_secret
    tags = to_azure(target.owner)
    done = az.call(set_secret, name, value.reveal(), retry=False, tags=tags, content_type=content_type)
    return str(done.id)


def newest_password(az: AzureClients, vault: str, name: str) -> Stored | None:
    """The newest version that holds a password; None when none does."""

    def list_versions() -> list[Any]:
        return list(az.secrets(vault).list_properties_of_secret_versions(name))

    versions = [v for v in az.call(list_versions) if v.content_type == PASSWORD and v.enabled]
    if not versions:
        return None
    return read_version(az, str(max(versions, key=lambda v: v.created_on).id))


def patiently(az: AzureClients, target: Target, run: Run, ask: Callable[[], T | NotYet]) -> T:
    """Wait with `ask`; a refusal for want of a role is asked again for ten minutes after we assigned it, and only then.

    Blocks up to the deadline. Credentials are renewed, because a token from before may not know of the role.
    """

    def attempt() -> T | NotYet:
        try:
            return ask()
        except DeniedByRbac:
            if not _just_granted(target, run):
                raise
            az.sign_in_again()
            return NotYet("waiting until the role assignment takes effect")

    return run.until(attempt)


def _just_granted(target: Target, run: Run) -> bool:
    try:
        granted = datetime.fromisoformat(str(target.inputs.get("granted_at") or ""))
    except ValueError:
        return False
    return (run.clock.now() - granted).total_seconds() < _RBAC_PATIENCE_S
