"""EC2 security groups over the wire: names, descriptions, and everything that holds one back from being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from agentbreeder_sandbox.aws.world import Durations

from .conftest import Account, Refused


def rule(source: str, **description: str) -> list[dict[str, Any]]:
    pair = {"GroupId": source, **description}
    return [{"IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432, "UserIdGroupPairs": [pair]}]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"GroupName": "sg-mine"}, "InvalidParameterValue"),
        ({"GroupName": "it's"}, "InvalidParameterValue"),
        ({"GroupName": "x", "Description": "the agent's"}, "InvalidParameterValue"),
        ({"GroupName": "x", "Description": "d" * 256}, "InvalidParameterValue"),
        ({"GroupName": "x", "VpcId": "vpc-00000000000000000"}, "InvalidVpcID.NotFound"),
        ({"GroupName": "AGENT"}, "InvalidGroup.Duplicate"),
    ],
)
def test_a_group_that_aws_would_refuse_is_refused(
    account: Account, refused: Refused, params: dict[str, str], code: str
) -> None:
    params = {"Description": "d", "VpcId": account.sandbox.vpc_id, **params}
    assert refused(account.ec2.create_security_group, **params) == code


def test_the_same_name_is_free_in_another_vpc(account: Account) -> None:
    vpc_id, _ = account.sandbox.second_vpc()
    account.make_group("agent", VpcId=vpc_id)


def test_a_rules_description_takes_no_apostrophe(account: Account, refused: Refused) -> None:
    authorize, group = account.ec2.authorize_security_group_ingress, account.make_group()
    bad = rule(account.agent_group, Description="the agent's own group")
    assert refused(authorize, GroupId=group, IpPermissions=bad) == "InvalidParameterValue"
    good = rule(account.agent_group, Description="own group of the agent")
    authorize(GroupId=group, IpPermissions=good)
    assert refused(authorize, GroupId=group, IpPermissions=good) == "InvalidPermission.Duplicate"


def test_a_group_is_held_by_a_rule_of_another_group_until_the_rule_goes(account: Account, refused: Refused) -> None:
    group, delete = account.make_group(), account.ec2.delete_security_group
    account.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rule(account.agent_group))
    account.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rule(group))
    assert refused(delete, GroupId=account.agent_group) == "DependencyViolation"
    delete(GroupId=group)  # its own rules do not hold it
    delete(GroupId=account.agent_group)


def test_a_group_is_held_by_a_network_interface(account: Account, refused: Refused) -> None:
    group = account.make_group()
    interface = account.ec2.create_network_interface(SubnetId=account.sandbox.subnet_ids[0], Groups=[group])
    assert refused(account.ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    account.ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterface"]["NetworkInterfaceId"])
    account.ec2.delete_security_group(GroupId=group)


@pytest.mark.parametrize("store", ["rds", "elasticache"])
def test_a_group_is_held_by_its_store_and_a_while_longer_by_the_stores_interfaces(
    account: Account, refused: Refused, store: str
) -> None:
    group, delete = account.make_group(), account.ec2.delete_security_group
    if store == "rds":
        account.make_database(VpcSecurityGroupIds=[group])
    else:
        account.make_store(SecurityGroupIds=[group])
    account.pass_time(421)
    assert refused(delete, GroupId=group) == "DependencyViolation"
    if store == "rds":
        account.rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    else:
        account.cache.delete_replication_group(ReplicationGroupId="rg")
    assert refused(delete, GroupId=group) == "DependencyViolation"
    gone_after = 240 if store == "rds" else 180
    account.pass_time(gone_after + 59)
    assert refused(delete, GroupId=group) == "DependencyViolation"
    account.pass_time(1)
    delete(GroupId=group)


def test_interfaces_linger_from_when_the_store_went_not_from_when_somebody_looked(account: Account) -> None:
    group = account.make_group()
    account.make_database(VpcSecurityGroupIds=[group])
    account.rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    account.pass_time(10_000)
    account.ec2.delete_security_group(GroupId=group)


def test_a_new_group_can_be_unknown_for_a_while(account: Account, refused: Refused) -> None:
    account.sandbox.world.durations = Durations(visibility_lag_s=5)
    group = account.make_group()
    look, by_name = account.ec2.describe_security_groups, [{"Name": "group-name", "Values": ["store"]}]
    assert refused(look, GroupIds=[group]) == "InvalidGroup.NotFound"
    assert look(Filters=by_name)["SecurityGroups"] == []
    authorize, allowed = account.ec2.authorize_security_group_ingress, rule(account.agent_group)
    assert refused(authorize, GroupId=group, IpPermissions=allowed) == "InvalidGroup.NotFound"
    assert refused(account.make_group) == "InvalidGroup.Duplicate"
    assert look(GroupIds=[account.agent_group])["SecurityGroups"]
    account.pass_time(5)
    assert look(Filters=by_name)["SecurityGroups"][0]["GroupId"] == group
    authorize(GroupId=group, IpPermissions=allowed)
