"""RDS over the wire: what it refuses, how long it takes, and what it offers."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import WaiterError

from agentbreeder_sandbox.aws.world import Durations

from .conftest import Account, Refused

BAD_STATE = "InvalidDBInstanceState"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"MasterUserPassword": "short12"}, "InvalidParameterValue"),
        ({"MasterUserPassword": "a" * 129}, "InvalidParameterValue"),
        *(({"MasterUserPassword": f"abcdefgh{c}1"}, "InvalidParameterValue") for c in '/@" é'),
        ({"ManageMasterUserPassword": True}, "InvalidParameterCombination"),
        ({"MasterUsername": "rdsadmin"}, "InvalidParameterValue"),
        ({"MasterUsername": "pg_monitor"}, "InvalidParameterValue"),
        ({"MasterUsername": "a" * 17}, "InvalidParameterValue"),
        ({"DBName": "1memory"}, "InvalidParameterValue"),
        ({"DBInstanceIdentifier": "two--hyphens"}, "InvalidParameterValue"),
        ({"EngineVersion": "99.1"}, "InvalidParameterCombination"),
        ({"DBInstanceClass": "db.huge"}, "InvalidParameterCombination"),
        ({"AllocatedStorage": 65537}, "InvalidParameterCombination"),
        ({"BackupRetentionPeriod": 36}, "InvalidParameterValue"),
        ({"EngineLifecycleSupport": "never"}, "InvalidParameterValue"),
        ({"Tags": [{"Key": "team", "Value": "a&b"}]}, "InvalidParameterValue"),
    ],
)
def test_an_instance_with_bad_values_is_refused_and_nothing_is_made(
    account: Account, refused: Refused, changes: dict[str, Any], code: str
) -> None:
    assert refused(account.make_database, **changes) == code
    assert account.sandbox.inventory()["db_instances"] == []


def test_a_security_group_of_another_vpc_is_refused(account: Account, refused: Refused) -> None:
    vpc_id, _ = account.sandbox.second_vpc()
    foreign = account.make_group(VpcId=vpc_id)
    assert refused(account.make_database, VpcSecurityGroupIds=[foreign]) == "InvalidParameterCombination"


def test_an_instance_is_created_then_backed_up_then_available(account: Account) -> None:
    made = account.make_database()
    assert (made["DBInstanceStatus"], made.get("Endpoint")) == ("creating", None)
    account.pass_time(301)
    assert account.database()["DBInstanceStatus"] == "backing-up"
    account.pass_time(60)
    found = account.database()
    assert found["DBInstanceStatus"] == "available"
    assert found["Endpoint"]["Port"] == 5432
    account.rds.get_waiter("db_instance_available").wait(
        DBInstanceIdentifier="pg", WaiterConfig={"Delay": 0, "MaxAttempts": 1}
    )


def test_an_instance_says_what_it_was_given(account: Account) -> None:
    made = account.make_database(
        PubliclyAccessible=False,
        StorageEncrypted=True,
        EngineVersion="16",
        EngineLifecycleSupport="open-source-rds-extended-support-disabled",
        Tags=[{"Key": "managed-by", "Value": "agentbreeder"}],
    )
    assert made["PubliclyAccessible"] is False
    assert made["EngineVersion"].startswith("16.")
    assert made["EngineLifecycleSupport"] == "open-source-rds-extended-support-disabled"
    assert made["TagList"] == [{"Key": "managed-by", "Value": "agentbreeder"}]
    assert account.make_database("other")["EngineLifecycleSupport"] == "open-source-rds-extended-support"
    assert account.database("other")["DbiResourceId"] != made["DbiResourceId"]


def test_an_instance_can_be_deleted_while_it_is_created_and_its_name_is_free_after_that(
    account: Account, refused: Refused
) -> None:
    account.make_database()
    account.rds.delete_db_instance(DBInstanceIdentifier="PG", SkipFinalSnapshot=True)
    again = refused(account.rds.delete_db_instance, DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    assert again == BAD_STATE
    assert refused(account.make_database) == "DBInstanceAlreadyExists"
    account.pass_time(241)
    assert refused(account.database) == "DBInstanceNotFound"
    account.make_database()


def test_a_modified_instance_is_busy_before_it_can_be_modified_again(account: Account, refused: Refused) -> None:
    modify = {"DBInstanceIdentifier": "pg", "DeletionProtection": False, "ApplyImmediately": True}
    account.make_database(DeletionProtection=True)
    assert refused(account.rds.modify_db_instance, **modify) == BAD_STATE
    account.pass_time(361)
    gone = {"DBInstanceIdentifier": "pg", "SkipFinalSnapshot": True}
    assert refused(account.rds.delete_db_instance, **gone) == "InvalidParameterCombination"
    account.rds.modify_db_instance(**modify)
    assert account.database()["DBInstanceStatus"] == "modifying"
    assert refused(account.rds.modify_db_instance, **modify) == BAD_STATE
    account.pass_time(31)
    assert account.database()["DBInstanceStatus"] == "available"
    account.rds.delete_db_instance(**gone)


def test_a_final_snapshot_outlives_its_instance_and_its_name_is_taken(account: Account, refused: Refused) -> None:
    gone = {"DBInstanceIdentifier": "pg", "FinalDBSnapshotIdentifier": "last"}
    account.make_database()
    assert refused(account.rds.delete_db_instance, **gone) == BAD_STATE
    account.pass_time(361)
    assert refused(account.rds.delete_db_instance, **gone, SkipFinalSnapshot=True) == "InvalidParameterCombination"
    assert refused(account.rds.delete_db_instance, DBInstanceIdentifier="pg") == "InvalidParameterCombination"
    account.rds.delete_db_instance(**gone)
    account.pass_time(241)
    inventory = account.sandbox.inventory()
    assert (inventory["db_instances"], inventory["db_snapshots"]) == ([], ["us-east-1/last"])
    account.make_database()
    account.pass_time(361)
    assert refused(account.rds.delete_db_instance, **gone).startswith("DBSnapshotAlreadyExists")
    assert account.database()["DBInstanceStatus"] == "available"


def test_the_next_create_can_be_told_to_fail(account: Account, refused: Refused) -> None:
    account.sandbox.fail_next_create("rds", "incompatible-network")
    account.make_database()
    account.pass_time(361)
    found = account.database()
    assert (found["DBInstanceStatus"], found.get("Endpoint")) == ("incompatible-network", None)
    snapshot = {"DBInstanceIdentifier": "pg", "FinalDBSnapshotIdentifier": "last"}
    assert refused(account.rds.delete_db_instance, **snapshot) == BAD_STATE
    account.rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    account.make_database("next")
    account.pass_time(361)
    assert account.database("next")["DBInstanceStatus"] == "available"


def test_the_sdks_own_waiter_polls_while_time_stands_still(account: Account) -> None:
    account.make_database()
    with pytest.raises(WaiterError, match="Max attempts"):
        account.rds.get_waiter("db_instance_available").wait(
            DBInstanceIdentifier="pg", WaiterConfig={"Delay": 0, "MaxAttempts": 3}
        )


def test_a_new_instance_can_be_invisible_for_a_while(account: Account, refused: Refused) -> None:
    account.sandbox.world.durations = Durations(visibility_lag_s=30)
    account.make_database()
    assert refused(account.database) == "DBInstanceNotFound"
    assert account.rds.describe_db_instances()["DBInstances"] == []
    assert refused(account.make_database) == "DBInstanceAlreadyExists"
    account.pass_time(30)
    assert account.database()["DBInstanceStatus"] == "creating"


@pytest.mark.parametrize("name", ["default", "1st", "a" * 256, "a/b"])
def test_a_subnet_group_needs_a_proper_name(account: Account, refused: Refused, name: str) -> None:
    make = account.rds.create_db_subnet_group
    params = {"DBSubnetGroupName": name, "DBSubnetGroupDescription": "d", "SubnetIds": account.sandbox.subnet_ids}
    assert refused(make, **params) == "InvalidParameterValue"


def test_a_subnet_group_of_unknown_subnets_is_refused(account: Account, refused: Refused) -> None:
    make = account.rds.create_db_subnet_group
    params = {"DBSubnetGroupName": "x", "DBSubnetGroupDescription": "d"}
    assert refused(make, **params, SubnetIds=["subnet-0123", *account.sandbox.subnet_ids]) == "InvalidSubnet"


def test_a_subnet_group_is_in_use_until_its_instance_is_gone(account: Account, refused: Refused) -> None:
    account.make_database(DBSubnetGroupName="DB-Subnets")
    delete = account.rds.delete_db_subnet_group
    assert refused(delete, DBSubnetGroupName="db-subnets") == "InvalidDBSubnetGroupStateFault"
    account.rds.delete_db_instance(DBInstanceIdentifier="pg", SkipFinalSnapshot=True)
    assert refused(delete, DBSubnetGroupName="db-subnets") == "InvalidDBSubnetGroupStateFault"
    account.pass_time(241)
    delete(DBSubnetGroupName="db-subnets")


def test_versions_and_classes_on_offer_can_be_asked_for(account: Account) -> None:
    def versions(**params: Any) -> list[str]:
        answer = account.rds.describe_db_engine_versions(**params)
        return [v["EngineVersion"] for v in answer["DBEngineVersions"]]

    def classes(**params: Any) -> set[str]:
        answer = account.rds.describe_orderable_db_instance_options(Engine="postgres", **params)
        return {o["DBInstanceClass"] for o in answer["OrderableDBInstanceOptions"]}

    assert {v.partition(".")[0] for v in versions(Engine="postgres")} == {"13", "14", "15", "16", "17", "18"}
    assert len(versions(Engine="postgres", EngineVersion="17")) > 1
    (default,) = versions(Engine="postgres", EngineVersion="17", DefaultOnly=True)
    assert versions(Engine="postgres", EngineVersion=default) == [default]
    assert versions(Engine="postgres", EngineVersion="12") == []
    assert {"db.t4g.micro", "db.m7g.large", "db.r7g.large"} <= classes()
    assert classes(DBInstanceClass="db.t4g.micro", EngineVersion="17") == {"db.t4g.micro"}
    assert classes(DBInstanceClass="db.t2.micro") == set()
