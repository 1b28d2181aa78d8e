"""Azure Managed Redis: a cluster, and the one database in it. Reached over TLS with a key (facts, section 2)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...engine.kinds import Found, Target
from ...engine.run import Run
from ..names import resource_id
from .base import ArmKind
from .tags import to_azure

_FAILED = frozenset({"CreateFailed", "UpdateFailed", "EnableFailed", "DisableFailed", "DeleteFailed", "Disabled"})


class _RedisEnterprise(ArmKind):
    """Both halves say in `resourceState` whether they run; the operation may be over before (facts, section 2)."""

    arm_type = "Microsoft.Cache/redisEnterprise"
    ready_states = frozenset({"Running"})
    failed_states: ClassVar[frozenset[str]] = _FAILED
    delete_timeout_s = 2700.0

    def state_of(self, document: dict[str, Any]) -> str:
        """`resourceState`, not how the last operation went."""
        return str((document.get("properties") or {}).get("resourceState") or "")


class ManagedRedis(_RedisEnterprise):
    """The cluster. Inputs: `resource_group`, `location`, `instance_class`, `multi_az`. Outputs: `name`, `host`."""

    def read(self, target: Target) -> dict[str, Any]:
        """The cluster alone; the database is a resource of its own."""
        return self._az.document(
            self._az.managed_redis.redis_enterprise.get, target.inputs["resource_group"], target.name
        )

    def create(self, target: Target, run: Run) -> str:
        """Public access is sent because this API version requires it; there is no other way in without a private
        endpoint."""
        self.refuse_taken(target)
        i, cluster_id = target.inputs, self.id_of(target)
        body = {
            "location": i["location"],
            "tags": to_azure(target.owner),
            "sku": {"name": i["instance_class"]},
            "properties": {
                "minimumTlsVersion": "1.2",
                "highAvailability": "Enabled" if i["multi_az"] else "Disabled",
                "publicNetworkAccess": "Enabled",
            },
        }
        create = self._az.managed_redis.redis_enterprise.begin_create
        self._az.begin(create, cluster_id, i["resource_group"], target.name, body)
        return cluster_id

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """The host as the service reports it."""
        return {"name": target.name, "host": str(document["properties"]["hostName"])}

    def start_delete(self, target: Target) -> None:
        """The database goes first, as a step of its own."""
        delete = self._az.managed_redis.redis_enterprise.begin_delete
        self._az.begin(delete, self.id_of(target), target.inputs["resource_group"], target.name)

    def wanted(self, target: Target) -> dict[str, Any]:
        """Size and availability."""
        high = "Enabled" if target.inputs["multi_az"] else "Disabled"
        return {"sku": target.inputs["instance_class"], "highAvailability": high}

    def settings(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same, as GET answers them."""
        high = (document.get("properties") or {}).get("highAvailability")
        return {"sku": (document.get("sku") or {}).get("name"), "highAvailability": high}


class ManagedRedisDatabase(_RedisEnterprise):
    """The database. Inputs: `resource_group`, `cluster`, `clustering_policy`. Outputs: `cache_id`, `port`.

    It has no tags: it is ours because the cluster is.
    """

    def read(self, target: Target) -> dict[str, Any]:
        """With the owner's tags beside it, because it lives inside our cluster."""
        group, cluster = target.inputs["resource_group"], target.inputs["cluster"]
        document = self._az.document(self._az.managed_redis.databases.get, group, cluster, target.name)
        return {**document, "tags": to_azure(target.owner)}

    def id_of(self, target: Target) -> str:
        """Inside the cluster."""
        if target.physical_id:
            return target.physical_id
        group, cluster = str(target.inputs["resource_group"]), str(target.inputs["cluster"])
        cluster_type = f"{self.arm_type}/{cluster}/databases"
        return resource_id(self._az.subscription, group, cluster_type, target.name)

    def find(self, target: Target, run: Run) -> Found | None:
        """By id, once the cluster is known."""
        return super().find(target, run) if target.inputs.get("cluster") else None

    def create(self, target: Target, run: Run) -> str:
        """Access keys are off unless asked for; the port is the service's own (facts, section 2)."""
        self.refuse_taken(target)
        body = {
            "properties": {
                "clientProtocol": "Encrypted",
                "port": 10000,
                "clusteringPolicy": target.inputs["clustering_policy"],
                "accessKeysAuthentication": "Enabled",
            }
        }
        group, cluster = target.inputs["resource_group"], target.inputs["cluster"]
        self._az.begin(
            self._az.managed_redis.databases.begin_create, self.id_of(target), group, cluster, target.name, body
        )
        return self.id_of(target)

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """The port as the service reports it."""
        return {"cache_id": self.id_of(target), "port": int(document["properties"]["port"])}

    def start_delete(self, target: Target) -> None:
        """With everything in it."""
        group, cluster = target.inputs["resource_group"], target.inputs["cluster"]
        delete = self._az.managed_redis.databases.begin_delete
        self._az.begin(delete, self.id_of(target), group, cluster, target.name)

    def wanted(self, target: Target) -> dict[str, Any]:
        """That it can be reached with a key, over TLS only."""
        return {"accessKeysAuthentication": "Enabled", "clientProtocol": "Encrypted"}

    def settings(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same, as GET answers them."""
        return dict(document.get("properties") or {})
