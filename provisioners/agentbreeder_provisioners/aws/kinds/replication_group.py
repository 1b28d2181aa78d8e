"""ElastiCache replication group of one node (Valkey or Redis), reachable only inside the VPC."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import ResourceFailed
from agentbreeder_resolver.url_build import make_redis_url

from ...engine.kinds import Busy, Found, NotFound, Target
from ...engine.run import NotYet, Run
from .base import AwsKind
from .tags import from_aws, to_aws
from .vault import read_secret

_UNREADABLE = "create-failed"


class ReplicationGroup(AwsKind):
    """Inputs: see `aws.steps`. Outputs: `host`, `port`, and `url` when no auth token protects it."""

    delete_timeout_s = 2700.0

    def find(self, target: Target, run: Run) -> Found | None:
        """By id. Tags can be read only while it is available, so this waits for a busy one instead of guessing."""
        return run.until(lambda: self._look(target))

    def _look(self, target: Target) -> Found | NotYet | None:
        try:
            group = self._describe(target)
            status, name = group["Status"], group["ReplicationGroupId"]
            if status == "deleting":
                return Found(physical_id=name, tags={}, state="deleting")
            answer = self._aws.call(self._aws.elasticache.list_tags_for_resource, ResourceName=group["ARN"])
        except NotFound:
            return None
        except Busy:
            return self._untagged(target, name, status)
        return Found(physical_id=name, tags=from_aws(answer.get("TagList")))

    def _untagged(self, target: Target, name: str, status: str) -> Found | NotYet:
        if status != _UNREADABLE:
            return NotYet(f"{status}; its tags can be read once it is available")
        if not target.physical_id:
            raise ResourceFailed(
                f"{target.step_id}: {name} is {status!r} and its tags cannot be read, so it may not be ours",
                hint="delete it in the ElastiCache console if it is, then run the same command again",
            )
        # Recorded with an id, so this agent's create was accepted: the record is the proof that tags cannot give.
        return Found(physical_id=name, tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """Valkey exists only as a replication group; one node is `NumCacheClusters=1` (facts, section 3)."""
        i = target.inputs
        params: dict[str, Any] = {}
        if i["engine_version"]:
            params["EngineVersion"] = i["engine_version"]
        if i["tls"]:
            params["AuthToken"] = read_secret(self._aws, i["secret_arn"])["password"].reveal()
        self._aws.call(
            self._aws.elasticache.create_replication_group,
            ReplicationGroupId=target.name,
            ReplicationGroupDescription=f"agentbreeder memory of {target.owner.agent}"[:255],
            Engine=i["engine"],
            CacheNodeType=i["instance_class"],
            NumCacheClusters=2 if i["multi_az"] else 1,
            AutomaticFailoverEnabled=i["multi_az"],
            MultiAZEnabled=i["multi_az"],
            CacheSubnetGroupName=i["subnet_group"],
            SecurityGroupIds=[i["security_group_id"]],
            TransitEncryptionEnabled=i["tls"],
            AtRestEncryptionEnabled=True,
            SnapshotRetentionLimit=i["backup_days"],
            Tags=to_aws(target.owner),
            **params,
        )
        return target.name

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Typically 5 to 15 minutes."""

        def look() -> dict[str, Any] | NotYet:
            group = self._describe(target)
            status = str(group["Status"])
            if status in (_UNREADABLE, "deleting"):
                raise ResourceFailed(
                    f"{target.step_id}: ElastiCache reports {target.name} as {status!r}",
                    hint="see its events in the ElastiCache console; agentbreeder teardown removes it",
                )
            nodes = group.get("NodeGroups") or [{}]
            endpoint = nodes[0].get("PrimaryEndpoint") or group.get("ConfigurationEndpoint") or {}
            if status != "available" or not endpoint.get("Address"):
                return NotYet(status)
            return self._outputs(target, str(endpoint["Address"]), int(endpoint["Port"]))

        return run.until(look)

    def _outputs(self, target: Target, host: str, port: int) -> dict[str, Any]:
        outputs: dict[str, Any] = {"host": host, "port": port}
        if not target.inputs["tls"]:
            outputs["url"] = make_redis_url(host, port, tls=False, password=None).reveal()
        return outputs

    def drift(self, target: Target, run: Run) -> str:
        """Compares status, node type and transit encryption."""
        group = self._describe(target)
        changed = [] if group["Status"] == "available" else [f"status is {group['Status']!r}"]
        wanted = {"CacheNodeType": target.inputs["instance_class"], "TransitEncryptionEnabled": target.inputs["tls"]}
        changed += [f"{k} is {group[k]!r}, made as {v!r}" for k, v in wanted.items() if k in group and group[k] != v]
        return "; ".join(changed)

    def delete(self, target: Target, run: Run) -> None:
        """Only an available group can be deleted: `Busy` until then."""
        try:
            self._aws.call(self._aws.elasticache.delete_replication_group, ReplicationGroupId=target.physical_id)
        except Busy:
            if self._describe(target)["Status"] != "deleting":
                raise

    def wait_gone(self, target: Target, run: Run) -> None:
        """Minutes."""

        def look() -> bool | NotYet:
            try:
                return NotYet(str(self._describe(target)["Status"]))
            except NotFound:
                return True

        run.until(look)

    def _describe(self, target: Target) -> dict[str, Any]:
        name = target.physical_id or target.name
        answer = self._aws.call(self._aws.elasticache.describe_replication_groups, ReplicationGroupId=name)
        group: dict[str, Any] = answer["ReplicationGroups"][0]
        return group
