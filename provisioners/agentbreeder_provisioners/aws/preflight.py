"""Read-only checks before the first change on AWS. Every problem is reported at once; nothing is created."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentbreeder_core.errors import AuthError, CloudError, Problem
from agentbreeder_resolver.plan_types import Finding, MemoryPlan, PostgresStore, RedisStore

from ..engine.wiring import Checks
from .clients import AwsClients

_MIN_ZONES = 2
_LISTED = 20


def check(aws: AwsClients, plan: MemoryPlan) -> Checks:
    """Subnets (exist, one VPC, two zones), security groups (exist, in that VPC), versions and classes on offer.

    Facts put out: `vpc_id`, `cache_engine_version` ("" lets AWS choose). Blocks for a handful of read calls.
    """
    checks = Checks(facts={"vpc_id": "", "cache_engine_version": ""})
    stores = plan.provisioned()
    if not stores:
        return checks
    _check_subnets(aws, plan, checks)
    _check_security_groups(aws, plan, checks)
    for store in stores:
        if isinstance(store, PostgresStore):
            _check_postgres(aws, store, checks)
        else:
            _check_redis(aws, store, checks)
    return checks


def _problem(checks: Checks, code: str, message: str, key: str) -> None:
    checks.problems.append(Problem(code=code, message=message, key=key))


def _describe(subnet: dict[str, Any]) -> str:
    return f"{subnet['SubnetId']} ({subnet['AvailabilityZone']}, {subnet['VpcId']}, {subnet.get('CidrBlock', '')})"


def _check_subnets(aws: AwsClients, plan: MemoryPlan, checks: Checks) -> None:
    wanted: Sequence[str] = plan.network.get("subnet_ids", ())
    key = "deploy.env_vars.AWS_VPC_SUBNETS"
    filters = [{"Name": "subnet-id", "Values": list(wanted)}] if wanted else []
    subnets = aws.call(aws.ec2.describe_subnets, Filters=filters)["Subnets"]
    if not wanted:
        there = ", ".join(_describe(s) for s in subnets[:_LISTED]) or "none"
        more = f" and {len(subnets) - _LISTED} more" if len(subnets) > _LISTED else ""
        _problem(checks, "SUBNETS_MISSING", f"no subnets given; {aws.region} has: {there}{more}", key)
        return
    _judge_subnets(aws, plan, checks, subnets, key)


def _judge_subnets(aws: AwsClients, plan: MemoryPlan, checks: Checks, subnets: list[dict[str, Any]], key: str) -> None:
    wanted = plan.network["subnet_ids"]
    missing = [s for s in wanted if s not in {x["SubnetId"] for x in subnets}]
    listed = ", ".join(f"{s['SubnetId']} -> {s['AvailabilityZone']}" for s in subnets)
    if missing:
        _problem(checks, "SUBNET_NOT_FOUND", f"not in region {aws.region}: {', '.join(missing)}", key)
    vpcs = sorted({s["VpcId"] for s in subnets})
    if len(vpcs) > 1:
        spread = ", ".join(f"{s['SubnetId']} in {s['VpcId']}" for s in subnets)
        _problem(checks, "SUBNETS_IN_TWO_VPCS", f"all subnets must be in one VPC: {spread}", key)
    elif vpcs:
        checks.facts["vpc_id"] = vpcs[0]
    zones = {s["AvailabilityZone"] for s in subnets}
    if subnets and not missing and len(zones) < _MIN_ZONES:
        _problem(checks, "ONE_ZONE", f"AWS wants subnets in at least two zones, these are in one: {listed}", key)
    named = plan.network.get("vpc_id", "")
    if named and vpcs and vpcs != [named]:
        message = f"AWS_VPC_ID is {named}, but the subnets are in {', '.join(vpcs)}"
        _problem(checks, "VPC_MISMATCH", message, "deploy.env_vars.AWS_VPC_ID")


def _check_security_groups(aws: AwsClients, plan: MemoryPlan, checks: Checks) -> None:
    wanted: Sequence[str] = plan.network.get("security_group_ids", ())
    key = "deploy.env_vars.AWS_SECURITY_GROUPS"
    vpc = checks.facts["vpc_id"] or plan.network.get("vpc_id", "")
    filters = [{"Name": "group-id", "Values": list(wanted)}] if wanted else []
    if not wanted and vpc:
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
    groups = aws.call(aws.ec2.describe_security_groups, Filters=filters)["SecurityGroups"]
    if not wanted:
        there = ", ".join(f"{g['GroupId']} ({g['GroupName']})" for g in groups[:_LISTED]) or "none"
        message = f"name the agent's own security groups, so that only it can reach the store; there are: {there}"
        _problem(checks, "SECURITY_GROUPS_MISSING", message, key)
        return
    by_id = {g["GroupId"]: g for g in groups}
    missing = [g for g in wanted if g not in by_id]
    if missing:
        _problem(checks, "SECURITY_GROUP_NOT_FOUND", f"not in region {aws.region}: {', '.join(missing)}", key)
    for group_id, group in by_id.items():
        if vpc and group["VpcId"] != vpc:
            message = f"{group_id} is in {group['VpcId']}, but the subnets are in {vpc}"
            _problem(checks, "SECURITY_GROUP_IN_OTHER_VPC", message, key)


def _offers(checks: Checks, what: str, ask: Callable[[], list[Any]]) -> list[Any] | None:
    """What AWS offers, or None with a warning when it cannot be asked: advice must not stop a deploy."""
    try:
        return ask()
    except AuthError as e:
        note = f"{what} could not be checked: {e.detail}"
    except (CloudError, NotImplementedError) as e:
        note = f"{what} could not be checked ({type(e).__name__}); AWS will say so at creation if it is not offered"
    checks.findings.append(Finding(severity="warning", code="PREFLIGHT_UNCHECKED", message=note))
    return None


def _check_postgres(aws: AwsClients, store: PostgresStore, checks: Checks) -> None:
    def versions() -> list[Any]:
        answer = aws.call(
            aws.rds.describe_db_engine_versions, retry=False, Engine="postgres", EngineVersion=store.engine_version
        )
        return list(answer["DBEngineVersions"])

    def classes(**params: Any) -> list[Any]:
        answer = aws.call(
            aws.rds.describe_orderable_db_instance_options, retry=False, Engine="postgres", MaxRecords=20, **params
        )
        return list(answer["OrderableDBInstanceOptions"])

    offered = _offers(checks, "the PostgreSQL version", versions)
    if offered is not None and not offered:
        message = f"{aws.region} does not offer PostgreSQL {store.engine_version}"
        _problem(checks, "VERSION_NOT_OFFERED", message, "memory.provision.engine_version")
    if not offered:
        return
    name = store.instance_class
    found = _offers(checks, "the instance class", lambda: classes(DBInstanceClass=name))
    # An endpoint that lists nothing at all cannot tell (stock moto): only a class missing among others is a fault.
    if found is not None and not found and _offers(checks, "the instance class", classes):
        message = f"{aws.region} does not offer {name} for PostgreSQL"
        _problem(checks, "CLASS_NOT_OFFERED", message, "memory.provision.instance_class")


def _check_redis(aws: AwsClients, store: RedisStore, checks: Checks) -> None:
    def versions() -> list[str]:
        answer = aws.call(aws.elasticache.describe_cache_engine_versions, retry=False, Engine=store.engine)
        return [str(v["EngineVersion"]) for v in answer["CacheEngineVersions"]]

    offered = _offers(checks, f"the {store.engine} version", versions)
    if not offered:
        return
    fitting = [v for v in offered if v.split(".")[0] == store.engine_version]
    if not fitting:
        message = f"{aws.region} does not offer {store.engine} {store.engine_version}; it offers {', '.join(offered)}"
        _problem(checks, "VERSION_NOT_OFFERED", message, "memory.provision.engine_version")
        return
    checks.facts["cache_engine_version"] = max(fitting, key=_version_key)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(p) if p.isdigit() else 0 for p in version.split("."))
