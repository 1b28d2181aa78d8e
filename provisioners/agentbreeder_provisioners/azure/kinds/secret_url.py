"""The full connection URL of a PostgreSQL: the newest version of the secret that holds its password."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.secret import Secret
from agentbreeder_resolver.url_build import make_postgres_url

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import Run
from ...engine.simple_kind import PartKind
from ..clients import AzureClients
from .vault import URL, Stored, parts_of, patiently, read_version, write_version


class SecretUrl(PartKind):
    """Inputs: `vault_id`, `vault_uri`, `secret`, `password_id`, `username`, `host`, `port`, `database`.

    Outputs: `secret_id` (with the version that holds the URL), `scope`. It goes with the secret.
    """

    def __init__(self, clients: AzureClients) -> None:
        self._az = clients

    def find(self, target: Target, run: Run) -> Found | None:
        """There when the newest version holds exactly the URL that these inputs give."""
        if target.physical_id or not target.inputs.get("password_id") or not target.inputs.get("host"):
            return self.recorded(target)
        stored = patiently(self._az, target, run, lambda: self._current(target))
        return Found(physical_id=stored.secret_id, tags=target.owner.tags()) if stored else None

    def _current(self, target: Target) -> Stored | None:
        try:
            newest = read_version(self._az, self._secret_id(target))
            return newest if newest.value == self._url(target) else None
        except NotFound:
            return None

    def create(self, target: Target, run: Run) -> str:
        """Read the password back from the vault, so that it never travels through state, and put the whole URL."""

        def put() -> str:
            stored = self._current(target)
            if stored:
                return stored.secret_id
            vault, name = str(target.inputs["vault_uri"]), str(target.inputs["secret"])
            return write_version(self._az, vault, target, name, self._url(target), URL)

        return patiently(self._az, target, run, put)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """A version can be read at once by its address."""
        name = parts_of(target.physical_id)[1]
        return {"secret_id": target.physical_id, "scope": f"{target.inputs['vault_id']}/secrets/{name}"}

    def _secret_id(self, target: Target) -> str:
        return f"{target.inputs['vault_uri']}/secrets/{target.inputs['secret']}"

    def _url(self, target: Target) -> Secret:
        i = target.inputs
        password = read_version(self._az, str(i["password_id"])).value
        url = make_postgres_url(
            str(i["username"]), password, str(i["host"]), int(i["port"]), str(i["database"]), sslmode="require"
        )
        self._az.hide(url)
        return url
