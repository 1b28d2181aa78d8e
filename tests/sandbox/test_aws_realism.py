"""The stand-in refuses what AWS refuses, takes its time, and breaks connections the way a network does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from agentbreeder_provisioners.results import Deployment
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.calls import Fault

ONCE = Config(retries={"total_max_attempts": 1})


def refused(call: Callable[..., Any], **params: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**params)
    return str(caught.value.response["Error"]["Code"])


def database(sandbox: AwsSandbox, **changes: Any) -> dict[str, Any]:
    return {
        "DBInstanceIdentifier": "pg", "Engine": "postgres", "EngineVersion": "17", "DBInstanceClass": "db.t4g.micro",
        "AllocatedStorage": 20, "MasterUsername": "agentbreeder", "MasterUserPassword": "abcdefgh1", "DBName": "m",
        "DBSubnetGroupName": "g", "VpcSecurityGroupIds": sandbox.security_group_ids, **changes,
    }  # fmt: skip


@pytest.fixture
def rds(aws_sandbox: AwsSandbox) -> Any:
    client = boto3.client("rds", config=ONCE)
    client.create_db_subnet_group(DBSubnetGroupName="g", DBSubnetGroupDescription="d", SubnetIds=aws_sandbox.subnet_ids)
    return client


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"MasterUserPassword": "ab/c@defg"}, "InvalidParameterValue"),
        ({"MasterUsername": "admin"}, "InvalidParameterValue"),
        ({"DBName": "my-db"}, "InvalidParameterValue"),
        ({"EngineVersion": "16.4"}, "InvalidParameterCombination"),
        ({"DBInstanceClass": "db.t2.micro"}, "InvalidParameterCombination"),
        ({"AllocatedStorage": 1}, "InvalidParameterCombination"),
        ({"VpcSecurityGroupIds": ["sg-00000000000000000"]}, "InvalidParameterValue"),
        ({"DBSubnetGroupName": "nope"}, "DBSubnetGroupNotFoundFault"),
    ],
)
def test_an_instance_that_aws_would_refuse_is_refused(
    aws_sandbox: AwsSandbox, rds: Any, change: dict[str, Any], code: str
) -> None:
    assert refused(rds.create_db_instance, **database(aws_sandbox, **change)) == code


def test_an_instance_takes_its_time_and_holds_what_it_uses(aws_sandbox: AwsSandbox, rds: Any) -> None:
    clock = aws_sandbox.clock
    rds.create_db_instance(**database(aws_sandbox))

    def status() -> dict[str, Any]:
        found: dict[str, Any] = rds.describe_db_instances(DBInstanceIdentifier="pg")["DBInstances"][0]
        return found

    assert (status()["DBInstanceStatus"], status().get("Endpoint")) == ("creating", None)
    clock.advance(361)  # type: ignore[attr-defined]
    assert (status()["DBInstanceStatus"], status()["Endpoint"]["Port"]) == ("available", 5432)
    ec2 = boto3.client("ec2")
    assert refused(ec2.delete_security_group, GroupId=aws_sandbox.security_group_ids[0]) == "DependencyViolation"
    assert refused(rds.delete_db_subnet_group, DBSubnetGroupName="g") == "InvalidDBSubnetGroupStateFault"
    assert refused(rds.delete_db_instance, DBInstanceIdentifier="pg") == "InvalidParameterCombination"
    rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    again = refused(rds.delete_db_instance, DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    assert again in ("InvalidDBInstanceState", "InvalidDBInstanceStateFault")
    clock.advance(241)  # type: ignore[attr-defined]
    assert refused(rds.describe_db_instances, DBInstanceIdentifier="pg") == "DBInstanceNotFound"
    assert refused(ec2.delete_security_group, GroupId=aws_sandbox.security_group_ids[0]) == "DependencyViolation"
    clock.advance(61)  # type: ignore[attr-defined]
    ec2.delete_security_group(GroupId=aws_sandbox.security_group_ids[0])


def test_subnet_groups_want_two_zones_one_vpc_and_a_free_name(aws_sandbox: AwsSandbox, rds: Any) -> None:
    make = rds.create_db_subnet_group
    same = {"DBSubnetGroupName": "x", "DBSubnetGroupDescription": "d"}
    assert refused(make, **same, SubnetIds=aws_sandbox.subnet_ids[:1]) == "DBSubnetGroupDoesNotCoverEnoughAZs"
    mixed = [aws_sandbox.subnet_ids[0], aws_sandbox.second_vpc()[1][0]]
    assert refused(make, **same, SubnetIds=mixed) == "InvalidSubnet"
    taken = refused(make, **{**same, "DBSubnetGroupName": "g"}, SubnetIds=aws_sandbox.subnet_ids)
    assert taken == "DBSubnetGroupAlreadyExists"


def test_a_replication_group_hides_its_tags_and_refuses_deletion_while_busy(aws_sandbox: AwsSandbox) -> None:
    cache = boto3.client("elasticache", config=ONCE)
    cache.create_cache_subnet_group(
        CacheSubnetGroupName="c", CacheSubnetGroupDescription="d", SubnetIds=aws_sandbox.subnet_ids
    )
    group = {
        "ReplicationGroupId": "rg", "ReplicationGroupDescription": "d", "Engine": "valkey", "CacheSubnetGroupName": "c",
        "CacheNodeType": "cache.t4g.micro", "NumCacheClusters": 1, "Tags": [{"Key": "a", "Value": "b"}],
    }  # fmt: skip
    long = "a" * 41
    assert refused(cache.create_replication_group, **{**group, "ReplicationGroupId": long}) == "InvalidParameterValue"
    assert refused(cache.create_replication_group, **group, AuthToken="a" * 32) == "InvalidParameterCombination"
    cache.create_replication_group(**group)
    arn = "arn:aws:elasticache:us-east-1:123456789012:replicationgroup:rg"
    assert refused(cache.list_tags_for_resource, ResourceName=arn).startswith("InvalidReplicationGroupState")
    assert refused(cache.delete_replication_group, ReplicationGroupId="rg").startswith("InvalidReplicationGroupState")
    aws_sandbox.clock.advance(421)  # type: ignore[attr-defined]
    (found,) = cache.describe_replication_groups(ReplicationGroupId="rg")["ReplicationGroups"]
    assert found["Status"] == "available"
    assert found["NodeGroups"][0]["PrimaryEndpoint"]["Port"] == 6379
    assert cache.list_tags_for_resource(ResourceName=arn)["TagList"] == group["Tags"]
    assert refused(cache.delete_cache_subnet_group, CacheSubnetGroupName="c") == "CacheSubnetGroupInUse"
    cache.delete_replication_group(ReplicationGroupId="rg")
    aws_sandbox.clock.advance(181)  # type: ignore[attr-defined]
    cache.delete_cache_subnet_group(CacheSubnetGroupName="c")


def test_a_deleted_secret_holds_its_name_until_it_is_restored(aws_sandbox: AwsSandbox) -> None:
    vault = boto3.client("secretsmanager")
    vault.create_secret(Name="s", SecretString="1")
    vault.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    assert refused(vault.create_secret, Name="s", SecretString="1") == "InvalidRequestException"
    assert refused(vault.put_secret_value, SecretId="s", SecretString="1") == "InvalidRequestException"
    assert "us-east-1/s" in aws_sandbox.inventory()["secrets_scheduled_for_deletion"]
    vault.restore_secret(SecretId="s")
    vault.put_secret_value(SecretId="s", SecretString="2")


@pytest.mark.parametrize(("kind", "applied"), [("drop_before", 0), ("drop_after", 1)])
def test_a_cut_connection_is_seen_by_the_sdk_and_applied_or_not(
    aws_sandbox: AwsSandbox, kind: Any, applied: int
) -> None:
    before = len(aws_sandbox.inventory()["secrets"])
    aws_sandbox.on_call(lambda call: Fault(kind=kind) if call.operation == "CreateSecret" else None)
    with pytest.raises(BotoCoreError):
        boto3.client("secretsmanager", config=ONCE).create_secret(Name="s", SecretString="1")
    assert len(aws_sandbox.inventory()["secrets"]) == before + applied
    assert aws_sandbox.calls[-1].operation == "CreateSecret"


@pytest.mark.parametrize(
    ("service", "ask"),
    [
        ("rds", lambda c: c.describe_db_instances),
        ("ec2", lambda c: c.describe_vpcs),
        ("secretsmanager", lambda c: c.list_secrets),
        ("elasticache", lambda c: c.describe_replication_groups),
    ],
)
def test_a_refusal_has_the_shape_of_each_services_errors(
    aws_sandbox: AwsSandbox, service: str, ask: Callable[[Any], Callable[..., Any]]
) -> None:
    aws_sandbox.on_call(lambda call: Fault(kind="reject", code="Throttling", message="Rate exceeded"))
    assert refused(ask(boto3.client(service, config=ONCE))) == "Throttling"


def test_the_users_fixture_deploys_text_and_cleans_up(deploy_agent: Callable[..., Deployment]) -> None:
    text = "name: a\nmemory: {backend: redis}\ndeploy: {cloud: aws, region: us-east-1}\n"
    result = deploy_agent(text)
    assert result.changed
    assert result.env["REDIS_URL"].startswith("redis://")
