"""Cloud SQL for PostgreSQL instance: private address only, TLS required, the edition sent so that Google picks none."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import CloudError, ResourceFailed

from ...engine.kinds import AlreadyExists, Busy, Found, NameReserved, NotFound, Target
from ...engine.run import NotYet, Run
from ..clients import GcpClients
from .base import GcpKind
from .labels import from_labels, to_labels
from .operations import BELIEVE_ERROR_AFTER_S, Operations
from .sql_api import SqlApi

PORT = 5432
FINAL_BACKUP_DAYS = 30
_GONE_WRONG = frozenset({"FAILED", "SUSPENDED"})


class SqlInstance(GcpKind):
    """Inputs: see `gcp.steps`. Outputs: `name`, `host` (the private address), `port`, `connection_name`,
    `ca_pem` (public); `final_snapshot` at teardown."""

    delete_timeout_s = 3600.0

    def __init__(self, clients: GcpClients) -> None:
        super().__init__(clients)
        self._sql = SqlApi(clients)
        self._operations = Operations(self._sql.ask)

    def find(self, target: Target, run: Run) -> Found | None:
        """By name; its labels come in the same answer."""
        try:
            instance = self._get(target)
        except NotFound:
            return None
        labels = from_labels(instance.get("settings", {}).get("userLabels"), target.owner)
        state = "deleting" if instance.get("state") == "PENDING_DELETE" else "present"
        return Found(physical_id=str(instance["name"]), tags=labels, state=state)  # type: ignore[arg-type]

    def create(self, target: Target, run: Run) -> str:
        """Without an edition Google would choose the dear one for PostgreSQL 16 and later (facts, section 4.1)."""
        try:
            operation = self._sql.insert_instance(target.inputs["project"], _body(target))
        except AlreadyExists as e:
            if self.find(target, run) is None:
                # Nothing carries the name, and it is not free: a deleted instance holds it, for up to a week.
                raise NameReserved(f"{target.step_id}: {e.detail}") from e
            raise
        self._operations.started(target.name, str(operation["name"]))
        return target.name

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Typically 5 to 15 minutes. The instance decides, whatever its operation says."""

        def look() -> dict[str, Any] | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("PENDING_CREATE")
            try:
                instance = self._get(target)
            except NotFound:
                return self._not_there(target, run)
            state = str(instance.get("state", ""))
            if state in _GONE_WRONG:
                raise self._failure(target, state)
            address = _private_address(instance)
            if state == "RUNNABLE" and address:
                return _outputs(instance, address)
            return self._unless_failed(target, run, state)

        return run.until(look)

    def protection(self, target: Target, run: Run) -> str:
        """Google refuses to delete while it is on; it is never switched off silently."""
        settings = self._get(target).get("settings", {})
        if not settings.get("deletionProtectionEnabled"):
            return ""
        return (
            f"Cloud SQL instance {target.name} has deletion protection on; if it may go: gcloud sql instances patch "
            f"{target.name} --project {target.inputs['project']} --no-deletion-protection"
        )

    def drift(self, target: Target, run: Run) -> str:
        """Compares state, tier, storage, availability, and that it stayed private."""
        instance = self._get(target)
        settings = instance.get("settings", {})
        wanted = {
            "state": (instance.get("state"), "RUNNABLE"),
            "tier": (settings.get("tier"), target.inputs["instance_class"]),
            "dataDiskSizeGb": (str(settings.get("dataDiskSizeGb")), str(target.inputs["storage_gib"])),
            "availabilityType": (settings.get("availabilityType"), _availability(target)),
            "ipv4Enabled": (bool(settings.get("ipConfiguration", {}).get("ipv4Enabled")), False),
        }
        return "; ".join(f"{k} is {is_!r}, made as {was!r}" for k, (is_, was) in wanted.items() if is_ != was)

    def final_outputs(self, target: Target, run: Run) -> dict[str, Any]:
        """Choose and record what the final backup is called before the delete, so that a rerun uses the same."""
        outputs = dict(target.outputs)
        if run.shared.final_snapshot and not outputs.get("final_snapshot"):
            outputs["final_snapshot"] = f"{target.name}-final-{run.clock.now():%Y%m%d%H%M%S}"
        return outputs

    def delete(self, target: Target, run: Run) -> None:
        """With its databases, users and backups; a final backup, when asked for, stays for 30 days."""
        kept = target.outputs.get("final_snapshot")
        how: dict[str, Any] = {}
        if kept:
            how = {"enableFinalBackup": "true", "finalBackupTtlDays": FINAL_BACKUP_DAYS, "finalBackupDescription": kept}
        try:
            operation = self._sql.delete_instance(target.inputs["project"], target.physical_id, **how)
            self._operations.started(target.physical_id, str(operation["name"]))
        except Busy:
            # "Already being deleted" is success; any other operation has to end first.
            if self._get(target).get("state") != "PENDING_DELETE":
                raise

    def wait_gone(self, target: Target, run: Run) -> None:
        """Some minutes; longer with a final backup."""

        def look() -> bool | NotYet:
            if self._operations.still_running(target, run):
                return NotYet("PENDING_DELETE")
            try:
                state = str(self._get(target).get("state", ""))
            except NotFound:
                return True
            self._operations.raise_error_of(target.physical_id)
            return NotYet(state)

        run.until(look)

    def _get(self, target: Target) -> dict[str, Any]:
        return self._sql.get_instance(target.inputs["project"], target.physical_id or target.name)

    def _unless_failed(self, target: Target, run: Run, state: str) -> NotYet:
        ended = self._operations.error_of(target.physical_id)
        if ended is None:
            return NotYet(state)
        if run.clock.monotonic() - ended.at > BELIEVE_ERROR_AFTER_S:
            raise self._failure(target, state)
        return NotYet(f"{state}; its operation ended with an error, but it may come up all the same")

    def _not_there(self, target: Target, run: Run) -> NotYet:
        if run.in_grace():
            return NotYet("waiting for it to become visible")
        if self._operations.error_of(target.physical_id):
            raise self._failure(target, "not there")
        raise NotFound(f"Cloud SQL instance {target.name} is not there")

    def _failure(self, target: Target, state: str) -> CloudError:
        ended = self._operations.error_of(target.physical_id)
        if ended is not None:
            return ended.error
        return ResourceFailed(
            f"{target.step_id}: Cloud SQL reports {target.name} as {state}",
            hint="see its operations in the Google Cloud console; agentbreeder teardown removes it",
        )


