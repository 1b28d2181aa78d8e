"""Azure Cache for Redis, the classic product: only for tenants that had one before 2026-04-01 (facts, section 2)."""

from __future__ import annotations

import re
from typing import Any

from ...engine.kinds import Target
from ...engine.run import Run
from ..errors import GloballyTaken
from .base import ArmKind, name_taken
from .tags import to_azure

_SIZE = re.compile(r"(Basic|Standard|Premium)_([CP])([0-9]+)", re.ASCII)


def sku_of(instance_class: str) -> dict[str, Any]:
    """`Basic_C0` in the three fields of the service. Raises `ValueError` for anything else."""
    match = _SIZE.fullmatch(instance_class)
    if not match:
        raise ValueError(f"{instance_class!r} is no size of Azure Cache for Redis")
    return {"name": match[1], "family": match[2], "capacity": int(match[3])}


class RedisCache(ArmKind):
    """Inputs: `resource_group`, `location`, `instance_class`. Outputs: `cache_id`, `host`, `port` (the TLS one)."""

    arm_type = "Microsoft.Cache/redis"
    delete_timeout_s = 2700.0

    def read(self, target: Target) -> dict[str, Any]:
        """Without keys: only the answer to its creation carries them, and that one is dropped (facts, section 4)."""
        return self._az.document(self._az.redis_cache.redis.get, target.inputs["resource_group"], target.name)

    def create(self, target: Target, run: Run) -> str:
        """TLS only. New tenants are refused with a pointer to the other product."""
        self.refuse_taken(target)
        i, cache_id = target.inputs, self.id_of(target)
        body = {
            "location": i["location"],
            "tags": to_azure(target.owner),
            "properties": {
                "sku": sku_of(str(i["instance_class"])),
                "enableNonSslPort": False,
                "minimumTlsVersion": "1.2",
                "publicNetworkAccess": "Enabled",
                "disableAccessKeyAuthentication": False,
            },
        }
        try:
            self._az.begin(self._az.redis_cache.redis.begin_create, cache_id, i["resource_group"], target.name, body)
        except GloballyTaken as e:
            raise name_taken(target, run, e) from e
        return cache_id

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """Host and TLS port as the service reports them."""
        p = document["properties"]
        return {"cache_id": self.id_of(target), "host": str(p["hostName"]), "port": int(p["sslPort"])}

    def start_delete(self, target: Target) -> None:
        """With everything in it; only a cache that is done with its last change can be deleted."""
        delete = self._az.redis_cache.redis.begin_delete
        self._az.begin(delete, self.id_of(target), target.inputs["resource_group"], target.name)

    def wanted(self, target: Target) -> dict[str, Any]:
        """Size, and that nothing but TLS with a key is open."""
        sku = sku_of(str(target.inputs["instance_class"]))
        return {"sku": sku, "enableNonSslPort": False, "minimumTlsVersion": "1.2"}

    def settings(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same, as GET answers them."""
        return dict(document.get("properties") or {})
