"""What the Cloud SQL connector asks for: the instance's addresses and authority, and a client certificate of one hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .certificates import sign_client
from .errors import listed
from .routing import Call, Route, route
from .sql_model import Instance
from .sql_rules import bad
from .sql_state import SqlState

LIFETIME = timedelta(hours=1)


class ConnectApi:
    """The calls on connections."""

    def __init__(self, state: SqlState) -> None:
        self._state = state

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "sql.connect.get": route(self.get),
            "sql.connect.generateEphemeral": route(self.generate),
        }

    def get(self, call: Call) -> dict[str, Any]:
        """The connect settings; a part of what the instance itself shows. 404 when it is not there."""
        instance = self._state.find(call.variables["instance"])
        shown = instance.on_wire(call.root)
        names = ("backendType", "connectionName", "databaseVersion", "ipAddresses", "region", "serverCaCert")
        return {"kind": "sql#connectSettings", **{n: shown[n] for n in names if n in shown}}

    def generate(self, call: Call) -> dict[str, Any]:
        """A certificate for the caller's public key, signed by the instance's authority."""
        instance: Instance = self._state.running(call.variables["instance"])
        key = call.body.get("public_key", "")
        if instance.authority is None or not key:
            raise bad("Invalid request: Missing parameter: public_key.")
        try:
            certificate = sign_client(instance.authority, key, LIFETIME)
        except ValueError:
            raise listed(400, "invalid", "Invalid request: Public key is invalid.") from None
        return {"ephemeralCert": instance.shown_certificate(certificate)}
