"""One module per AWS resource type; `kinds_for` is the registry the engine looks in."""

from __future__ import annotations

from ...engine.kinds import Kind
from ..clients import AwsClients
from .db_instance import DbInstance
from .replication_group import ReplicationGroup
from .secret import VaultSecret
from .secret_url import SecretUrl
from .security_group import SecurityGroup
from .subnet_groups import CacheSubnetGroup, DbSubnetGroup


def kinds_for(clients: AwsClients) -> dict[str, Kind]:
    """Every kind of this cloud by the name that steps and state records use."""
    return {
        "aws.security_group": SecurityGroup(clients),
        "aws.db_subnet_group": DbSubnetGroup(clients),
        "aws.cache_subnet_group": CacheSubnetGroup(clients),
        "aws.secret": VaultSecret(clients),
        "aws.secret_url": SecretUrl(clients),
        "aws.db_instance": DbInstance(clients),
        "aws.replication_group": ReplicationGroup(clients),
    }
