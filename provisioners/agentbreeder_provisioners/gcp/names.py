"""Physical names on Google Cloud, within every service's limit."""

from __future__ import annotations

from ..engine import naming


def base_name(*, project: str, agent: str, team: str, region: str) -> str:
    """At most 32 characters of `a-z0-9-`, starting with a letter.

    With `-redis` the result stays within Memorystore's 40 characters, the narrowest limit (facts, section 4.3); with
    `-pg` and a generation it stays far below Cloud SQL's 98.
    """
    return naming.base_name(("gcp", project, region, team, agent), agent)


def network_path(project: str, network: str) -> str:
    """`projects/P/global/networks/N`. A path (a Shared VPC's, or a full URL) is kept, without the URL's front."""
    if "/" in network:
        return network[network.find("projects/") :] if "projects/" in network else network
    return f"projects/{project}/global/networks/{network}"


def network_parts(path: str) -> tuple[str, str]:
    """(project, network) of a network path."""
    parts = path.split("/")
    return parts[1], parts[-1]
