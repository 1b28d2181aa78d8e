"""One module per Google Cloud resource type; `kinds_for` is the registry the engine looks in."""

from __future__ import annotations

from ...engine.kinds import Kind
from ..clients import GcpClients
from .redis_instance import RedisInstance
from .secret import VaultSecret
from .secret_access import SecretAccess
from .secret_url import SecretUrl
from .sql_instance import SqlInstance
from .sql_parts import SqlDatabase, SqlUser


def kinds_for(clients: GcpClients) -> dict[str, Kind]:
    """Every kind of this cloud by the name that steps and state records use."""
    return {
        "gcp.secret": VaultSecret(clients),
        "gcp.secret_access": SecretAccess(clients),
        "gcp.secret_url": SecretUrl(clients),
        "gcp.sql_instance": SqlInstance(clients),
        "gcp.sql_database": SqlDatabase(clients),
        "gcp.sql_user": SqlUser(clients),
        "gcp.redis_instance": RedisInstance(clients),
    }
