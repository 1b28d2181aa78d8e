"""Secrets Manager secret: the password of a store that is about to be made, or a URL the user wrote."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret, new_password

from ...engine.kinds import AlreadyExists, Found, NotFound, Target
from ...engine.run import Run
from .base import AwsKind
from .tags import from_aws, to_aws
from .vault import read_secret, to_json, write_secret

RECOVERY_DAYS = 7  # the shortest window AWS allows; the name stays reserved for as long


class VaultSecret(AwsKind):
    """Inputs: `username` (a fresh password is made beside it), or `value_of` (the id of a URL the run was given).

    Outputs: `arn`. A secret of ours inside its recovery window is restored and overwritten, never made twice.
    """

    def find(self, target: Target, run: Run) -> Found | None:
        """By name or ARN. One that waits for its deletion is `scheduled`: its name is still held."""
        secret_id = target.physical_id or target.name
        try:
            answer = self._aws.call(self._aws.secretsmanager.describe_secret, SecretId=secret_id)
        except NotFound:
            return None
        state = "scheduled" if answer.get("DeletedDate") else "present"
        return Found(physical_id=answer["ARN"], tags=from_aws(answer.get("Tags")), state=state)  # type: ignore[arg-type]

    def create(self, target: Target, run: Run) -> str:
        """The value is in the vault before the store that uses it exists, so a crash in between loses no password."""
        values = self._values(target, run)
        for value in values.values():
            self._aws.hide(value)
        try:
            answer = self._aws.call(
                self._aws.secretsmanager.create_secret,
                Name=target.name,
                Description=f"agentbreeder memory of {target.owner.agent}"[:2048],
                SecretString=to_json(values),
                ClientRequestToken=str(uuid4()),
                Tags=to_aws(target.owner),
            )
        except AlreadyExists:
            return self._restore(target, run, values)
        return str(answer["ARN"])

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """For a URL of the user's: put it again when it changed since the last deploy."""
        if target.inputs.get("value_of"):
            wanted = self._values(target, run)
            if run.until(lambda: read_secret(self._aws, target.physical_id)) != wanted:
                write_secret(self._aws, target.physical_id, wanted)
        return {"arn": target.physical_id}

    def delete(self, target: Target, run: Run) -> None:
        """Schedule the deletion: for 7 days it can be restored, and costs nothing."""
        try:
            self._aws.call(
                self._aws.secretsmanager.delete_secret,
                SecretId=target.physical_id,
                RecoveryWindowInDays=RECOVERY_DAYS,
            )
        except NotFound:
            raise
        except CloudError:
            # A second delete, after a lost reply, is refused: what counts is whether it is scheduled.
            found = self.find(target, run)
            if found is None or found.state != "scheduled":
                raise

    def _restore(self, target: Target, run: Run, values: dict[str, Secret]) -> str:
        found = self.find(target, run)
        if found is None or found.state != "scheduled" or not target.owner.owns(found.tags):
            raise AlreadyExists(f"secret {target.name} exists")
        self._aws.call(self._aws.secretsmanager.restore_secret, SecretId=found.physical_id)
        write_secret(self._aws, found.physical_id, values)
        return found.physical_id

    def _values(self, target: Target, run: Run) -> dict[str, Secret]:
        url_id = target.inputs.get("value_of")
        if url_id:
            return {"url": run.shared.secrets[str(url_id)]}
        return {"username": Secret(str(target.inputs["username"])), "password": new_password()}
