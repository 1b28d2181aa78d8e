"""Read-only checks before the first change on Google Cloud. Every problem is reported at once; nothing is created."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, ip_network
from typing import Any

from agentbreeder_core.errors import AuthError, CloudError, Problem
from agentbreeder_resolver.plan_types import Finding, MemoryPlan, PostgresStore, RedisStore

from ..engine.kinds import NotFound
from ..engine.wiring import Checks
from .clients import GcpClients
from .names import network_parts, network_path

_PSA = "servicenetworking.googleapis.com"
_BLOCK = 24  # Cloud SQL takes a /24 per region and type of instance (facts, section 4.1)
_KEY = "deploy.env_vars.GCP_VPC_NETWORK"


def check(gcp: GcpClients, plan: MemoryPlan) -> Checks:
    """APIs enabled, the network, private services access with a free range.

    Fact put out: `redis_connect_mode`. Blocks for a handful of read calls. Private services access belongs to the whole
    network, so it is looked at and never made or edited; the problem prints the two commands that make it.
    """
    checks = Checks(facts={"redis_connect_mode": "DIRECT_PEERING"})
    stores = plan.provisioned()
    _check_apis(gcp, plan, checks)
    if not stores or checks.problems:
        return checks
    path = network_path(gcp.project, str(plan.network.get("vpc_network", "") or "default"))
    if not _check_network(gcp, path, checks):
        return checks
    peered = _peered_ranges(gcp, path, checks)
    if any(isinstance(s, PostgresStore) for s in stores):
        _check_peering(gcp, plan, path, peered, checks)
    if any(isinstance(s, RedisStore) for s in stores):
        _choose_connect_mode(path, peered, checks)
    return checks


def _problem(checks: Checks, code: str, message: str, key: str) -> None:
    checks.problems.append(Problem(code=code, message=message, key=key))


def _unchecked(checks: Checks, what: str, error: CloudError) -> None:
    detail = error.detail if isinstance(error, AuthError) else error.code
    note = f"{what} could not be checked ({detail}); Google will say so at creation if it is not as needed"
    checks.findings.append(Finding(severity="warning", code="PREFLIGHT_UNCHECKED", message=note))


def needed_apis(plan: MemoryPlan) -> list[str]:
    """The APIs that deploying this plan calls, beside those of the checks themselves."""
    apis = {"secretmanager.googleapis.com"} if plan.secret_env else set()
    for store in plan.provisioned():
        apis |= {"compute.googleapis.com", _PSA}
        apis.add("sqladmin.googleapis.com" if isinstance(store, PostgresStore) else "redis.googleapis.com")
    return sorted(apis)


def _check_apis(gcp: GcpClients, plan: MemoryPlan, checks: Checks) -> None:
    wanted = needed_apis(plan)
    number = gcp.project_record()["projectNumber"]
    names = [f"projects/{number}/services/{api}" for api in wanted]
    if not names:
        return
    try:
        answer = gcp.rest(
            "serviceusage",
            "services.batchGet",
            "GET",
            f"/v1/projects/{number}/services:batchGet",
            params={"names": names},
            retry=False,
        )
    except CloudError as e:
        _unchecked(checks, "which APIs are enabled", e)
        return
    states = {str(s["name"]).rpartition("/")[2]: s.get("state") for s in answer.get("services", ())}
    missing = [api for api in wanted if states.get(api) != "ENABLED"]
    if missing:
        message = (
            f"not enabled in project {gcp.project}: {', '.join(missing)}; "
            f"gcloud services enable {' '.join(missing)} --project {gcp.project}"
        )
        _problem(checks, "API_DISABLED", message, "deploy.env_vars.GOOGLE_CLOUD_PROJECT")


def _check_network(gcp: GcpClients, path: str, checks: Checks) -> bool:
    project, name = network_parts(path)
    try:
        gcp.rest("compute", "networks.get", "GET", f"/compute/v1/projects/{project}/global/networks/{name}")
    except NotFound:
        message = f"project {project} has no network {name!r}; gcloud compute networks list --project {project}"
        _problem(checks, "NETWORK_NOT_FOUND", message, _KEY)
        return False
    except CloudError as e:
        _unchecked(checks, f"network {name!r}", e)
    return True


def _peered_ranges(gcp: GcpClients, path: str, checks: Checks) -> list[str] | None:
    """Names of the ranges that private services access may use; [] without it, None when it cannot be asked."""
    _, name = network_parts(path)
    number = gcp.project_record()["projectNumber"]
    try:
        answer = gcp.rest(
            "servicenetworking",
            "services.connections.list",
            "GET",
            f"/v1/services/{_PSA}/connections",
            params={"network": f"projects/{number}/global/networks/{name}"},
        )
    except CloudError as e:
        _unchecked(checks, f"private services access of {name!r}", e)
        return None
    return [str(r) for c in answer.get("connections", ()) for r in c.get("reservedPeeringRanges", ())]


def commands_for_access(project: str, network: str) -> str:
    """The two commands that make private services access, for a person to run."""
    return (
        f"gcloud compute addresses create {network}-google-services --project {project} --global "
        f"--purpose VPC_PEERING --prefix-length 16 --network {network} && "
        f"gcloud services vpc-peerings connect --project {project} --service {_PSA} --network {network} "
        f"--ranges {network}-google-services"
    )


def _check_peering(gcp: GcpClients, plan: MemoryPlan, path: str, peered: list[str] | None, checks: Checks) -> None:
    project, name = network_parts(path)
    if peered is None:
        return
    if not peered:
        message = (
            f"network {name!r} has no private services access, which a private Cloud SQL needs; it belongs to the whole "
            f"network, so it is yours to make: {commands_for_access(project, name)}"
        )
        _problem(checks, "PRIVATE_SERVICES_ACCESS_MISSING", message, _KEY)
        return
    try:
        full = not _has_free_block(gcp, project, name, plan.region, peered)
    except NotFound as e:
        message = (
            f"a range of private services access on {name!r} is gone ({e.detail}): {commands_for_access(project, name)}"
        )
        _problem(checks, "PRIVATE_SERVICES_RANGE_MISSING", message, _KEY)
        return
    except CloudError as e:
        _unchecked(checks, f"the free space of private services access on {name!r}", e)
        return
    if full:
        message = (
            f"the ranges of private services access on {name!r} ({', '.join(peered)}) have no free /{_BLOCK} left; add one: "
            f"gcloud compute addresses create {name}-google-services-2 --project {project} --global --purpose VPC_PEERING "
            f"--prefix-length 16 --network {name} && gcloud services vpc-peerings update --project {project} "
            f"--service {_PSA} --network {name} --ranges {','.join([*peered, f'{name}-google-services-2'])}"
        )
        _problem(checks, "PRIVATE_SERVICES_RANGE_FULL", message, _KEY)


def _has_free_block(gcp: GcpClients, project: str, network: str, region: str, ranges: list[str]) -> bool:
    """Whether a /24 of the ranges is not routed to Google yet, or one already is in this region and may have room."""
    whole = [_range(gcp, project, name) for name in ranges]
    routes = gcp.rest(
        "compute",
        "networks.listPeeringRoutes",
        "GET",
        f"/compute/v1/projects/{project}/global/networks/{network}/listPeeringRoutes",
        params={"peeringName": "servicenetworking-googleapis-com", "direction": "INCOMING", "region": region},
    )
    used = [ip_network(str(r["destRange"])) for r in routes.get("items", ()) if _is_v4(r)]
    return any(_free(w, [u for u in used if isinstance(u, IPv4Network)]) for w in whole)


def _is_v4(route: Mapping[str, Any]) -> bool:
    return "." in str(route.get("destRange", ""))


def _range(gcp: GcpClients, project: str, name: str) -> IPv4Network:
    answer = gcp.rest(
        "compute", "globalAddresses.get", "GET", f"/compute/v1/projects/{project}/global/addresses/{name}"
    )
    return IPv4Network(f"{answer['address']}/{answer['prefixLength']}")


def _free(whole: IPv4Network, used: list[IPv4Network]) -> bool:
    if whole.prefixlen > _BLOCK:
        return False
    return any(not any(block.overlaps(u) for u in used) for block in whole.subnets(new_prefix=_BLOCK))


def _choose_connect_mode(path: str, peered: list[str] | None, checks: Checks) -> None:
    _, name = network_parts(path)
    if peered:
        mode, why = "PRIVATE_SERVICE_ACCESS", f"network {name!r} has private services access"
    else:
        mode, why = "DIRECT_PEERING", f"network {name!r} has no private services access that could be seen"
    checks.facts["redis_connect_mode"] = mode
    note = f"Memorystore is connected by {mode}, because {why}"
    checks.findings.append(Finding(severity="note", code="REDIS_CONNECT_MODE", message=note))
