"""Private DNS zone for the server's host name, and its link to the network. Both must be there before the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentbreeder_core.events import Note

from ...engine.kinds import AlreadyExists, Busy, Found, Target
from ...engine.run import Run
from ..names import last_part
from .base import ArmKind
from .tags import to_azure

_ONLY_NEW = {"If-None-Match": "*"}  # the one service here that refuses to replace what stands


class _PrivateDns(ArmKind):
    def _put_new(self, target: Target, create: Callable[..., Any], *args: Any) -> None:
        """Only when nothing stands there. What an earlier call of ours makes cannot be seen yet, but is refused:
        `Busy` until it is there."""
        try:
            self._az.begin(create, self.id_of(target), *args, headers=_ONLY_NEW)
        except AlreadyExists as e:
            self.refuse_taken(target)
            raise Busy(f"{target.name} is just being made") from e


class DnsZone(_PrivateDns):
    """Inputs: `resource_group`, and `existing_zone_id`: a zone of the user's that fits, used as it is and never changed
    or deleted. Outputs: `zone_id`, `made` (False for the user's)."""

    arm_type = "Microsoft.Network/privateDnsZones"

    def read(self, target: Target) -> dict[str, Any]:
        """Our own zone, by name."""
        return self._az.document(self._az.private_dns.private_zones.get, target.inputs["resource_group"], target.name)

    def find(self, target: Target, run: Run) -> Found | None:
        """The user's zone needs no proof: what the record holds is that this agent uses it."""
        existing = _existing(target)
        if existing:
            return Found(physical_id=existing, tags=target.owner.tags())
        return super().find(target, run)

    def create(self, target: Target, run: Run) -> str:
        """Zones have no region."""
        if _existing(target):
            return _existing(target)
        self.refuse_taken(target)
        body = {"location": "global", "tags": to_azure(target.owner)}
        create, group = self._az.private_dns.private_zones.begin_create_or_update, target.inputs["resource_group"]
        self._put_new(target, create, group, target.name, body)
        return self.id_of(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Half a minute for a new one."""
        if _existing(target):
            return {"zone_id": _existing(target), "made": False}
        return super().wait_ready(target, run)

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """The id that the server is given."""
        return {"zone_id": self.id_of(target), "made": True}

    def delete(self, target: Target, run: Run) -> None:
        """Ours once its links are gone; the user's stays."""
        if _existing(target):
            message = f"private DNS zone {last_part(_existing(target))} is yours and stays as it is"
            run.shared.emit(Note, level="info", message=message)
            return
        super().delete(target, run)

    def start_delete(self, target: Target) -> None:
        """`Busy` while it has links, even dying ones."""
        delete, group = self._az.private_dns.private_zones.begin_delete, target.inputs["resource_group"]
        self._az.begin(delete, self.id_of(target), group, target.name)

    def wait_gone(self, target: Target, run: Run) -> None:
        """Half a minute."""
        if not _existing(target):
            super().wait_gone(target, run)

    def drift(self, target: Target, run: Run) -> str:
        """The user's zone is the user's business."""
        return "" if _existing(target) else super().drift(target, run)


class DnsLink(_PrivateDns):
    """Inputs: `zone_id`, `zone_made`, `vnet_id`. Nothing is done in a zone of the user's, which is linked already."""

    arm_type = "Microsoft.Network/privateDnsZones/virtualNetworkLinks"

    def read(self, target: Target) -> dict[str, Any]:
        """By name, in our zone."""
        return self._az.document(self._az.private_dns.virtual_network_links.get, *_where(target))

    def id_of(self, target: Target) -> str:
        """Inside the zone."""
        return target.physical_id or f"{target.inputs['zone_id']}/virtualNetworkLinks/{target.name}"

    def find(self, target: Target, run: Run) -> Found | None:
        """By name, once the zone is known."""
        if not target.inputs.get("zone_id"):
            return None
        if not target.inputs["zone_made"]:
            return Found(physical_id=str(target.inputs["zone_id"]), tags=target.owner.tags())
        return super().find(target, run)

    def create(self, target: Target, run: Run) -> str:
        """Servers are entered by the service, so machines of the network are not registered in it."""
        if not target.inputs["zone_made"]:
            return str(target.inputs["zone_id"])
        self.refuse_taken(target)
        body = {
            "location": "global",
            "tags": to_azure(target.owner),
            "properties": {"virtualNetwork": {"id": target.inputs["vnet_id"]}, "registrationEnabled": False},
        }
        create = self._az.private_dns.virtual_network_links.begin_create_or_update
        self._put_new(target, create, *_where(target), body)
        return self.id_of(target)

    def wait_ready(self, target: Target, run: Run) -> dict[str, Any]:
        """Half a minute for a new one."""
        return super().wait_ready(target, run) if target.inputs["zone_made"] else {}

    def outputs_of(self, target: Target, document: dict[str, Any]) -> dict[str, Any]:
        """Nobody needs more than that it is there."""
        return {}

    def delete(self, target: Target, run: Run) -> None:
        """Ours only."""
        if target.inputs["zone_made"]:
            super().delete(target, run)

    def start_delete(self, target: Target) -> None:
        """Accepted at once."""
        delete = self._az.private_dns.virtual_network_links.begin_delete
        self._az.begin(delete, self.id_of(target), *_where(target))

    def wait_gone(self, target: Target, run: Run) -> None:
        """Half a minute."""
        if target.inputs["zone_made"]:
            super().wait_gone(target, run)

    def drift(self, target: Target, run: Run) -> str:
        """The user's link is the user's business."""
        return super().drift(target, run) if target.inputs["zone_made"] else ""


def _existing(target: Target) -> str:
    return str(target.inputs.get("existing_zone_id") or "")


def _where(target: Target) -> tuple[str, str, str]:
    return str(target.inputs["resource_group"]), last_part(str(target.inputs["zone_id"])), target.name
