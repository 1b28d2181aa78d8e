"""Read-only checks before the first change on Azure. Every problem is reported at once; nothing is created.

Each problem ends with the `az` command that mends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentbreeder_core.errors import AuthError, CloudError, Problem
from agentbreeder_resolver.plan_types import Finding, MemoryPlan, PostgresStore, RedisStore

from ..engine.kinds import NotFound
from ..engine.wiring import Checks
from .clients import AzureClients
from .errors import ROLE_HINT, NotPermitted
from .names import base_name, group_id, same_id
from .preflight_network import check_network
from .preflight_vault import check_vault
from .store_steps import tier_of

_RESOURCES_API = "2021-04-01"
_SUBSCRIPTIONS_API = "2022-12-01"
_POSTGRES, _CACHE, _VAULT, _NETWORK = (
    "Microsoft.DBforPostgreSQL",
    "Microsoft.Cache",
    "Microsoft.KeyVault",
    "Microsoft.Network",
)
FACTS = ("vault_id", "vault_uri", "tenant_id", "deployer_id", "deployer_type", "dns_zone_id", "vnet_id")


def subscription(az: AzureClients) -> dict[str, Any]:
    """The subscription's record: proof that the credentials reach it. Raises `AuthError` when they do not.

    A role on a resource group alone may not read it, but it is listed for whoever has a role anywhere in it.
    """
    try:
        return az.request("GET", f"/subscriptions/{az.subscription}", api_version=_SUBSCRIPTIONS_API).body
    except (NotFound, NotPermitted) as e:
        for listed in az.listed("/subscriptions", api_version=_SUBSCRIPTIONS_API):
            if same_id(str(listed.get("subscriptionId", "")), az.subscription):
                return listed
        hint = f"check AZURE_SUBSCRIPTION_ID (az account list --output table) and your role there ({ROLE_HINT})"
        raise AuthError(f"these credentials do not reach subscription {az.subscription}", hint=hint) from e


def check(az: AzureClients, plan: MemoryPlan) -> Checks:
    """Resource group, providers, network and zone, vault and rights in it, sizes, names.

    Facts put out: `FACTS`; `dns_zone_id` is "" when a zone must be made. Blocks for a dozen read calls.
    """
    checks = Checks(facts=dict.fromkeys(FACTS, ""))
    stores = plan.provisioned()
    if not stores and not plan.secret_urls:
        return checks
    if not _group_is_there(az, plan, checks):
        return checks  # everything below is looked for in it
    postgres = [s for s in stores if isinstance(s, PostgresStore)]
    redis = [s for s in stores if isinstance(s, RedisStore)]
    _check_providers(az, checks, bool(postgres), bool(redis))
    check_vault(az, plan, checks, str(subscription(az).get("tenantId") or ""))
    for one in postgres:
        check_network(az, plan, checks)
        _check_postgres(az, plan, one, checks)
    for store in redis:
        _check_redis(az, plan, store, checks)
    return checks


def _problem(checks: Checks, code: str, message: str, key: str) -> None:
    checks.problems.append(Problem(code=code, message=message, key=key))


def _group_is_there(az: AzureClients, plan: MemoryPlan, checks: Checks) -> bool:
    group, key = str(plan.network.get("resource_group", "")), "deploy.env_vars.AZURE_RESOURCE_GROUP"
    if not group:
        _problem(checks, "GROUP_MISSING", "no resource group is named; there are: az group list --output table", key)
        return False
    try:
        az.request("GET", group_id(az.subscription, group), api_version=_RESOURCES_API)
    except NotFound:
        message = f"resource group {group!r} does not exist: az group create --name {group} --location {plan.region}"
        _problem(checks, "GROUP_NOT_FOUND", message, key)
        return False
    return True


def _check_providers(az: AzureClients, checks: Checks, postgres: bool, redis: bool) -> None:
    wanted = [_VAULT, *([_POSTGRES, _NETWORK] if postgres else []), *([_CACHE] if redis else [])]
    for namespace in wanted:
        path = f"/subscriptions/{az.subscription}/providers/{namespace}"
        found = _offers(
            checks,
            f"whether {namespace} is registered",
            lambda path=path: az.request("GET", path, api_version=_RESOURCES_API).body,  # type: ignore[misc]
        )
        state = str((found or {}).get("registrationState", ""))
        if found is not None and state not in ("Registered", "Registering"):
            message = f"the subscription is not registered for {namespace}: az provider register --namespace {namespace} --wait"
            _problem(checks, "PROVIDER_NOT_REGISTERED", message, "deploy.env_vars.AZURE_SUBSCRIPTION_ID")


def _offers(checks: Checks, what: str, ask: Callable[[], Any]) -> Any:
    """What Azure answers, or None with a warning when it cannot be asked: these addresses lie at the subscription, where
    a role on the resource group does not reach, and advice must not stop a deploy."""
    try:
        return ask()
    except AuthError as e:
        note = f"{what} could not be checked: {e.detail}"
    except CloudError as e:
        note = f"{what} could not be checked ({e.code}); Azure will say so at creation"
    checks.findings.append(Finding(severity="warning", code="PREFLIGHT_UNCHECKED", message=note))
    return None


def _check_postgres(az: AzureClients, plan: MemoryPlan, store: PostgresStore, checks: Checks) -> None:
    _check_server_name(az, plan, checks)
    if store.multi_az and tier_of(store.instance_class) == "Burstable":
        message = f"{store.instance_class} is Burstable, and that tier has no standby: choose a Standard_D size"
        _problem(checks, "NO_STANDBY", message, "memory.provision.multi_az")
    base = f"/subscriptions/{az.subscription}/providers/{_POSTGRES}/locations/{plan.region}/capabilities"
    offered = _offers(checks, "sizes and versions", lambda: az.listed(base, api_version="2024-08-01"))
    if not offered:
        return
    listing = f"az postgres flexible-server list-skus --location {plan.region} --output table"
    if all(str(o.get("restricted", "Disabled")) == "Enabled" for o in offered):
        message = f"this subscription may not make PostgreSQL servers in {plan.region}: {listing} for another region"
        _problem(checks, "REGION_RESTRICTED", message, "deploy.region")
        return
    skus, versions = _offered(offered)
    if skus and store.instance_class.casefold() not in skus:
        message = f"{plan.region} does not offer {store.instance_class} for PostgreSQL: {listing}"
        _problem(checks, "CLASS_NOT_OFFERED", message, "memory.provision.instance_class")
    if versions and store.engine_version not in versions:
        message = f"{plan.region} does not offer PostgreSQL {store.engine_version}: {listing}"
        _problem(checks, "VERSION_NOT_OFFERED", message, "memory.provision.engine_version")


def _offered(capabilities: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    editions = [e for c in capabilities for e in c.get("supportedServerEditions") or []]
    skus = {str(s.get("name", "")).casefold() for e in editions for s in e.get("supportedServerSkus") or []}
    versions = {str(v.get("name", "")) for c in capabilities for v in c.get("supportedServerVersions") or []}
    return skus, versions


def _check_server_name(az: AzureClients, plan: MemoryPlan, checks: Checks) -> None:
    """A name of all of Azure. One of ours that stands already, or is only just being made, is no news."""
    name = f"{base_name(plan)}-pg"
    body = {"name": name, "type": f"{_POSTGRES}/flexibleServers"}

    def ask() -> Any:
        check_name = az.postgres.name_availability
        try:
            return az.call(check_name.check_with_location, plan.region, body)
        except AuthError:
            return az.call(check_name.check_globally, body)

    try:
        az.document(az.postgres.servers.get, str(plan.network["resource_group"]), name)
    except NotFound:
        answer = _offers(checks, "whether the server's name is free", ask)
        if answer is not None and not answer.name_available:
            message = f"the server name {name} is taken or not let go yet; a later generation of it will be used"
            checks.findings.append(Finding(severity="warning", code="SERVER_NAME_HELD", message=message))


def _check_redis(az: AzureClients, plan: MemoryPlan, store: RedisStore, checks: Checks) -> None:
    if store.azure_redis == "cache":
        text = (
            "Azure Cache for Redis is open only to tenants that had one before 2026-04-01, and is switched off on "
            "2028-09-30; memory.provision.azure_redis: managed is its successor"
        )
        checks.findings.append(Finding(severity="warning", code="REDIS_RETIRING", message=text))
    text = (
        "the Redis has a public address, protected by TLS and its access key: without a private endpoint, which this "
        "version does not make, it cannot be inside your network"
    )
    checks.findings.append(Finding(severity="warning", code="REDIS_PUBLIC", message=text))
