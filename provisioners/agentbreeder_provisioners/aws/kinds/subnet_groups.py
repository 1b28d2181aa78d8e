"""The two subnet groups: RDS's and ElastiCache's. Same idea, different calls."""

from __future__ import annotations

from typing import Any

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import Run
from .base import AwsKind
from .tags import from_aws, to_aws


class DbSubnetGroup(AwsKind):
    """RDS DB subnet group. Inputs: `subnet_ids` (two zones or more). Outputs: `name`."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By name; its tags need a second call."""
        rds = self._aws.rds
        try:
            answer = self._aws.call(rds.describe_db_subnet_groups, DBSubnetGroupName=target.name)
            group = answer["DBSubnetGroups"][0]
            tags = self._aws.call(rds.list_tags_for_resource, ResourceName=group["DBSubnetGroupArn"])
        except NotFound:
            return None
        return Found(physical_id=group["DBSubnetGroupName"], tags=from_aws(tags.get("TagList")))

    def create(self, target: Target, run: Run) -> str:
        """RDS stores the name in lower case; ours is."""
        self._aws.call(
            self._aws.rds.create_db_subnet_group,
            DBSubnetGroupName=target.name,
            DBSubnetGroupDescription=f"agentbreeder memory of {target.owner.agent}"[:255],
            SubnetIds=list(target.inputs["subnet_ids"]),
            Tags=to_aws(target.owner),
        )
        return target.name

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Ready as soon as the create answered; a user of it that cannot see it yet asks again."""
        return {"name": target.physical_id}

    def delete(self, target: Target, run: Run) -> None:
        """`Busy` while an instance, even a dying one, is in it."""
        self._aws.call(self._aws.rds.delete_db_subnet_group, DBSubnetGroupName=target.physical_id)


class CacheSubnetGroup(AwsKind):
    """ElastiCache subnet group. Inputs: `subnet_ids`. Outputs: `name`."""

    def find(self, target: Target, run: Run) -> Found | None:
        """By name; its tags need a second call."""
        cache = self._aws.elasticache
        try:
            answer = self._aws.call(cache.describe_cache_subnet_groups, CacheSubnetGroupName=target.name)
            group = answer["CacheSubnetGroups"][0]
            tags = self._aws.call(cache.list_tags_for_resource, ResourceName=group["ARN"])
        except NotFound:
            return None
        return Found(physical_id=group["CacheSubnetGroupName"], tags=from_aws(tags.get("TagList")))

    def create(self, target: Target, run: Run) -> str:
        """ElastiCache stores the name in lower case; ours is."""
        self._aws.call(
            self._aws.elasticache.create_cache_subnet_group,
            CacheSubnetGroupName=target.name,
            CacheSubnetGroupDescription=f"agentbreeder memory of {target.owner.agent}"[:255],
            SubnetIds=list(target.inputs["subnet_ids"]),
            Tags=to_aws(target.owner),
        )
        return target.name

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Ready as soon as the create answered."""
        return {"name": target.physical_id}

    def delete(self, target: Target, run: Run) -> None:
        """`Busy` while a group, even a dying one, is in it."""
        self._aws.call(self._aws.elasticache.delete_cache_subnet_group, CacheSubnetGroupName=target.physical_id)
