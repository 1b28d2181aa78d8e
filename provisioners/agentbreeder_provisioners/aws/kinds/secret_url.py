"""The full connection URL inside an existing secret: written once the store's address is known."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.secret import Secret
from agentbreeder_resolver.url_build import make_postgres_url, make_redis_url

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import Run
from .base import AwsKind
from .vault import read_current, read_secret, write_secret


class SecretUrl(AwsKind):
    """Inputs: `secret_arn`, `family`, `host`, `port`, `database` (PostgreSQL). Outputs: `secret_arn`, `version`.

    The container reads the `url` key. It is part of the secret and goes with it.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """There when the vault already holds exactly the URL that these inputs give."""
        if target.physical_id:
            return Found(physical_id=target.physical_id, tags=target.owner.tags())
        if not target.inputs.get("secret_arn") or not target.inputs.get("host"):
            return None
        try:
            values, version = read_current(self._aws, target.inputs["secret_arn"])
        except NotFound:
            return None
        if "url" not in values or values["url"] != self._url(target, values):
            return None
        return Found(physical_id=version, tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """Read the password back from the vault, so that it never travels through state, and put the whole URL."""
        values = read_secret(self._aws, target.inputs["secret_arn"])
        values["url"] = self._url(target, values)
        values["host"] = Secret(str(target.inputs["host"]))
        values["port"] = Secret(str(target.inputs["port"]))
        return write_secret(self._aws, target.inputs["secret_arn"], values)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """A put version is readable at once under its stage label."""
        return {"secret_arn": target.inputs["secret_arn"], "version": target.physical_id}

    def delete(self, target: Target, run: Run) -> None:
        """Goes with its secret."""

    def _url(self, target: Target, values: dict[str, Secret]) -> Secret:
        host, port, password = str(target.inputs["host"]), int(target.inputs["port"]), values["password"]
        if target.inputs["family"] == "redis":
            return make_redis_url(host, port, tls=True, password=password)
        user, database = values["username"].reveal(), str(target.inputs["database"])
        return make_postgres_url(user, password, host, port, database, sslmode="require")
