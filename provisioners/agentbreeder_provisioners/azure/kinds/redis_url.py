"""Key Vault secret with the full URL of a Redis: made once the service has given out the key."""

from __future__ import annotations

from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.url_build import make_redis_url

from ...engine.kinds import Target
from ...engine.run import Run
from ..names import group_of, parent_name
from .secret import VaultSecret
from .vault import URL


class RedisUrl(VaultSecret):
    """Inputs: those of a secret, and `product`, `cache_id`, `host`, `port`. Outputs: those of a secret.

    The key is read when the secret is made. A key that is regenerated later has to be put there by hand.
    """

    def value(self, target: Target, run: Run) -> tuple[Secret, str]:
        """`rediss://` with the percent-encoded key, at the host and port that the service reports."""
        i = target.inputs
        url = make_redis_url(str(i["host"]), int(i["port"]), tls=True, password=self._key(target))
        self._az.hide(url)
        return url, URL

    def _key(self, target: Target) -> Secret:
        cache_id = str(target.inputs["cache_id"])
        group, name = group_of(cache_id), parent_name(cache_id)
        if target.inputs["product"] == "cache":
            keys = self._az.call(self._az.redis_cache.redis.list_keys, group, name)
        else:
            keys = self._az.call(self._az.managed_redis.databases.list_keys, group, name, "default")
        if not keys.primary_key:
            raise CloudError(
                f"{target.step_id}: {name} gave out no access key",
                hint="a policy of your organisation may forbid keys; allow access-key authentication for it",
            )
        key = Secret(str(keys.primary_key))
        self._az.hide(key)
        return key
