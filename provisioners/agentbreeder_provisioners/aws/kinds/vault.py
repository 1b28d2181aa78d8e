"""Reading and writing the JSON inside a Secrets Manager secret. The values never leave this module but as `Secret`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import uuid4

from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret

from ..clients import AwsClients


def read_secret(aws: AwsClients, secret_id: str) -> dict[str, Secret]:
    """The secret's JSON object, every value wrapped. Raises `NotFound` when it is absent or waits for deletion."""
    return read_current(aws, secret_id)[0]


def read_current(aws: AwsClients, secret_id: str) -> tuple[dict[str, Secret], str]:
    """The secret's JSON object, and the id of the version that it is. Raises as `read_secret` does."""
    answer = aws.call(aws.secretsmanager.get_secret_value, SecretId=secret_id)
    try:
        data = json.loads(answer["SecretString"])
        values = {str(k): Secret(str(v)) for k, v in data.items()}
    except (KeyError, ValueError, AttributeError):
        raise CloudError(
            f"the secret {secret_id} does not hold a JSON object any more", hint="restore an earlier version of it"
        ) from None
    for value in values.values():
        aws.hide(value)
    return values, str(answer.get("VersionId", ""))


def to_json(values: Mapping[str, Secret]) -> str:
    """The text to store: a JSON object with sorted keys."""
    return json.dumps({k: v.reveal() for k, v in sorted(values.items())})


def write_secret(aws: AwsClients, secret_id: str, values: Mapping[str, Secret]) -> str:
    """Put a new version and return its id. The token makes a retried call one version, not two."""
    for value in values.values():
        aws.hide(value)
    answer = aws.call(
        aws.secretsmanager.put_secret_value,
        SecretId=secret_id,
        SecretString=to_json(values),
        ClientRequestToken=str(uuid4()),
    )
    return str(answer["VersionId"])
