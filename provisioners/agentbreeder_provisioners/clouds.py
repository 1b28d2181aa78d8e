"""The clouds this build can provision on. Adding one is a folder and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .aws.cloud import AwsCloud
from .azure.cloud import AzureCloud
from .gcp.cloud import GcpCloud

if TYPE_CHECKING:
    from .engine.wiring import Cloud

CLOUDS: dict[str, Cloud] = {"aws": AwsCloud(), "gcp": GcpCloud(), "azure": AzureCloud()}


def orphan_hints(agent: str) -> str:
    """For somebody whose state file is lost: in each cloud, the command that lists what carries our tags."""
    commands = "; or: ".join(cloud.orphan_hint(agent, "", "") for cloud in CLOUDS.values())
    return f"to see whether anything of it stands: {commands}"


def cloud_named(name: str) -> Cloud | None:
    """The cloud's code, or None for a target where this product makes nothing (`local`, `kubernetes`, ...)."""
    return CLOUDS.get(name)
