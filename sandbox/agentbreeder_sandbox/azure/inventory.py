"""Everything that stands in the subscription, as plain sorted data: equal before and after means that nothing was left."""

from __future__ import annotations

from collections.abc import Iterable

from . import cache, dns, managed_databases, managed_redis, pg_servers, roles, vaults
from .pg_parts import parameter
from .world import Resource, World

Inventory = dict[str, list[str]]
WAITING = ("deleted_vaults", "deleted_secrets", "held_names")


def take(world: World) -> Inventory:
    """Stores with what is in them, vaults with their secrets, zones with their links, role assignments.

    What only waits out its recovery time, or holds a name, is listed apart, under the keys in `WAITING`.
    """
    all_vaults = world.of_type(vaults.KIND)
    found: dict[str, Iterable[str]] = {
        "pg_servers": (_server(world, s) for s in world.of_type(pg_servers.KIND)),
        "redis_enterprise": (_cluster(world, c) for c in world.of_type(managed_redis.KIND)),
        "redis_caches": (_short(c.id) for c in world.of_type(cache.KIND)),
        "vaults": (_short(v.id) for v in all_vaults),
        "vault_secrets": (_last_name(s[-1]["id"]) for v in all_vaults for s in v.hidden["secrets"].values()),
        "dns_zones": (_short(z.id) for z in world.of_type(dns.ZONES)),
        "dns_links": (_short(link.id) for link in world.of_type(dns.LINKS)),
        "role_assignments": (_assignment(a) for a in world.of_type(roles.KIND)),
        "deleted_vaults": (v.name for v in world.deleted_vaults.values()),
        "deleted_secrets": (_last_name(g["versions"][-1]["id"]) for v in all_vaults for g in _gone(v)),
        "held_names": world.held,
    }
    return {kind: sorted(names) for kind, names in found.items()}


def _gone(vault: Resource) -> Iterable[dict[str, list[dict[str, str]]]]:
    deleted: dict[str, dict[str, list[dict[str, str]]]] = vault.hidden["deleted_secrets"]
    return deleted.values()


def _short(resource_id: str) -> str:
    """`group/name`, or `group/name/name` for what is inside another."""
    group, _, rest = resource_id.partition("/resourceGroups/")[2].partition("/providers/")
    return "/".join([group, *rest.split("/")[2::2]])


def _server(world: World, server: Resource) -> str:
    databases = [d.name for d in world.of_type(f"{pg_servers.KIND}/databases", server.id + "/")]
    own = ",".join(n for n in databases if n not in pg_servers.BUILT_IN_DATABASES)
    extensions = parameter(server, "azure.extensions")
    value = extensions["properties"]["value"] if extensions else ""
    return f"{_short(server.id)} databases={own} azure.extensions={value}"


def _cluster(world: World, cluster: Resource) -> str:
    databases = [d.name for d in world.of_type(managed_databases.DATABASES, cluster.id + "/")]
    return f"{_short(cluster.id)} databases={','.join(databases)}"


def _last_name(secret_id: str) -> str:
    """`vault/name` of `https://vault.vault.azure.net/secrets/name/version`."""
    host, _, name, _ = secret_id.removeprefix("https://").split("/")
    return f"{host.partition('.')[0]}/{name}"


def _assignment(assignment: Resource) -> str:
    given = assignment.properties
    scope, role = given["scope"].rpartition("/")[2], given["roleDefinitionId"].rpartition("/")[2]
    return f"{scope} {role} {given['principalId']}"
