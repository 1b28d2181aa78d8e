"""One module per Azure resource type; `kinds_for` is the registry the engine looks in."""

from __future__ import annotations

from ...engine.kinds import Kind
from ..clients import AzureClients
from .dns_zone import DnsLink, DnsZone
from .key_vault import KeyVault
from .managed_redis import ManagedRedis, ManagedRedisDatabase
from .postgres_parts import PostgresDatabase, PostgresExtensions
from .postgres_server import PostgresServer
from .redis_cache import RedisCache
from .redis_url import RedisUrl
from .role_assignment import RoleAssignment
from .secret import VaultSecret
from .secret_url import SecretUrl


def kinds_for(clients: AzureClients) -> dict[str, Kind]:
    """Every kind of this cloud by the name that steps and state records use."""
    return {
        "azure.key_vault": KeyVault(clients),
        "azure.role_assignment": RoleAssignment(clients),
        "azure.secret": VaultSecret(clients),
        "azure.secret_url": SecretUrl(clients),
        "azure.redis_url": RedisUrl(clients),
        "azure.dns_zone": DnsZone(clients),
        "azure.dns_link": DnsLink(clients),
        "azure.postgres_server": PostgresServer(clients),
        "azure.postgres_database": PostgresDatabase(clients),
        "azure.postgres_extensions": PostgresExtensions(clients),
        "azure.managed_redis": ManagedRedis(clients),
        "azure.managed_redis_database": ManagedRedisDatabase(clients),
        "azure.redis_cache": RedisCache(clients),
    }
