"""Key Vault of one agent: RBAC, soft delete of seven days. Made only when the user names no vault."""

from __future__ import annotations

from typing import Any

from ...engine.kinds import AlreadyExists, Found, NameReserved, NotFound, Target
from ...engine.run import NotYet, Run
from ..errors import GloballyTaken, NotPermitted, Recoverable
from .base import ArmKind, name_taken
from .tags import from_azure, to_azure

RETENTION_DAYS = 7  # the shortest that Key Vault allows; soft delete itself cannot be switched off


class KeyVault(ArmKind):
    """Inputs: `resource_group`, `location`, `tenant_id`. Outputs: `vault_id`, `vault_uri` (without a slash at its end).

    A deleted vault of ours is recovered with the secrets in it. Only `run.shared.purge` gives its name free at once.
    """

    arm_type = "Microsoft.KeyVault/vaults"

    def read(self, target: Target) -> dict[str, Any]:
        """The vault, not what is in it."""
        return self._az.document(self._az.key_vault.vaults.get, target.inputs["resource_group"], target.name)

    def find(self, target: Target, run: Run) -> Found | None:
        """By name; a deleted one is `scheduled` until it is purged, and with `purge` it still has to go."""
        found = super().find(target, run)
        if found:
            return found
        try:
            deleted = (
                self._az.document(self._az.key_vault.vaults.get_deleted, target.name, target.inputs["location"]).get(
                    "properties"
                )
                or {}
            )
        except (NotFound, NotPermitted):
            # Deleted vaults are listed at the subscription, where a role on the resource group does not reach. Then the
            # create is refused with its own code.
            return None
        return Found(
            physical_id=str(deleted.get("vaultId") or self.id_of(target)),
            tags=from_azure(deleted.get("tags")),
            state="present" if run.shared.purge else "scheduled",
        )

    def create(self, target: Target, run: Run) -> str:
        """RBAC is sent although it is the default: older API versions have another one (facts, section 6)."""
        self.refuse_taken(target)
        try:
            self._put(target, {})
        except Recoverable as e:
            return self._recover(target, run, e)
        except GloballyTaken as e:
            raise name_taken(target, run, e) from e
        return self.id_of(target)

    def _recover(self, target: Target, run: Run, refused: AlreadyExists) -> str:
        found = self.find(target, run)
        if found is None or found.state != "scheduled":
            raise name_taken(target, run, refused) from refused
        if not target.owner.owns(found.tags):
            raise NameReserved(f"{target.step_id}: a deleted vault holds the name {target.name}") from refused
        self._put(target, {"createMode": "recover"})
        return self.id_of(target)

    def _put(self, target: Target, extra: dict[str, Any]) -> None:
        body = {
            "location": target.inputs["location"],
            "tags": to_azure(target.owner),
            "properties": {
                "tenantId": target.inputs["tenant_id"],
                "sku": {"family": "A", "name": "standard"},
                "enableRbacAuthorization": True,
                "softDeleteRetentionInDays": RETENTION_DAYS,
                **extra,
            },
        }
        create, group = self._az.key_vault.vaults.begin_create_or_update, target.inputs["resource_group"]
        self._az.begin(create, self.id_of(target), group, target.name, body)

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """Its address as the service reports it."""
        return {"vault_id": self.id_of(target), "vault_uri": str(document["properties"]["vaultUri"]).rstrip("/")}

    def start_delete(self, target: Target) -> None:
        """At once, with its secrets; the name stays held."""
        self._az.call(self._az.key_vault.vaults.delete, target.inputs["resource_group"], target.name)

    def wait_gone(self, target: Target, run: Run) -> None:
        """At once; with `purge` some seconds more, and then nobody can recover it."""
        super().wait_gone(target, run)
        if run.shared.purge:
            self._purge(target, run)

    def _purge(self, target: Target, run: Run) -> None:
        vaults, location = self._az.key_vault.vaults, target.inputs["location"]
        purged = f"{self.id_of(target)}/purge"
        try:
            self._az.begin(vaults.begin_purge_deleted, purged, target.name, location)
        except NotFound:
            return

        def look() -> bool | NotYet:
            note = self._az.follow(purged)
            if note:
                return NotYet("being purged")
            try:
                self._az.document(vaults.get_deleted, target.name, location)
            except (NotFound, NotPermitted):
                return True
            return NotYet("being purged")

        run.until(look)
