"""Physical names and resource ids on Azure, within every service's limit. Pure."""

from __future__ import annotations

from agentbreeder_resolver.plan_types import MemoryPlan

from ..engine import naming

VAULT_BASE_LENGTH = 20  # a vault's name has 24 characters at most (facts, section 6); `-g99` must still fit
ZONE_SUFFIX = ".postgres.database.azure.com"


def identity_of(plan: MemoryPlan) -> tuple[str, ...]:
    """What keeps two agents' names apart. Servers, caches and vaults have names that are unique in all of Azure, so the
    subscription and the resource group are part of it; Azure compares both without case."""
    network = plan.network
    subscription = str(network.get("subscription_id", "")).lower()
    group = str(network.get("resource_group", "")).lower()
    return ("azure", subscription, group, plan.region, plan.team, plan.agent)


def base_name(plan: MemoryPlan) -> str:
    """At most 32 characters; with `-redis` it stays below the 45 that are safe for Managed Redis (facts, section 2)."""
    return naming.base_name(identity_of(plan), plan.agent)


def vault_name(plan: MemoryPlan) -> str:
    """The vault that is made when the user names none."""
    return naming.base_name(identity_of(plan), plan.agent, limit=VAULT_BASE_LENGTH)


def secret_name(base: str, use: str) -> str:
    """Letters, digits and `-`, 127 at most, as Key Vault wants it."""
    return f"{base}-{use}"


def zone_name(base: str) -> str:
    """Ends as Flexible Server wants it and is never the server's own host name (facts, section 6)."""
    return f"{base}.private{ZONE_SUFFIX}"


def group_id(subscription: str, group: str) -> str:
    """The ARM id of a resource group."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


def resource_id(subscription: str, group: str, kind: str, name: str) -> str:
    """The ARM id of a resource; `kind` is namespace and type, such as `Microsoft.Cache/redis`."""
    return f"{group_id(subscription, group)}/providers/{kind}/{name}"


def last_part(arm_id: str) -> str:
    """The name at the end of an ARM id, as it is written there."""
    return arm_id.rstrip("/").rpartition("/")[2]


def group_of(arm_id: str) -> str:
    """The resource group in an ARM id."""
    return arm_id.split("/")[4]


def parent_name(arm_id: str) -> str:
    """The name of the outermost resource in an ARM id: the cluster of a database, a cache itself."""
    return arm_id.split("/")[8]


def same_id(one: str, other: str) -> bool:
    """ARM echoes ids in a case of its own (`Microsoft.Cache/Redis`; facts, section 4)."""
    return one.rstrip("/").casefold() == other.rstrip("/").casefold()


def same_location(one: str, other: str) -> bool:
    """`eastus` comes back as `East US` (facts, section 4)."""
    return _location(one) == _location(other)


def _location(text: str) -> str:
    return text.replace(" ", "").casefold()
