"""The full connection URL as a version of an existing secret, pinned by its number."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.secret import Secret
from agentbreeder_resolver.url_build import make_postgres_url, make_redis_url

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import Run
from .base import GcpPart
from .redis_instance import auth_string
from .vault import add_version, read_version, versions_of


class SecretUrl(GcpPart):
    """Inputs: `secret`, `family`, `host`, `port`, `database`; `username` and `password_version`, or `auth_of`.

    Output: `version`, the full name of the version that holds the URL. It goes with the secret.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """There when the newest version already holds exactly the URL that these inputs give."""
        if target.physical_id or not target.inputs.get("secret") or not target.inputs.get("host"):
            return self.recorded(target)
        try:
            versions = versions_of(self._gcp, target.inputs["secret"])
            if not versions or read_version(self._gcp, versions[-1]) != self._url(target):
                return None
        except NotFound:
            return None
        return Found(physical_id=versions[-1], tags=target.owner.tags())

    def create(self, target: Target, run: Run) -> str:
        """Read the password back from the vault, so that it never travels through state, and add the whole URL."""
        return add_version(self._gcp, target.inputs["secret"], self._url(target))

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """An added version can be read at once by its number."""
        return {"version": target.physical_id}

    def _url(self, target: Target) -> Secret:
        i = target.inputs
        host, port = str(i["host"]), int(i["port"])
        if i["family"] == "redis":
            return make_redis_url(host, port, tls=True, password=auth_string(self._gcp, i["auth_of"]))
        password = read_version(self._gcp, i["password_version"])
        return make_postgres_url(i["username"], password, host, port, i["database"], sslmode="require")
