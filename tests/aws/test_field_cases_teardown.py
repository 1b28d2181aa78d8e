"""Field cases E, and C16 and D11 where a cloud is needed: tearing down exactly what was made."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest

from agentbreeder_core.errors import (
    AuthError,
    Interrupted,
    ProtectionOn,
    ResourceFailed,
    StateMissing,
    TeardownIncomplete,
)
from agentbreeder_core.events import Event, StepWaiting
from agentbreeder_provisioners import status, teardown
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.calls import ApiCall, Fault
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, made, standing, state_of
from support.scenes import EXPECTED


def refuse(operation: str, code: str, message: str = "no") -> Callable[[ApiCall], Fault | None]:
    """A hook that refuses every call of one operation."""
    fault = Fault(kind="reject", code=code, message=message)
    return lambda call: fault if call.operation == operation else None


@pytest.mark.parametrize("gone", ["database", "secret", "deleting", "everything"])
def test_e01_what_was_deleted_by_hand_counts_as_done(sandbox: AwsSandbox, tmp_path: Path, gone: str) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    sandbox.clock.advance(3600)  # type: ignore[attr-defined]
    rds, names = boto3.client("rds"), {r["step_id"]: r for r in state_of(tmp_path)["agents"]["support"]["resources"]}
    if gone in ("database", "deleting", "everything"):
        instance = names["aws/postgres/instance"]["name"]
        rds.delete_db_instance(DBInstanceIdentifier=instance, SkipFinalSnapshot=True)
    if gone in ("database", "everything"):
        sandbox.clock.advance(600)  # type: ignore[attr-defined]
        sandbox.inventory()
        sandbox.clock.advance(600)  # type: ignore[attr-defined]
    if gone in ("secret", "everything"):
        boto3.client("secretsmanager").delete_secret(
            SecretId=names["aws/postgres/secret"]["physical_id"], ForceDeleteWithoutRecovery=True
        )
    if gone == "everything":
        rds.delete_db_subnet_group(DBSubnetGroupName=names["aws/postgres/subnet-group"]["name"])
        boto3.client("ec2").delete_security_group(GroupId=names["aws/postgres/security-group"]["physical_id"])
    assert do_teardown(sandbox, tmp_path).remaining == ()
    assert standing(sandbox) == before
    assert do_teardown(sandbox, tmp_path).nothing_left


def test_e02_a_held_security_group_is_waited_for(sandbox: AwsSandbox, tmp_path: Path) -> None:
    sandbox.world.durations = Durations(eni_linger_s=180)
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["both"]))
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_e02_one_held_for_ever_ends_in_a_bounded_time_and_stays_recorded(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    path = write_agent(tmp_path, SCENARIOS["redis"])
    do_deploy(sandbox, path)
    sandbox.on_call(refuse("DeleteSecurityGroup", "DependencyViolation", "resource sg has a dependent object"))
    with pytest.raises(TeardownIncomplete, match="dependent object") as caught:
        do_teardown(sandbox, tmp_path)
    assert caught.value.exit_code != 0
    assert made(before, standing(sandbox)) == {"security_groups": 1}
    (left,) = state_of(tmp_path)["agents"]["support"]["resources"]
    assert (left["step_id"], left["phase"]) == ("aws/redis/security-group", "deleting")
    sandbox.on_call(None)
    do_deploy(sandbox, path)
    assert made(before, standing(sandbox)) == EXPECTED["aws"]["redis"]
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_e03_the_recorded_region_is_used_whatever_the_environment_says(
    sandbox: AwsSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = standing(sandbox)
    path = write_agent(tmp_path, SCENARIOS["redis"])
    do_deploy(sandbox, path)
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-1")
    path.write_text(path.read_text().replace("us-east-1", "us-west-1"))
    with pytest.raises(Exception, match="us-west-1"):
        do_deploy(sandbox, path)
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_e05_nothing_but_what_we_made_is_deleted(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["both"]))
    rds, name = boto3.client("rds"), ""
    for r in state_of(tmp_path)["agents"]["support"]["resources"]:
        name = r["name"] if r["step_id"] == "aws/postgres/instance" else name
    rds.create_db_snapshot(DBInstanceIdentifier=name, DBSnapshotIdentifier="users-own")
    boto3.client("secretsmanager").create_secret(Name="users-own", SecretString="x")
    boto3.client("ec2").create_security_group(GroupName="users-own", Description="x", VpcId=sandbox.vpc_id)
    do_teardown(sandbox, tmp_path)
    left = made(before, standing(sandbox))
    assert left == {"db_snapshots": 1, "secrets": 1, "security_groups": 1}


def test_e05_a_thing_of_somebody_else_under_a_recorded_name_is_left_alone(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["redis"]))
    groups = {r["step_id"]: r for r in state_of(tmp_path)["agents"]["support"]["resources"]}
    cache, name = boto3.client("elasticache"), groups["aws/redis/subnet-group"]["name"]
    arn = f"arn:aws:elasticache:us-east-1:123456789012:subnetgroup:{name}"
    cache.remove_tags_from_resource(ResourceName=arn, TagKeys=["agentbreeder:lineage"])
    events: list[Event] = []
    do_teardown(sandbox, tmp_path, on_event=events.append)
    assert standing(sandbox)["cache_subnet_groups"] == [f"us-east-1/{name}"]
    assert any("left alone" in getattr(e, "message", "") for e in events)


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "InternalFailure"])
def test_e07_a_part_that_cannot_be_deleted_is_a_failure_and_the_rest_goes(
    sandbox: AwsSandbox, tmp_path: Path, code: str
) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["both"]))
    sandbox.on_call(refuse("DeleteCacheSubnetGroup", code))
    with pytest.raises(TeardownIncomplete):
        do_teardown(sandbox, tmp_path)
    assert made(before, standing(sandbox)) == {"cache_subnet_groups": 1}
    sandbox.on_call(None)
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_e08_protection_is_seen_before_the_first_delete(sandbox: AwsSandbox, tmp_path: Path) -> None:
    body = "memory: {backend: postgresql, provision: {deletion_protection: true}}\nknowledge_bases: [{ref: x}]"
    do_deploy(sandbox, write_agent(tmp_path, body))
    before, count = standing(sandbox), len(sandbox.calls)
    with pytest.raises(ProtectionOn, match="--no-deletion-protection"):
        do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before
    assert not [c for c in sandbox.calls[count:] if c.operation.startswith(("Delete", "Modify"))]


def test_e08_a_final_snapshot_gets_a_free_name_and_is_reported(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    for _ in range(2):
        do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
        report = do_teardown(sandbox, tmp_path, final_snapshot=True)
        assert len(report.kept) == 1
    assert made(before, standing(sandbox)) == {"db_snapshots": 2}
    assert len(state_of(tmp_path)["agents"]["support"]["kept"]) == 2


def test_e10_a_deletion_that_never_ends_stops_at_its_limit_with_signs_of_life(
    sandbox: AwsSandbox, tmp_path: Path
) -> None:
    sandbox.world.durations = Durations(cache_delete_s=10**9)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["redis"]))
    events: list[Event] = []
    started = sandbox.clock.monotonic()
    with pytest.raises(TeardownIncomplete, match="deleting"):
        do_teardown(sandbox, tmp_path, on_event=events.append, timeout_s=1200)
    assert sandbox.clock.monotonic() - started < 1300
    waits = [e.elapsed_s for e in events if isinstance(e, StepWaiting)]
    assert waits == sorted(waits)
    assert len(waits) > 10


def test_c16_an_interrupt_saves_says_what_is_there_and_is_resumed(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    path = write_agent(tmp_path, SCENARIOS["both"])
    cancel = threading.Event()

    def stop_while_waiting(event: Event) -> None:
        if isinstance(event, StepWaiting) and event.step == "aws/postgres/instance":
            cancel.set()

    with pytest.raises(Interrupted, match="aws/postgres/instance") as caught:
        do_deploy(sandbox, path, cancel=cancel, on_event=stop_while_waiting)
    assert caught.value.exit_code == 130
    do_deploy(sandbox, path)
    assert made(before, standing(sandbox)) == EXPECTED["aws"]["both"]
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_d11_no_state_is_an_error_with_a_way_to_find_things_and_never_a_success(
    sandbox: AwsSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_deploy(sandbox, write_agent(tmp_path / "a", SCENARIOS["redis"]))
    with pytest.raises(StateMissing) as caught:
        teardown("support", project_dir=tmp_path / "b", clock=sandbox.clock)
    assert str(tmp_path / "b") in caught.value.detail
    assert "agentbreeder:agent" in caught.value.hint
    monkeypatch.chdir(tmp_path)
    assert do_deploy(sandbox, Path("a/agent.yaml")).changed is False
    with pytest.raises(StateMissing, match="support"):
        do_teardown(sandbox, tmp_path / "a", agent="suport")


def test_status_tells_ready_from_missing_and_drifted(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    (fine,) = status(project_dir=tmp_path, refresh=True, clock=sandbox.clock)
    assert fine.healthy
    names = {r.resource.step_id: r.resource for r in fine.resources}
    rds = boto3.client("rds")
    rds.modify_db_instance(
        DBInstanceIdentifier=names["aws/postgres/instance"].name, AllocatedStorage=99, ApplyImmediately=True
    )
    boto3.client("secretsmanager").delete_secret(SecretId=names["aws/postgres/secret"].physical_id)
    (found,) = status(project_dir=tmp_path, refresh=True, clock=sandbox.clock)
    seen = {r.resource.step_id: r.seen for r in found.resources}
    assert seen["aws/postgres/instance"] == "drifted"
    assert seen["aws/postgres/secret"] == "missing"
    assert not found.healthy


def test_credentials_that_expire_during_teardown_keep_the_record(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    sandbox.on_call(refuse("DeleteDBInstance", "ExpiredToken"))
    with pytest.raises(TeardownIncomplete) as caught:
        do_teardown(sandbox, tmp_path)
    assert isinstance(caught.value.__cause__, AuthError)
    sandbox.on_call(None)
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_a_failed_database_of_which_no_snapshot_can_be_taken_says_so_and_goes_without_one(
    sandbox: AwsSandbox, tmp_path: Path
) -> None:
    before = standing(sandbox)
    sandbox.world.fail_next["rds"] = "failed"
    with pytest.raises(ResourceFailed):
        do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    with pytest.raises(TeardownIncomplete, match="no final snapshot"):
        do_teardown(sandbox, tmp_path, final_snapshot=True)
    assert do_teardown(sandbox, tmp_path).kept == ()
    assert standing(sandbox) == before


def test_a_snapshot_once_asked_for_is_taken_by_the_rerun_too(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    sandbox.on_call(refuse("DeleteDBInstance", "AccessDenied"))
    with pytest.raises(TeardownIncomplete):
        do_teardown(sandbox, tmp_path, final_snapshot=True)
    sandbox.on_call(None)
    assert len(do_teardown(sandbox, tmp_path).kept) == 1


def test_every_text_sent_to_ec2_keeps_to_the_characters_it_allows(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["both"]))
    groups = boto3.client("ec2").describe_security_groups(
        Filters=[{"Name": "tag:managed-by", "Values": ["agentbreeder"]}]
    )
    texts = [g["Description"] for g in groups["SecurityGroups"]]
    for group in groups["SecurityGroups"]:
        for rule in group["IpPermissions"]:
            texts += [pair["Description"] for pair in rule["UserIdGroupPairs"]]
    assert len(texts) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}", t) for t in texts)
