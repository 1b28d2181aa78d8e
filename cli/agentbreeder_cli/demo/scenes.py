"""What the same story is called on each cloud: words and names, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`databases` and `stores` are kinds of the stand-in's inventory; `killed_at` is the call after which a deploy dies."""

    cloud: str
    title: str
    account: str
    region: str
    databases: str
    stores: str
    killed_at: str
    store_step: str
    env_format: str
    container: str
    waiting: tuple[str, ...]
    waiting_words: str


SCENES: dict[str, Scene] = {
    "aws": Scene(
        cloud="aws",
        title="AWS",
        account="An AWS account",
        region="us-east-1",
        databases="db_instances",
        stores="replication_groups",
        killed_at="CreateReplicationGroup",
        store_step="aws/redis/replication-group",
        env_format="ecs",
        container="An ECS container definition",
        waiting=("secrets_scheduled_for_deletion",),
        waiting_words="in AWS's 7-day recovery window, at no cost",
    ),
    "gcp": Scene(
        cloud="gcp",
        title="Google Cloud",
        account="A Google Cloud project",
        region="us-central1",
        databases="sql_instances",
        stores="redis_instances",
        killed_at="redis.projects.locations.instances.create",
        store_step="gcp/redis/instance",
        env_format="cloud-run",
        container="A Cloud Run container",
        waiting=("sql_names_reserved",),
        waiting_words="that Google holds for about a week, at no cost",
    ),
    "azure": Scene(
        cloud="azure",
        title="Azure",
        account="An Azure resource group",
        region="eastus",
        databases="pg_servers",
        stores="redis_enterprise",
        killed_at="PUT redisEnterprise",
        store_step="azure/redis/cluster",
        env_format="container-apps",
        container="An Azure Container App",
        waiting=("deleted_secrets", "deleted_vaults"),
        waiting_words="in Azure's recovery window, at no cost",
    ),
}
