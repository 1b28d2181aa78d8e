"""EC2 security group that lets the agent's own groups reach one port, and nobody else."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.errors import CloudError

from ...engine.kinds import AlreadyExists, Busy, Found, Target
from ...engine.run import NotYet, Run
from .base import AwsKind
from .tags import from_aws, to_aws

_SHOWN = 3


class SecurityGroup(AwsKind):
    """Inputs: `vpc_id`, `port`, `source_group_ids`. Outputs: `group_id`. Names are unique per VPC."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By id when known, else by name in the VPC. Filters answer with an empty list where ids answer with errors."""
        if target.physical_id:
            filters = [{"Name": "group-id", "Values": [target.physical_id]}]
        else:
            filters = [{"Name": "group-name", "Values": [target.name]}]
            if target.inputs.get("vpc_id"):
                filters.append({"Name": "vpc-id", "Values": [target.inputs["vpc_id"]]})
        groups = self._aws.call(self._aws.ec2.describe_security_groups, Filters=filters)["SecurityGroups"]
        if not groups:
            return None
        return Found(physical_id=groups[0]["GroupId"], tags=from_aws(groups[0].get("Tags")))

    def create(self, target: Target, run: Run) -> str:
        """Make the empty group; `wait_ready` opens the port, so a crash in between leaves nothing open."""
        answer = self._aws.call(
            self._aws.ec2.create_security_group,
            GroupName=target.name,
            Description=f"agentbreeder memory of {target.owner.agent}"[:255],
            VpcId=target.inputs["vpc_id"],
            TagSpecifications=[{"ResourceType": "security-group", "Tags": to_aws(target.owner)}],
        )
        return str(answer["GroupId"])

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Open the port to each of the agent's groups. A new group may be unknown for seconds: asked again."""
        for source in target.inputs["source_group_ids"]:
            run.until(lambda source=source: self._allow(target, source), first_s=1.0)  # type: ignore[misc]
        return {"group_id": target.physical_id}

    def _allow(self, target: Target, source: str) -> bool | NotYet:
        port = int(target.inputs["port"])
        rule = {
            "IpProtocol": "tcp",
            "FromPort": port,
            "ToPort": port,
            "UserIdGroupPairs": [{"GroupId": source, "Description": "agentbreeder: own group of the agent"}],
        }
        try:
            self._aws.call(
                self._aws.ec2.authorize_security_group_ingress, GroupId=target.physical_id, IpPermissions=[rule]
            )
        except AlreadyExists:
            return True
        return True

    def delete(self, target: Target, run: Run) -> None:
        """Network interfaces of a deleted store hold the group for minutes: `Busy` then names them."""
        try:
            self._aws.call(self._aws.ec2.delete_security_group, GroupId=target.physical_id)
        except Busy as e:
            raise Busy(f"{e.detail}{self._holders(target)}", hint=e.hint) from e

    def _holders(self, target: Target) -> str:
        filters = [{"Name": "group-id", "Values": [target.physical_id]}]
        try:
            answer = self._aws.call(self._aws.ec2.describe_network_interfaces, retry=False, Filters=filters)
        except CloudError as e:
            return f" (what holds it could not be listed: {e.code})"
        ids = [i["NetworkInterfaceId"] for i in answer.get("NetworkInterfaces", ())]
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        return f" (held by {', '.join(ids[:_SHOWN])}{more})" if ids else ""
