"""The server itself: faults as the SDK meets them, the record of calls, the inventory, and leaving no trace."""

from __future__ import annotations

import socket
import threading
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, HTTPClientError, ReadTimeoutError

from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations, Patches
from agentbreeder_sandbox.calls import ApiCall, Fault

from .conftest import Account


def only(operation: str, fault: Fault) -> Any:
    left = [fault]

    def hook(call: ApiCall) -> Fault | None:
        return left.pop() if call.operation == operation and left else None

    return hook


def test_a_connection_that_breaks_before_the_call_applied_nothing(account: Account) -> None:
    before = account.sandbox.inventory()
    account.sandbox.on_call(only("CreateSecurityGroup", Fault(kind="drop_before")))
    with pytest.raises((ConnectionClosedError, HTTPClientError)):
        account.make_group()
    assert account.sandbox.inventory() == before
    account.make_group()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Account.make_group, "security_groups"),
        (Account.make_database, "db_instances"),
        (Account.make_store, "replication_groups"),
    ],
)
def test_a_lost_reply_left_what_was_asked_for(account: Account, make: Any, kind: str) -> None:
    before = account.sandbox.inventory()[kind]
    account.sandbox.on_call(lambda call: Fault(kind="drop_after") if call.operation.startswith("Create") else None)
    with pytest.raises((ConnectionClosedError, HTTPClientError)):
        make(account)
    assert len(account.sandbox.inventory()[kind]) == len(before) + 1


def test_the_sdks_own_retry_after_a_lost_reply_meets_its_own_twin(account: Account) -> None:
    account.sandbox.on_call(only("CreateSecurityGroup", Fault(kind="drop_after")))
    patient = boto3.client("ec2", config=Config(retries={"total_max_attempts": 2}))
    with pytest.raises(ClientError, match=r"InvalidGroup\.Duplicate"):
        patient.create_security_group(GroupName="store", Description="d", VpcId=account.sandbox.vpc_id)


def test_a_call_that_hangs_runs_into_the_clients_time_limit(account: Account) -> None:
    account.sandbox.on_call(only("ListSecrets", Fault(kind="hang")))
    hasty = boto3.client("secretsmanager", config=Config(read_timeout=0.05, retries={"total_max_attempts": 1}))
    with pytest.raises(ReadTimeoutError):
        hasty.list_secrets()
    assert account.vault.list_secrets()["SecretList"] == []


@pytest.mark.parametrize("message", ['with "quotes"', "with <brackets> & more"])
def test_a_refusal_comes_through_word_for_word(account: Account, message: str) -> None:
    fault = Fault(kind="reject", code="AccessDenied", message=message, status=403)
    account.sandbox.on_call(lambda call: fault)
    for call in (
        account.ec2.describe_vpcs,
        account.rds.describe_db_instances,
        account.cache.describe_replication_groups,
        account.vault.list_secrets,
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == "AccessDenied"
        assert caught.value.response["Error"]["Message"] == message
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_every_call_is_recorded_with_its_service_and_parameters(account: Account) -> None:
    account.sandbox.reset()
    account.vault.create_secret(Name="s", SecretString="1")
    account.ec2.describe_subnets(SubnetIds=account.sandbox.subnet_ids[:1])
    boto3.client("sts").get_caller_identity()
    calls = account.sandbox.calls
    assert [(c.index, c.service, c.operation) for c in calls] == [
        (1, "secretsmanager", "CreateSecret"),
        (2, "ec2", "DescribeSubnets"),
        (3, "sts", "GetCallerIdentity"),
    ]
    assert calls[0].params["Name"] == "s"
    assert calls[1].params["SubnetId.1"] == account.sandbox.subnet_ids[0]
    assert "SecretString" not in repr(calls[0])


def test_the_inventory_is_the_same_before_and_after(account: Account) -> None:
    before = account.sandbox.inventory()
    group = account.make_group()
    account.make_database(VpcSecurityGroupIds=[group])
    account.make_store(SecurityGroupIds=[group])
    account.vault.create_secret(Name="s", SecretString="1")
    changed = account.sandbox.inventory()
    kinds = {kind for kind in before if changed[kind] != before[kind]}
    assert kinds == {"security_groups", "db_instances", "replication_groups", "secrets"}
    account.pass_time(421)
    account.rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    account.cache.delete_replication_group(ReplicationGroupId="rg")
    account.vault.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    account.pass_time(1000)
    account.ec2.delete_security_group(GroupId=group)
    assert account.sandbox.inventory() == before


def test_the_inventory_shows_a_rule_that_was_left_on_the_agents_group(account: Account) -> None:
    before = account.sandbox.inventory()
    rule = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    account.ec2.authorize_security_group_egress(GroupId=account.agent_group, IpPermissions=[rule])
    assert account.sandbox.inventory() != before


def test_the_inventory_sees_what_went_to_another_region(account: Account) -> None:
    before = account.sandbox.inventory()
    ec2 = boto3.client("ec2", region_name="eu-west-1")
    ec2.describe_vpcs()
    assert account.sandbox.inventory() == before
    ec2.create_security_group(GroupName="astray", Description="d")
    assert account.sandbox.inventory() != before


def test_a_reset_empties_the_account_and_forgets_calls_faults_and_failures(account: Account) -> None:
    account.make_database()
    account.sandbox.fail_next_create("rds", "failed")
    account.sandbox.on_call(lambda call: Fault(kind="drop_before"))
    account.sandbox.reset(durations=Durations.fast())
    inventory = account.sandbox.inventory()
    assert account.sandbox.calls == []
    assert account.sandbox.world.fail_next == {}
    assert {kind for kind, names in inventory.items() if names} == {"security_groups"}
    subnets = account.ec2.describe_subnets(SubnetIds=account.sandbox.subnet_ids)["Subnets"]
    assert len({s["AvailabilityZone"] for s in subnets}) == 3


def test_many_threads_can_deploy_into_it_at_once(account: Account) -> None:
    failed: list[BaseException] = []

    def work(n: int) -> None:
        try:
            group = account.make_group(f"store-{n}")
            account.make_database(f"pg-{n}", VpcSecurityGroupIds=[group])
            account.sandbox.inventory()
        except BaseException as e:  # noqa: BLE001 - shown by the assertion below
            failed.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(account.sandbox.inventory()["db_instances"]) == 8


def test_a_taken_port_is_an_os_error_and_changes_nothing(account: Account) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        AwsSandbox(port=taken.getsockname()[1]).start()
    account.make_database()
    account.pass_time(361)
    assert account.database()["DBInstanceStatus"] == "available"


def test_what_was_patched_is_put_back() -> None:
    class Owner:
        kept = 1

    patches = Patches()
    assert patches.replace(Owner, "kept", 2) == 1
    assert patches.replace(Owner, "kept", 3) == 2
    assert patches.replace(Owner, "added", 4) is None
    patches.restore()
    assert Owner.kept == 1
    assert not hasattr(Owner, "added")


def test_behind_a_proxy_the_exports_keep_this_machine_out_of_it(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "NO_PROXY" not in account.sandbox.env()
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("no_proxy", "example.com")
    assert account.sandbox.env()["NO_PROXY"] == "example.com,127.0.0.1"
