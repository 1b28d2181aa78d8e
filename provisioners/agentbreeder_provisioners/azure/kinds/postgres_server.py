"""Azure Database for PostgreSQL flexible server: private, inside the delegated subnet, password login only."""

from __future__ import annotations

from typing import Any, ClassVar

from ...engine.kinds import Target
from ...engine.run import Run
from ..errors import GloballyTaken
from .base import ArmKind, name_taken
from .tags import to_azure
from .vault import read_version

PORT = 5432  # the service reports a host only


class PostgresServer(ArmKind):
    """Inputs: see `azure.store_steps`. Outputs: `name`, `host`, `port`."""

    arm_type = "Microsoft.DBforPostgreSQL/flexibleServers"
    ready_states = frozenset({"Ready"})
    failed_states: ClassVar[frozenset[str]] = frozenset({"Disabled", "Stopped", "Stopping", "Inaccessible"})
    delete_timeout_s = 3600.0

    def read(self, target: Target) -> dict[str, Any]:
        """The password is never part of it (facts, section 4)."""
        return self._az.document(self._az.postgres.servers.get, target.inputs["resource_group"], target.name)

    def state_of(self, document: dict[str, Any]) -> str:
        """A server has a state of its own."""
        return str((document.get("properties") or {}).get("state") or "")

    def create(self, target: Target, run: Run) -> str:
        """The password is read from the vault, where an earlier step put it, and goes nowhere else."""
        self.refuse_taken(target)
        server_id = self.id_of(target)
        password = read_version(self._az, str(target.inputs["password_id"])).value
        body = self._body(target, password.reveal())
        try:
            self._az.begin(
                self._az.postgres.servers.begin_create_or_update,
                server_id,
                target.inputs["resource_group"],
                target.name,
                body,
            )
        except GloballyTaken as e:
            raise name_taken(target, run, e) from e
        return server_id

    def _body(self, target: Target, password: str) -> dict[str, Any]:
        i = target.inputs
        return {
            "location": i["location"],
            "tags": to_azure(target.owner),
            "sku": {"name": i["instance_class"], "tier": i["tier"]},
            "properties": {
                "createMode": "Create",
                "version": i["engine_version"],
                "administratorLogin": i["username"],
                "administratorLoginPassword": password,
                "authConfig": {"activeDirectoryAuth": "Disabled", "passwordAuth": "Enabled"},
                "storage": {"storageSizeGB": i["storage_gib"]},
                "backup": {"backupRetentionDays": i["backup_days"], "geoRedundantBackup": "Disabled"},
                "highAvailability": {"mode": "ZoneRedundant" if i["multi_az"] else "Disabled"},
                "network": {
                    "publicNetworkAccess": "Disabled",
                    "delegatedSubnetResourceId": i["subnet_id"],
                    "privateDnsZoneArmResourceId": i["zone_id"],
                },
            },
        }

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """The host as the service reports it, also for a private server."""
        host = str(document["properties"]["fullyQualifiedDomainName"])
        return {"name": target.name, "host": host, "port": PORT}

    def start_delete(self, target: Target) -> None:
        """With its databases and its backups."""
        servers = self._az.postgres.servers
        self._az.begin(servers.begin_delete, self.id_of(target), target.inputs["resource_group"], target.name)

    def wanted(self, target: Target) -> dict[str, Any]:
        """Size, storage, availability, and that it stayed private."""
        return {
            "sku": target.inputs["instance_class"],
            "storageSizeGB": target.inputs["storage_gib"],
            "highAvailability": "ZoneRedundant" if target.inputs["multi_az"] else "Disabled",
            "publicNetworkAccess": "Disabled",
        }

    def settings(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same, as GET answers them."""
        p = document.get("properties") or {}
        return {
            "sku": (document.get("sku") or {}).get("name"),
            "storageSizeGB": (p.get("storage") or {}).get("storageSizeGB"),
            "highAvailability": (p.get("highAvailability") or {}).get("mode"),
            "publicNetworkAccess": (p.get("network") or {}).get("publicNetworkAccess"),
        }
