"""The user's own network, as each cloud names it: from `deploy.env_vars`, with `memory.provision.network` on top."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .spec import Located

REGION_KEYS = {"aws": "AWS_REGION", "gcp": "GCP_REGION", "azure": "AZURE_LOCATION"}
_FIELDS: dict[str, tuple[tuple[str, tuple[str, ...], str], ...]] = {
    "aws": (
        ("subnet_ids", ("AWS_VPC_SUBNETS",), "list"),
        ("security_group_ids", ("AWS_SECURITY_GROUPS",), "list"),
        ("vpc_id", ("AWS_VPC_ID",), ""),
    ),
    "gcp": (
        ("project", ("GOOGLE_CLOUD_PROJECT", "GCP_PROJECT_ID"), ""),
        ("vpc_network", ("GCP_VPC_NETWORK",), "default"),
        ("runtime_service_account", ("GCP_RUNTIME_SERVICE_ACCOUNT",), ""),
    ),
    "azure": (
        ("subscription_id", ("AZURE_SUBSCRIPTION_ID",), ""),
        ("resource_group", ("AZURE_RESOURCE_GROUP",), ""),
        ("vnet_name", ("AZURE_VNET_NAME",), ""),
        ("db_subnet_id", ("AZURE_DB_SUBNET_ID",), ""),
        ("key_vault_name", ("AZURE_KEY_VAULT_NAME",), ""),
        ("runtime_principal_id", ("AZURE_RUNTIME_PRINCIPAL_ID",), ""),
    ),
}
_NEEDED: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "aws": (
        ("subnet_ids", frozenset({"postgresql", "redis"})),
        ("security_group_ids", frozenset({"postgresql", "redis"})),
    ),
    "gcp": (("project", frozenset({"postgresql", "redis"})),),
    "azure": (
        ("subscription_id", frozenset({"postgresql", "redis"})),
        ("resource_group", frozenset({"postgresql", "redis"})),
        ("db_subnet_id", frozenset({"postgresql"})),
    ),
}
"""What deploy cannot do without, by the stores that are made."""
NETWORK_VARIABLES = frozenset(v for fields in _FIELDS.values() for _, names, _ in fields for v in names) | frozenset(
    REGION_KEYS.values()
)


def network_of(
    cloud: str, env_vars: Mapping[str, Located], overrides: Mapping[str, Any], defaults: Mapping[str, str]
) -> dict[str, Any]:
    """Fields in a fixed order; lists without blanks, empties or repeats. `defaults` serve where the file says nothing."""
    network: dict[str, Any] = {}
    for field, names, default in _FIELDS.get(cloud, ()):
        text = next((env_vars[n].text for n in names if n in env_vars), None)
        if text is None:
            text = next((defaults[n] for n in names if n in defaults), "" if default == "list" else default)
        network[field] = _listed(text.split(",")) if default == "list" else text.strip()
    for field, value in overrides.items():
        network[field] = _listed(value) if isinstance(value, list) else value
    return network


def missing_network(cloud: str, network: Mapping[str, Any], families: Collection[str]) -> list[str]:
    """The variables that are not set and that making these stores needs."""
    variables = {field: names[0] for field, names, _ in _FIELDS.get(cloud, ())}
    return [variables[f] for f, of in _NEEDED.get(cloud, ()) if of & set(families) and not network.get(f)]


def _listed(items: list[str]) -> list[str]:
    return list(dict.fromkeys(i.strip() for i in items if i.strip()))
