"""ElastiCache over the wire: what it refuses, how long it takes, its endpoints, and what it offers."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from agentbreeder_sandbox.aws.cache_rules import short_region
from agentbreeder_sandbox.aws.world import Durations

from .conftest import Account, Refused

BAD_STATE = "InvalidReplicationGroupState"
TLS = {"TransitEncryptionEnabled": True}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ReplicationGroupId": "1st"}, "InvalidParameterValue"),
        ({"ReplicationGroupId": "two--hyphens"}, "InvalidParameterValue"),
        ({"ReplicationGroupId": "ends-"}, "InvalidParameterValue"),
        ({"ReplicationGroupId": "a" * 41}, "InvalidParameterValue"),
        ({"AuthToken": "a" * 16}, "InvalidParameterCombination"),
        ({"AuthToken": "a" * 15, **TLS}, "InvalidParameterValue"),
        ({"AuthToken": "a" * 129, **TLS}, "InvalidParameterValue"),
        ({"AuthToken": "a" * 16 + "/", **TLS}, "InvalidParameterValue"),
        ({"Engine": "memcached"}, "InvalidParameterValue"),
        ({"EngineVersion": "9.9"}, "InvalidParameterCombination"),
        ({"CacheNodeType": "t4g.micro"}, "InvalidParameterValue"),
        ({"CacheSubnetGroupName": "nope"}, "CacheSubnetGroupNotFoundFault"),
        ({"SecurityGroupIds": ["sg-00000000000000000"]}, "InvalidParameterValue"),
        ({"AutomaticFailoverEnabled": True}, "InvalidParameterCombination"),
        ({"MultiAZEnabled": True, "NumCacheClusters": 2}, "InvalidParameterCombination"),
    ],
)
def test_a_group_with_bad_values_is_refused_and_nothing_is_made(
    account: Account, refused: Refused, changes: dict[str, Any], code: str
) -> None:
    assert refused(account.make_store, **changes) == code
    assert account.sandbox.inventory()["replication_groups"] == []


def test_a_security_group_of_another_vpc_is_refused(account: Account, refused: Refused) -> None:
    vpc_id, _ = account.sandbox.second_vpc()
    foreign = account.make_group(VpcId=vpc_id)
    assert refused(account.make_store, SecurityGroupIds=[foreign]) == "InvalidParameterCombination"


def test_a_group_has_no_address_before_it_is_available(account: Account) -> None:
    made = account.make_store("RG")
    assert (made["Status"], made.get("NodeGroups", [])) == ("creating", [])
    assert account.store()["Status"] == "creating"
    assert account.store().get("NodeGroups", []) == []
    account.pass_time(421)
    found = account.store("RG")
    assert (found["Status"], found["ReplicationGroupId"]) == ("available", "rg")
    assert found["MemberClusters"] == ["rg-001"]
    primary = found["NodeGroups"][0]["PrimaryEndpoint"]
    assert (primary["Address"], primary["Port"]) == ("rg.sbx001.ng.0001.use1.cache.amazonaws.com", 6379)


def test_a_group_with_tls_answers_at_its_master_address(account: Account) -> None:
    made = account.make_store(**TLS, AuthToken="a" * 32, NumCacheClusters=2, AutomaticFailoverEnabled=True)
    assert made["AuthTokenEnabled"] is True
    account.pass_time(421)
    found = account.store()
    (nodes,) = found["NodeGroups"]
    assert nodes["PrimaryEndpoint"]["Address"] == "master.rg.sbx001.use1.cache.amazonaws.com"
    assert nodes["ReaderEndpoint"]["Address"] == "replica.rg.sbx001.use1.cache.amazonaws.com"
    assert found["MemberClusters"] == ["rg-001", "rg-002"]


@pytest.mark.parametrize(
    ("region", "short"),
    [
        ("us-east-1", "use1"),
        ("us-west-2", "usw2"),
        ("eu-central-1", "euc1"),
        ("ap-northeast-2", "apne2"),
        ("ap-southeast-1", "apse1"),
        ("sa-east-1", "sae1"),
        ("us-gov-west-1", "usgw1"),
    ],
)
def test_an_endpoint_names_its_region_in_short(region: str, short: str) -> None:
    assert short_region(region) == short


@pytest.mark.parametrize(("engine", "encrypted"), [("valkey", True), ("redis", False)])
def test_encryption_at_rest_has_each_engines_default(account: Account, engine: str, encrypted: bool) -> None:
    assert account.make_store(Engine=engine)["AtRestEncryptionEnabled"] is encrypted


def test_tags_are_unreadable_and_deletion_is_refused_unless_available(account: Account, refused: Refused) -> None:
    made = account.make_store(Tags=[{"Key": "managed-by", "Value": "agentbreeder"}])
    tags = {"ResourceName": made["ARN"]}
    assert refused(account.cache.list_tags_for_resource, **tags) == BAD_STATE
    more = [{"Key": "a", "Value": "b"}]
    assert refused(account.cache.add_tags_to_resource, **tags, Tags=more) == BAD_STATE
    assert refused(account.cache.delete_replication_group, ReplicationGroupId="rg") == BAD_STATE
    account.pass_time(421)
    assert len(account.cache.list_tags_for_resource(**tags)["TagList"]) == 1
    account.cache.delete_replication_group(ReplicationGroupId="rg")
    assert account.store()["Status"] == "deleting"
    assert refused(account.cache.delete_replication_group, ReplicationGroupId="rg") == BAD_STATE
    assert refused(account.make_store) == "ReplicationGroupAlreadyExists"
    account.pass_time(181)
    assert refused(account.store) == "ReplicationGroupNotFoundFault"
    assert refused(account.cache.list_tags_for_resource, **tags) == "ReplicationGroupNotFoundFault"
    account.cache.get_waiter("replication_group_deleted").wait(
        ReplicationGroupId="rg", WaiterConfig={"Delay": 0, "MaxAttempts": 1}
    )
    account.make_store()


def test_a_group_that_failed_can_only_be_deleted(account: Account, refused: Refused) -> None:
    account.sandbox.fail_next_create("elasticache", "create-failed")
    made = account.make_store()
    account.pass_time(421)
    found = account.store()
    assert (found["Status"], found.get("NodeGroups", [])) == ("create-failed", [])
    assert refused(account.cache.list_tags_for_resource, ResourceName=made["ARN"]) == BAD_STATE
    account.cache.delete_replication_group(ReplicationGroupId="rg")
    account.pass_time(181)
    assert account.sandbox.inventory()["replication_groups"] == []


def test_a_new_group_can_be_invisible_for_a_while(account: Account, refused: Refused) -> None:
    account.sandbox.world.durations = Durations(visibility_lag_s=30)
    made, missing = account.make_store(), "ReplicationGroupNotFoundFault"
    assert refused(account.store) == missing
    assert refused(account.cache.list_tags_for_resource, ResourceName=made["ARN"]) == missing
    account.pass_time(30)
    assert account.store()["Status"] == "creating"


def test_a_subnet_group_is_lower_case_and_of_known_subnets_of_one_vpc(account: Account, refused: Refused) -> None:
    make = account.cache.create_cache_subnet_group
    params = {"CacheSubnetGroupDescription": "d", "SubnetIds": account.sandbox.subnet_ids}
    assert make(CacheSubnetGroupName="Mine", **params)["CacheSubnetGroup"]["CacheSubnetGroupName"] == "mine"
    assert refused(make, CacheSubnetGroupName="MINE", **params) == "CacheSubnetGroupAlreadyExists"
    assert refused(make, CacheSubnetGroupName="a_b", **params) == "InvalidParameterValue"
    unknown = {**params, "SubnetIds": ["subnet-0123"]}
    assert refused(make, CacheSubnetGroupName="x", **unknown) == "InvalidParameterValue"
    _, others = account.sandbox.second_vpc()
    mixed = {**params, "SubnetIds": [*account.sandbox.subnet_ids, *others]}
    assert refused(make, CacheSubnetGroupName="x", **mixed) == "InvalidSubnet"


def test_a_subnet_group_is_in_use_until_its_group_is_gone(account: Account, refused: Refused) -> None:
    account.make_store(CacheSubnetGroupName="Cache-Subnets")
    delete = account.cache.delete_cache_subnet_group
    assert refused(delete, CacheSubnetGroupName="nope") == "CacheSubnetGroupNotFoundFault"
    account.pass_time(421)
    assert refused(delete, CacheSubnetGroupName="cache-subnets") == "CacheSubnetGroupInUse"
    account.cache.delete_replication_group(ReplicationGroupId="rg")
    assert refused(delete, CacheSubnetGroupName="cache-subnets") == "CacheSubnetGroupInUse"
    account.pass_time(181)
    delete(CacheSubnetGroupName="CACHE-SUBNETS")
    assert account.sandbox.inventory()["cache_subnet_groups"] == []


def test_engine_versions_on_offer_can_be_asked_for(account: Account) -> None:
    def versions(**params: str) -> set[str]:
        answer = account.cache.describe_cache_engine_versions(**params)
        return {f"{v['Engine']} {v['EngineVersion']}" for v in answer["CacheEngineVersions"]}

    assert versions(Engine="valkey") == {"valkey 7.2", "valkey 8.0", "valkey 8.1"}
    assert versions() > versions(Engine="redis") == {"redis 6.2", "redis 7.0", "redis 7.1"}


def test_our_tagged_group_is_found_by_the_tagging_service(account: Account) -> None:
    made = account.make_store(Tags=[{"Key": "managed-by", "Value": "agentbreeder"}])
    finder = boto3.client("resourcegroupstaggingapi")
    answer = finder.get_resources(TagFilters=[{"Key": "managed-by", "Values": ["agentbreeder"]}])
    assert [r["ResourceARN"] for r in answer["ResourceTagMappingList"]] == [made["ARN"]]
