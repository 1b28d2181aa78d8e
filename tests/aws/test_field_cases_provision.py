"""Field cases C: races and faults while making things on AWS."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from agentbreeder_core.errors import AuthError, PreflightFailed, ResourceFailed, StepTimeout
from agentbreeder_core.secret import PASSWORD_LENGTH, new_password
from agentbreeder_provisioners import deploy, environment, plan
from agentbreeder_provisioners.aws.names import base_name
from agentbreeder_resolver import BackendUrl
from agentbreeder_resolver.url_build import make_postgres_url
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.aws.world import Durations
from agentbreeder_sandbox.calls import ApiCall, Fault
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, made, standing, state_of
from support.scenes import EXPECTED


def creates(sandbox: AwsSandbox) -> list[str]:
    """Every call so far that makes something."""
    return [c.operation for c in sandbox.calls if c.operation.startswith(("Create", "Put", "Authorize"))]


def nth(operation: str, numbers: set[int], fault: Fault) -> Callable[[ApiCall], Fault | None]:
    """A hook for some of the calls of one operation, counted from 1."""
    seen = [0]

    def hook(call: ApiCall) -> Fault | None:
        if call.operation != operation:
            return None
        seen[0] += 1
        return fault if seen[0] in numbers else None

    return hook


def test_c01_a_wait_that_timed_out_is_resumed_with_one_create_in_total(sandbox: AwsSandbox, tmp_path: Path) -> None:
    sandbox.world.durations = Durations(rds_create_s=10_000)
    path = write_agent(tmp_path, SCENARIOS["postgres"])
    with pytest.raises(StepTimeout) as caught:
        do_deploy(sandbox, path)
    assert "recorded" in caught.value.detail
    assert caught.value.hint
    (instance,) = [
        r for r in state_of(tmp_path)["agents"]["support"]["resources"] if r["step_id"] == "aws/postgres/instance"
    ]
    assert (instance["phase"], instance["physical_id"]) == ("created", instance["name"])
    sandbox.clock.advance(10_000)  # type: ignore[attr-defined]
    do_deploy(sandbox, path)
    assert creates(sandbox).count("CreateDBInstance") == 1


def test_c01_the_overall_timeout_is_kept(sandbox: AwsSandbox, tmp_path: Path) -> None:
    started = sandbox.clock.monotonic()
    with pytest.raises(StepTimeout):
        do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]), timeout_s=60)
    assert sandbox.clock.monotonic() - started < 120


@pytest.mark.parametrize("tags", [{}, {"managed-by": "agentbreeder", "agentbreeder:agent": "other"}])
def test_c03_a_foreign_resource_of_our_name_stops_everything_and_is_left(
    sandbox: AwsSandbox, tmp_path: Path, tags: dict[str, str]
) -> None:
    path = write_agent(tmp_path, SCENARIOS["postgres"])
    name = base_name(agent="support", team="care", region="us-east-1") + "-pg"
    boto3.client("ec2").create_security_group(
        GroupName=name,
        Description="x",
        VpcId=sandbox.vpc_id,
        TagSpecifications=[
            {"ResourceType": "security-group", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
        ]
        if tags
        else [],
    )
    before = standing(sandbox)
    with pytest.raises(PreflightFailed) as caught:
        do_deploy(sandbox, path)
    assert name in caught.value.problems[0].message
    assert standing(sandbox) == before
    assert not (tmp_path / ".agentbreeder" / "infra-state.json").exists()


def test_c03_what_carries_our_tags_is_found_and_not_made_twice(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, SCENARIOS["redis"])
    before = standing(sandbox)
    do_deploy(sandbox, path)
    file = tmp_path / ".agentbreeder" / "infra-state.json"
    state = json.loads(file.read_text())
    for resource in state["agents"]["support"]["resources"]:
        resource.update(phase="intent", physical_id="", outputs={}, created_at=None)
    file.write_text(json.dumps(state))
    count = len(creates(sandbox))
    do_deploy(sandbox, path)
    assert [c for c in creates(sandbox)[count:] if c.startswith("Create")] == []
    assert made(before, standing(sandbox)) == EXPECTED["aws"]["redis"]


def test_c03_a_lost_state_is_picked_up_only_when_asked_to(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path / "a", SCENARIOS["shared"]))
    other = write_agent(tmp_path / "b", SCENARIOS["shared"])
    with pytest.raises(PreflightFailed) as caught:
        do_deploy(sandbox, other)
    assert "--adopt" in caught.value.hint
    adopted = do_deploy(sandbox, other, adopt=True)
    assert {r.ownership for r in adopted.resources if r.step_id != "aws/postgres/url"} == {"adopted"}
    assert made(before, standing(sandbox)) == EXPECTED["aws"]["shared"]
    do_teardown(sandbox, other.parent)
    assert standing(sandbox) == before


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_c04_what_is_invisible_for_a_while_is_neither_forgotten_nor_made_twice(
    sandbox: AwsSandbox, tmp_path: Path, scenario: str
) -> None:
    sandbox.world.durations = Durations(visibility_lag_s=40)
    before = standing(sandbox)
    path = write_agent(tmp_path, SCENARIOS[scenario])
    do_deploy(sandbox, path)
    assert made(before, standing(sandbox)) == EXPECTED["aws"][scenario]
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_c05_throttled_polls_are_waited_out_and_the_interval_grows(sandbox: AwsSandbox, tmp_path: Path) -> None:
    sandbox.on_call(nth("DescribeDBInstances", {3, 4, 5}, Fault(kind="reject", code="Throttling")))
    waits: list[float] = []
    do_deploy(
        sandbox,
        write_agent(tmp_path, SCENARIOS["postgres"]),
        on_event=lambda e: waits.append(e.elapsed_s) if type(e).__name__ == "StepWaiting" else None,  # type: ignore[attr-defined]
    )
    gaps = [b - a for a, b in itertools.pairwise(waits)]
    assert gaps[-1] > gaps[0]


def test_c05_throttling_that_never_ends_fails_and_can_be_resumed(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, SCENARIOS["postgres"])
    always = nth("CreateDBInstance", set(range(1, 10_000)), Fault(kind="reject", code="Throttling"))
    sandbox.on_call(always)
    with pytest.raises(Exception, match="Throttling") as caught:
        do_deploy(sandbox, path)
    assert type(caught.value).__name__ in ("Transient", "StepTimeout")
    sandbox.on_call(None)
    assert do_deploy(sandbox, path).changed


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_c06_deploy_teardown_deploy_works_at_once(sandbox: AwsSandbox, tmp_path: Path, scenario: str) -> None:
    before = standing(sandbox)
    path = write_agent(tmp_path, SCENARIOS[scenario])
    for _ in range(2):
        do_deploy(sandbox, path)
        assert made(before, standing(sandbox)) == EXPECTED["aws"][scenario]
        do_teardown(sandbox, tmp_path)
        assert standing(sandbox) == before


def test_c06_a_name_held_by_anothers_deleted_secret_gets_the_next_generation(
    sandbox: AwsSandbox, tmp_path: Path
) -> None:
    do_deploy(sandbox, write_agent(tmp_path / "a", SCENARIOS["postgres"]))
    do_teardown(sandbox, tmp_path / "a")
    do_deploy(sandbox, write_agent(tmp_path / "b", SCENARIOS["postgres"]))
    (secret,) = standing(sandbox)["secrets"]
    assert secret.endswith("-g2")
    assert do_deploy(sandbox, tmp_path / "b" / "agent.yaml").changed is False


@pytest.mark.parametrize(
    ("subnets", "code"),
    [
        (lambda s: s.subnet_ids[:1], "ONE_ZONE"),
        (lambda s: [s.subnet_ids[0], s.second_vpc()[1][0]], "SUBNETS_IN_TWO_VPCS"),
        (lambda s: [s.subnet_ids[0], "subnet-00000000000000000"], "SUBNET_NOT_FOUND"),
        (lambda s: [], "SUBNETS_MISSING"),
    ],
)
def test_c10_a_network_that_cannot_work_is_refused_before_anything_is_made(
    sandbox: AwsSandbox, tmp_path: Path, subnets: Callable[[AwsSandbox], list[str]], code: str
) -> None:
    path = write_agent(tmp_path, SCENARIOS["both"])
    network: dict[str, Any] = {**sandbox.network_env(), "AWS_VPC_SUBNETS": ",".join(subnets(sandbox))}
    sandbox.on_call(None)
    with pytest.raises(PreflightFailed) as caught:
        deploy(path, clock=sandbox.clock, network_env=network)
    problem = next(p for p in caught.value.problems if p.code == code)
    assert creates(sandbox) == []
    if code == "ONE_ZONE":
        assert f"{sandbox.subnet_ids[0]} -> us-east-1a" in problem.message
    if code == "SUBNETS_MISSING":
        assert all(s in problem.message for s in sandbox.subnet_ids)


def test_c10_blanks_and_trailing_commas_in_the_list_do_no_harm(sandbox: AwsSandbox, tmp_path: Path) -> None:
    network = {**sandbox.network_env(), "AWS_VPC_SUBNETS": " " + " , ".join(sandbox.subnet_ids) + " , "}
    assert deploy(write_agent(tmp_path, SCENARIOS["redis"]), clock=sandbox.clock, network_env=network).changed


def test_c10_all_findings_of_preflight_come_at_once(sandbox: AwsSandbox, tmp_path: Path) -> None:
    body = "memory:\n  backend: postgresql\n  provision: {instance_class: db.z9.huge}"
    network = {"AWS_VPC_SUBNETS": sandbox.subnet_ids[0], "AWS_SECURITY_GROUPS": "sg-00000000000000000"}
    with pytest.raises(PreflightFailed) as caught:
        deploy(write_agent(tmp_path, body), clock=sandbox.clock, network_env=network)
    assert {p.code for p in caught.value.problems} == {"ONE_ZONE", "SECURITY_GROUP_NOT_FOUND", "CLASS_NOT_OFFERED"}


PAIRS = [
    ("a" * 60 + "-one1", "a" * 60 + "-two2"),
    ("My-Agent", "my-agent"),
    ("a_b", "a-b"),
    ("a.b", "a-b"),
    ("x" * 199 + "1", "x" * 199 + "2"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_c11_different_agents_never_share_a_name(one: str, other: str) -> None:
    names = {base_name(agent=n, team="t", region="us-east-1") for n in (one, other)}
    assert len(names) == 2
    assert all(len(n) + len("-redis") <= 40 and n[0].isalpha() and "--" not in n for n in names)


def test_c11_team_and_region_are_part_of_the_name_and_it_never_changes() -> None:
    names = [base_name(agent="a", team=t, region=r) for t in ("x", "y") for r in ("us-east-1", "eu-west-1")]
    assert len(set(names)) == 4
    assert names[0] == base_name(agent="a", team="x", region="us-east-1")


def test_f11_odd_agent_names_each_get_their_own_working_secret(sandbox: AwsSandbox, tmp_path: Path) -> None:
    urls = set()
    for n, name in enumerate(["My_Agent.v2", "a-b", "a_b", "n" * 130]):
        do_deploy(sandbox, write_agent(tmp_path / str(n), SCENARIOS["postgres"], name=name))
        found = environment(name, project_dir=tmp_path / str(n), reveal=True)
        urls.add(found.revealed["DATABASE_URL"].reveal())
    assert len(urls) == 4


def test_c13_ten_thousand_passwords_are_valid_everywhere_and_round_trip() -> None:
    seen = set()
    for _ in range(10_000):
        secret = new_password()
        text = secret.reveal()
        seen.add(text)
        assert len(text) == PASSWORD_LENGTH
        assert text.isascii()
        assert text.isalnum()
        parsed = BackendUrl.parse(make_postgres_url("u", secret, "h.example.com", 5432, "d").reveal())
        assert parsed.password == secret
    assert len(seen) == 10_000


@pytest.mark.parametrize("code", ["ExpiredToken", "AccessDenied"])
def test_c15_credentials_that_stop_working_end_the_wait_within_one_poll(
    sandbox: AwsSandbox, tmp_path: Path, code: str
) -> None:
    path = write_agent(tmp_path, SCENARIOS["postgres"])
    fault = Fault(kind="reject", code=code, message="no", status=403)
    sandbox.on_call(nth("DescribeDBInstances", set(range(4, 100)), fault))
    with pytest.raises(AuthError) as caught:
        do_deploy(sandbox, path)
    assert caught.value.exit_code == 3
    if code == "ExpiredToken":
        assert "credentials expired" in caught.value.detail
    sandbox.on_call(None)
    do_deploy(sandbox, path)
    assert creates(sandbox).count("CreateDBInstance") == 1


def test_c15_a_refusal_is_never_taken_for_gone(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["redis"]))
    fault = Fault(kind="reject", code="AccessDenied", message="no", status=403)
    sandbox.on_call(nth("DescribeReplicationGroups", set(range(1, 100)), fault))
    with pytest.raises(Exception, match="aws/redis/replication-group"):
        do_teardown(sandbox, tmp_path)
    assert "replication_groups" in made(before, standing(sandbox))
    sandbox.on_call(None)
    do_teardown(sandbox, tmp_path)
    assert standing(sandbox) == before


def test_a_store_that_the_cloud_gave_up_on_is_said_and_torn_down(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    for service, scenario, status in (("rds", "postgres", "failed"), ("elasticache", "redis", "create-failed")):
        sandbox.world.fail_next[service] = status
        path = write_agent(tmp_path / service, SCENARIOS[scenario])
        with pytest.raises(ResourceFailed, match=status):
            do_deploy(sandbox, path)
        do_teardown(sandbox, path.parent)
        assert standing(sandbox) == before


def test_other_credentials_are_refused_before_any_change(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, SCENARIOS["redis"])
    do_deploy(sandbox, path)
    file = tmp_path / ".agentbreeder" / "infra-state.json"
    file.write_text(file.read_text().replace('"123456789012"', '"999999999999"'))
    count = len(sandbox.calls)
    for work in (lambda: do_deploy(sandbox, path), lambda: do_teardown(sandbox, tmp_path)):
        with pytest.raises(AuthError, match="999999999999"):
            work()
    assert {c.operation for c in sandbox.calls[count:]} == {"GetCallerIdentity"}


def test_plan_is_offline_and_preflight_only_reads(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, SCENARIOS["both"])
    offline = plan(path, network_env=sandbox.network_env())
    assert sandbox.calls == []
    assert len(offline.steps) == 10
    checked = plan(path, network_env=sandbox.network_env(), preflight=True, clock=sandbox.clock)
    assert checked.preflighted
    assert {c.operation[:3] for c in sandbox.calls} <= {"Des", "Get", "Lis"}
    assert not (tmp_path / ".agentbreeder").exists()


def test_a_second_deploy_says_no_changes_and_only_reads(sandbox: AwsSandbox, tmp_path: Path) -> None:
    path = write_agent(tmp_path, SCENARIOS["both"])
    do_deploy(sandbox, path)
    state, count = state_of(tmp_path), len(sandbox.calls)
    second = do_deploy(sandbox, path)
    assert (second.changed, second.planned.changes) == (False, False)
    assert {c.operation[:3] for c in sandbox.calls[count:]} <= {"Des", "Get", "Lis"}
    assert state_of(tmp_path) == state


def test_a_changed_request_for_what_exists_is_refused_and_changes_nothing(sandbox: AwsSandbox, tmp_path: Path) -> None:
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["postgres"]))
    path = write_agent(tmp_path, "memory: {backend: postgresql, provision: {storage_gib: 50}}")
    with pytest.raises(Exception, match=r"storage_gib 20.*50"):
        do_deploy(sandbox, path)


def test_what_the_file_stops_asking_for_stays_until_teardown_unused(sandbox: AwsSandbox, tmp_path: Path) -> None:
    before = standing(sandbox)
    do_deploy(sandbox, write_agent(tmp_path, SCENARIOS["both"]))
    path = write_agent(tmp_path, "memory: {backend: redis, provision: {tls: true}}")
    after = do_deploy(sandbox, path)
    assert {r.step_id for r in after.resources if r.unused} == {
        f"aws/postgres/{s}" for s in ("security-group", "subnet-group", "secret", "instance", "url")
    }
    assert made(before, standing(sandbox)) == EXPECTED["aws"]["both"]
    do_teardown(sandbox, tmp_path, unused_only=True)
    assert "db_instances" not in made(before, standing(sandbox))
    assert do_deploy(sandbox, path).changed is False
