"""What the Google Cloud kinds share: the clients."""

from __future__ import annotations

from ...engine.simple_kind import PartKind, SimpleKind
from ..clients import GcpClients


class GcpKind(SimpleKind):
    """A Google Cloud resource type without deletion protection, unless it says otherwise."""

    def __init__(self, clients: GcpClients) -> None:
        self._gcp = clients


class GcpPart(PartKind):
    """A Google Cloud thing that lives inside another resource."""

    def __init__(self, clients: GcpClients) -> None:
        self._gcp = clients
