"""Clients of the real SDK over real HTTP, without its retries, and the words in which the stand-in refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.loaders
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from agentbreeder_sandbox.aws.server import AwsSandbox

ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture(scope="session", autouse=True)
def shared_service_models() -> Iterator[None]:
    """The JSON models behind every client are read once per test process."""
    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.loaders.create_loader", lambda *a, **k: loader)
        yield


@dataclass(frozen=True, slots=True)
class Account:
    """The stand-in with one client per service."""

    sandbox: AwsSandbox
    ec2: Any
    rds: Any
    cache: Any
    vault: Any

    @property
    def agent_group(self) -> str:
        return self.sandbox.security_group_ids[0]

    def pass_time(self, seconds: float) -> None:
        self.sandbox.clock.advance(seconds)  # type: ignore[attr-defined]

    def make_group(self, name: str = "store", **params: Any) -> str:
        params = {"Description": "d", "VpcId": self.sandbox.vpc_id, **params}
        return str(self.ec2.create_security_group(GroupName=name, **params)["GroupId"])

    def make_database(self, name: str = "pg", **changes: Any) -> dict[str, Any]:
        params = {
            "DBInstanceIdentifier": name, "Engine": "postgres", "EngineVersion": "17",
            "DBInstanceClass": "db.t4g.micro", "AllocatedStorage": 20, "MasterUsername": "agentbreeder",
            "MasterUserPassword": "abcdefgh1", "DBName": "memory", "DBSubnetGroupName": "db-subnets",
            "VpcSecurityGroupIds": [self.agent_group], **changes,
        }  # fmt: skip
        made: dict[str, Any] = self.rds.create_db_instance(**params)["DBInstance"]
        return made

    def database(self, name: str = "pg") -> dict[str, Any]:
        found: dict[str, Any] = self.rds.describe_db_instances(DBInstanceIdentifier=name)["DBInstances"][0]
        return found

    def make_store(self, name: str = "rg", **changes: Any) -> dict[str, Any]:
        params = {
            "ReplicationGroupId": name, "ReplicationGroupDescription": "d", "Engine": "valkey",
            "CacheNodeType": "cache.t4g.micro", "NumCacheClusters": 1, "CacheSubnetGroupName": "cache-subnets",
            "SecurityGroupIds": [self.agent_group], **changes,
        }  # fmt: skip
        made: dict[str, Any] = self.cache.create_replication_group(**params)["ReplicationGroup"]
        return made

    def store(self, name: str = "rg") -> dict[str, Any]:
        answer = self.cache.describe_replication_groups(ReplicationGroupId=name)
        found: dict[str, Any] = answer["ReplicationGroups"][0]
        return found


@pytest.fixture
def account(aws_sandbox: AwsSandbox) -> Account:
    """An account with a DB subnet group `db-subnets` and a cache subnet group `cache-subnets`."""
    clients = [boto3.client(s, config=ONCE) for s in ("ec2", "rds", "elasticache", "secretsmanager")]
    made = Account(aws_sandbox, *clients)
    described = {"SubnetIds": aws_sandbox.subnet_ids}
    made.rds.create_db_subnet_group(DBSubnetGroupName="db-subnets", DBSubnetGroupDescription="d", **described)
    made.cache.create_cache_subnet_group(
        CacheSubnetGroupName="cache-subnets", CacheSubnetGroupDescription="d", **described
    )
    return made


Refused = Callable[..., str]


@pytest.fixture
def refused() -> Refused:
    """Call, expect a refusal, and return its code."""

    def call(work: Callable[..., Any], *args: Any, **params: Any) -> str:
        with pytest.raises(ClientError) as caught:
            work(*args, **params)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] < 500
        return str(caught.value.response["Error"]["Code"])

    return call
