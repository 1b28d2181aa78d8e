"""Secret Manager secret: the password of a database that is about to be made, or a URL the user wrote."""

from __future__ import annotations

from typing import Any

from agentbreeder_core.secret import Secret, new_password

from ...engine.kinds import Found, NotFound, Target
from ...engine.run import Run
from .base import GcpKind
from .labels import from_labels, to_labels
from .vault import add_version, read_version, versions_of


class VaultSecret(GcpKind):
    """Inputs: `project`, and either `password` (True: a fresh one becomes its first version) or `value_of`.

    Outputs: `secret` (its full name), and `version` (the full name of the version that holds the value) when it has one.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """By name; its labels come in the same answer."""
        client = self._gcp.secretmanager
        try:
            secret = self._gcp.gapic("secretmanager.secrets.get", client.get_secret, {"name": self._name(target)})
        except NotFound:
            return None
        return Found(physical_id=str(secret.name), tags=from_labels(secret.labels, target.owner))

    def create(self, target: Target, run: Run) -> str:
        """The empty secret. `wait_ready` adds the value, so that a crash in between loses nothing."""
        client = self._gcp.secretmanager
        request = {
            "parent": f"projects/{target.inputs['project']}",
            "secret_id": target.name,
            "secret": {"replication": {"automatic": {}}, "labels": to_labels(target.owner)},
        }
        return str(self._gcp.gapic("secretmanager.secrets.create", client.create_secret, request).name)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """A password is made once; a URL of the user's is put again when it changed since the last deploy."""
        outputs = {"secret": target.physical_id}
        url_id = target.inputs.get("value_of")
        if not url_id and not target.inputs.get("password"):
            run.until(lambda: self.find(target, run) or _gone(target))
            return outputs
        version = target.outputs.get("version", "")
        if not version:
            # An earlier run may have added it and died before it was recorded.
            found = run.until(lambda: versions_of(self._gcp, target.physical_id))
            version = found[-1 if url_id else 0] if found else ""
        if url_id:
            wanted = run.shared.secrets[str(url_id)]
            if not version or run.until(lambda: read_version(self._gcp, version)) != wanted:
                version = add_version(self._gcp, target.physical_id, wanted)
        elif not version:
            version = self._first_password(target, run)
        return {**outputs, "version": version}

    def delete(self, target: Target, run: Run) -> None:
        """With every version; the name is free at once."""
        client = self._gcp.secretmanager
        self._gcp.gapic("secretmanager.secrets.delete", client.delete_secret, {"name": self._name(target)})

    def _first_password(self, target: Target, run: Run) -> str:
        password: Secret = new_password()
        return run.until(lambda: add_version(self._gcp, target.physical_id, password))

    def _name(self, target: Target) -> str:
        return target.physical_id or f"projects/{target.inputs['project']}/secrets/{target.name}"


def _gone(target: Target) -> Found:
    raise NotFound(f"secret {target.name} is not there")
