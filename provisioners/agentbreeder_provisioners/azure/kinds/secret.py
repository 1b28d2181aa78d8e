"""Key Vault secret: the password of a server that is about to be made, or a URL the user wrote."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret, new_password

from ...engine.kinds import AlreadyExists, Busy, Found, NameReserved, NotFound, Target, Transient
from ...engine.run import NotYet, Run
from ..errors import BeingDeleted, Recoverable
from .base import AzureKind
from .tags import from_azure
from .vault import PASSWORD, URL, Stored, newest_password, patiently, read_version, write_version

_VAULT_API = "2024-11-01"


class VaultSecret(AzureKind):
    """Inputs: `vault_id`, `vault_uri`, `granted_at`, and `value_of` (the id of a URL the run was given, "" for a fresh
    password). Outputs: `secret_id` (with the version that holds the value), `name`, `scope`, `vault_uri`.

    A deleted secret of ours is recovered and set; its name is held for the vault's whole retention time.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """By name in the vault; one that is deleted and can be recovered is `scheduled`."""
        if not target.inputs.get("vault_uri"):
            return None
        return patiently(self._az, target, run, lambda: self._look(target))

    def _look(self, target: Target) -> Found | None:
        secret_id = self._id(target)
        try:
            return Found(physical_id=secret_id, tags=from_azure(read_version(self._az, secret_id).tags))
        except NotFound:
            return self._deleted(target)
        except Transient:
            # A vault that is gone has no address any more, which looks like a network at fault.
            if self._vault_is_gone(target):
                return None
            raise

    def _deleted(self, target: Target) -> Found | None:
        try:
            deleted = self._az.call(self._vault(target).get_deleted_secret, target.name)
        except NotFound:
            return None
        tags = from_azure(deleted.properties.tags)
        return Found(physical_id=self._id(target), tags=tags, state="scheduled")

    def _vault_is_gone(self, target: Target) -> bool:
        vault_id = str(target.inputs.get("vault_id") or "")
        try:
            self._az.request("GET", vault_id, api_version=_VAULT_API)
        except NotFound:
            return True
        return False

    def create(self, target: Target, run: Run) -> str:
        """The value is in the vault before the server that uses it exists, so a crash in between loses no password."""
        value, content_type = self.value(target, run)
        try:
            return patiently(self._az, target, run, lambda: self._put(target, value, content_type))
        except Recoverable:
            self._recover(target, run)
            self._write(target, value, content_type)
            return self._id(target)

    def _put(self, target: Target, value: Secret, content_type: str) -> str:
        try:
            read_version(self._az, self._id(target))
        except NotFound:
            self._write(target, value, content_type)
            return self._id(target)
        raise AlreadyExists(f"secret {target.name} exists")

    def _write(self, target: Target, value: Secret, content_type: str) -> str:
        return write_version(self._az, str(target.inputs["vault_uri"]), target, target.name, value, content_type)

    def _recover(self, target: Target, run: Run) -> None:
        found = self._deleted(target)
        if found is None:
            raise Busy(f"secret {target.name} is on its way to where deleted ones are kept")
        if not target.owner.owns(found.tags):
            raise NameReserved(f"{target.step_id}: a deleted secret holds the name {target.name}")
        self._az.call(self._vault(target).begin_recover_deleted_secret, target.name)

        def back() -> bool | NotYet:
            try:
                read_version(self._az, self._id(target))
            except NotFound:
                return NotYet("being recovered")
            return True

        run.until(back, first_s=2.0)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """A password is made once; a URL is put again when it differs from what the vault holds."""
        stored = patiently(self._az, target, run, lambda: read_version(self._az, self._id(target)))
        if self._makes_password(target):
            secret_id = self._password_id(target, run, stored)
        else:
            wanted, content_type = self.value(target, run)
            secret_id = stored.secret_id if stored.value == wanted else self._write(target, wanted, content_type)
        return {
            "secret_id": secret_id,
            "name": target.name,
            "scope": f"{target.inputs['vault_id']}/secrets/{target.name}",
            "vault_uri": target.inputs["vault_uri"],
        }

    def _password_id(self, target: Target, run: Run, stored: Stored) -> str:
        """The newest version may hold the URL already, when an earlier run or another state got that far."""
        if stored.content_type == PASSWORD:
            return stored.secret_id
        vault = str(target.inputs["vault_uri"])
        found = run.until(lambda: newest_password(self._az, vault, target.name))
        if found is None:
            raise CloudError(
                f"the secret {target.name} holds no password any more", hint="restore an earlier version of it"
            )
        return found.secret_id

    def delete(self, target: Target, run: Run) -> None:
        """For the vault's retention time it can be recovered, and costs nothing."""
        try:
            self._az.call(self._vault(target).begin_delete_secret, target.name)
        except (BeingDeleted, Recoverable):
            return  # an earlier call did it, and its reply was lost

    def wait_gone(self, target: Target, run: Run) -> None:
        """Until it is among the deleted ones: before that, its name can be neither used nor recovered."""

        def look() -> bool | NotYet:
            found = self._look(target)
            return True if found is None or found.state == "scheduled" else NotYet("being deleted")

        run.until(look, first_s=2.0)

    def value(self, target: Target, run: Run) -> tuple[Secret, str]:
        """What to put, and its content type."""
        if self._makes_password(target):
            return new_password(), PASSWORD
        return run.shared.secrets[str(target.inputs["value_of"])], URL

    def _makes_password(self, target: Target) -> bool:
        return target.inputs.get("value_of") == ""

    def _vault(self, target: Target) -> Any:
        return self._az.secrets(str(target.inputs["vault_uri"]))

    def _id(self, target: Target) -> str:
        return f"{target.inputs['vault_uri']}/secrets/{target.name}"
