"""RDS for PostgreSQL instance: private, encrypted, one major version, never enrolled in paid Extended Support."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import CloudError, ResourceFailed

from ...engine.kinds import AlreadyExists, Busy, Found, NotFound, Target
from ...engine.run import NotYet, Run
from .base import AwsKind
from .tags import from_aws, to_aws
from .vault import read_secret

_FAILED = frozenset(
    {
        "failed",
        "incompatible-network",
        "incompatible-option-group",
        "incompatible-parameters",
        "incompatible-restore",
        "incompatible-credentials",
        "inaccessible-encryption-credentials",
        "restore-error",
        "storage-full",
        "stopped",
        "deleting",
    }
)

_NO_SNAPSHOT = frozenset({"failed", "incompatible-restore", "incompatible-network"})


class DbInstance(AwsKind):
    """Inputs: see `aws.steps`. Outputs: `host`, `port`, `database`, `engine_version`; `final_snapshot` at teardown."""

    delete_timeout_s = 3600.0

    def find(self, target: Target, run: Run) -> Found | None:
        """By identifier; its tags come in the same answer."""
        try:
            instance = self._describe(target)
        except NotFound:
            return None
        state = "deleting" if instance["DBInstanceStatus"] == "deleting" else "present"
        name = instance["DBInstanceIdentifier"]
        return Found(physical_id=name, tags=from_aws(instance.get("TagList")), state=state)  # type: ignore[arg-type]

    def create(self, target: Target, run: Run) -> str:
        """The password is read from the vault, where an earlier step put it, and goes nowhere else."""
        values = read_secret(self._aws, target.inputs["secret_arn"])
        i = target.inputs
        self._aws.call(
            self._aws.rds.create_db_instance,
            DBInstanceIdentifier=target.name,
            Engine="postgres",
            EngineVersion=i["engine_version"],
            EngineLifecycleSupport="open-source-rds-extended-support-disabled",
            DBInstanceClass=i["instance_class"],
            AllocatedStorage=i["storage_gib"],
            StorageType="gp3",
            StorageEncrypted=True,
            DBName=i["database"],
            MasterUsername=values["username"].reveal(),
            MasterUserPassword=values["password"].reveal(),
            DBSubnetGroupName=i["subnet_group"],
            VpcSecurityGroupIds=[i["security_group_id"]],
            PubliclyAccessible=False,
            MultiAZ=i["multi_az"],
            BackupRetentionPeriod=i["backup_days"],
            DeletionProtection=i["deletion_protection"],
            CopyTagsToSnapshot=True,
            AutoMinorVersionUpgrade=True,
            Tags=to_aws(target.owner),
        )
        return target.name

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Typically 5 to 15 minutes. The endpoint appears only near the end."""

        def look() -> dict[str, Any] | NotYet:
            instance = self._describe(target)
            status, endpoint = instance["DBInstanceStatus"], instance.get("Endpoint") or {}
            if status in _FAILED:
                raise ResourceFailed(
                    f"{target.step_id}: RDS reports {target.name} as {status!r}",
                    hint="see its events in the RDS console; agentbreeder teardown removes it",
                )
            if status != "available" or not endpoint.get("Address"):
                return NotYet(str(status))
            return {
                "host": endpoint["Address"],
                "port": endpoint["Port"],
                "database": target.inputs["database"],
                "engine_version": instance.get("EngineVersion", ""),
            }

        return run.until(look)

    def protection(self, target: Target, run: Run) -> str:
        """RDS refuses to delete while DeletionProtection is on; it is never switched off silently."""
        if not self._describe(target).get("DeletionProtection"):
            return ""
        return (
            f"RDS instance {target.name} has deletion protection on; if it may go: aws rds modify-db-instance "
            f"--db-instance-identifier {target.name} --no-deletion-protection --apply-immediately"
        )

    def drift(self, target: Target, run: Run) -> str:
        """Compares status, class, storage, and that it stayed private."""
        instance = self._describe(target)
        wanted = {
            "DBInstanceClass": target.inputs["instance_class"],
            "AllocatedStorage": target.inputs["storage_gib"],
            "MultiAZ": target.inputs["multi_az"],
            "PubliclyAccessible": False,
        }
        changed = [f"{k} is {instance.get(k)!r}, made as {v!r}" for k, v in wanted.items() if instance.get(k) != v]
        if instance["DBInstanceStatus"] in _FAILED:
            changed.insert(0, f"status is {instance['DBInstanceStatus']!r}")
        return "; ".join(changed)

    def final_outputs(self, target: Target, run: Run) -> dict[str, Any]:
        """Choose and record the final snapshot's name before the delete, so that a rerun uses the same one."""
        outputs = dict(target.outputs)
        if run.shared.final_snapshot and not outputs.get("final_snapshot"):
            base = f"{target.name}-final-{run.clock.now():%Y%m%d%H%M%S}"
            outputs["final_snapshot"] = self._free_snapshot_name(base)
        if outputs.get("final_snapshot") and self._describe(target)["DBInstanceStatus"] in _NO_SNAPSHOT:
            self._without_snapshot(target, run, outputs)
        return outputs

    def _without_snapshot(self, target: Target, run: Run, outputs: dict[str, Any]) -> None:
        """In these states RDS deletes only without a snapshot: said once, and done when it is not asked for again."""
        if run.shared.final_snapshot:
            raise CloudError(
                f"{target.step_id}: {target.name} is in a state in which RDS takes no final snapshot",
                hint="agentbreeder teardown without --final-snapshot deletes it, with its automated backups",
            )
        outputs.pop("final_snapshot")

    def delete(self, target: Target, run: Run) -> None:
        """Deletes the automated backups too; a final snapshot, when asked for, stays and is reported."""
        snapshot = target.outputs.get("final_snapshot")
        how: dict[str, Any] = {"FinalDBSnapshotIdentifier": snapshot} if snapshot else {"SkipFinalSnapshot": True}
        try:
            self._aws.call(self._aws.rds.delete_db_instance, DBInstanceIdentifier=target.physical_id, **how)
        except AlreadyExists as e:
            raise CloudError(f"{target.step_id}: a snapshot named {snapshot} exists already") from e
        except Busy:
            # "already being deleted" is success; any other state has to pass first.
            if self._describe(target)["DBInstanceStatus"] != "deleting":
                raise

    def wait_gone(self, target: Target, run: Run) -> None:
        """Minutes; longer with a final snapshot."""

        def look() -> bool | NotYet:
            try:
                return NotYet(str(self._describe(target)["DBInstanceStatus"]))
            except NotFound:
                return True

        run.until(look)

    def _describe(self, target: Target) -> dict[str, Any]:
        name = target.physical_id or target.name
        answer = self._aws.call(self._aws.rds.describe_db_instances, DBInstanceIdentifier=name)
        instance: dict[str, Any] = answer["DBInstances"][0]
        return instance

    def _free_snapshot_name(self, base: str) -> str:
        name, number = base, 1
        while True:
            try:
                self._aws.call(self._aws.rds.describe_db_snapshots, DBSnapshotIdentifier=name)
            except NotFound:
                return name
            number += 1
            name = f"{base}-{number}"