def _body(target: Target) -> dict[str, Any]:
    i = target.inputs
    return {
        "name": target.name,
        "region": i["region"],
        "databaseVersion": f"POSTGRES_{i['engine_version']}",
        "settings": {
            "tier": i["instance_class"],
            "edition": "ENTERPRISE",
            "availabilityType": _availability(target),
            "dataDiskSizeGb": str(i["storage_gib"]),
            "dataDiskType": "PD_SSD",
            "storageAutoResize": False,
            "ipConfiguration": {"ipv4Enabled": False, "privateNetwork": i["network"], "sslMode": "ENCRYPTED_ONLY"},
            "backupConfiguration": {
                "enabled": True,
                "backupRetentionSettings": {"retentionUnit": "COUNT", "retainedBackups": i["backup_days"]},
            },
            "userLabels": to_labels(target.owner),
            "deletionProtectionEnabled": i["deletion_protection"],
        },
    }


def _availability(target: Target) -> str:
    return "REGIONAL" if target.inputs["multi_az"] else "ZONAL"


def _private_address(instance: dict[str, Any]) -> str:
    """By type, never by position: a public instance lists others first (facts, section 3.1)."""
    private = (a["ipAddress"] for a in instance.get("ipAddresses", ()) if a.get("type") == "PRIVATE")
    return str(next(private, ""))


def _outputs(instance: dict[str, Any], address: str) -> dict[str, Any]:
    return {
        "name": str(instance["name"]),
        "host": address,
        "port": PORT,
        "connection_name": str(instance.get("connectionName", "")),
        "ca_pem": str(instance.get("serverCaCert", {}).get("cert", "")),
    }
