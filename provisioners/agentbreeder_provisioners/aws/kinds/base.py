"""What the AWS kinds share: the clients."""

from __future__ import annotations

from ...engine.simple_kind import SimpleKind
from ..clients import AwsClients


class AwsKind(SimpleKind):
    """An AWS resource type without deletion protection, unless it says otherwise."""

    def __init__(self, clients: AwsClients) -> None:
        self._aws = clients
