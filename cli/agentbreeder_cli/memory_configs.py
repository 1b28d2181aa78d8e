"""Where the command finds named memory configs: memory.yaml first, then the service or the project's own file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentbreeder_core.errors import ConfigError, MissingExtra
from agentbreeder_core.namespaces import DEFAULT_TEAM

if TYPE_CHECKING:
    from agentbreeder_resolver.configs import MemoryConfig, MemoryConfigSource
    from agentbreeder_service.access import ConfigAccess

FILE = Path(".agentbreeder") / "memory.db"


def access_of(folder: Path | None, team: str | None = None) -> ConfigAccess:
    """The service when `AGENTBREEDER_API_URL` is set, else the file in the project's folder. Raises `ConfigError`,
    `MissingExtra`."""
    url, token = (
        os.environ.get("AGENTBREEDER_API_URL", "").strip(),
        os.environ.get("AGENTBREEDER_API_TOKEN", "").strip(),
    )
    try:
        from agentbreeder_service.access import LocalConfigs, RemoteConfigs
    except ImportError as e:
        raise MissingExtra(
            f"named memory configs need {e.name}, which is not installed",
            hint="pip install 'agentbreeder-memory[service]'",
        ) from e
    if not url:
        return LocalConfigs((folder or Path()).absolute() / FILE, team or team_here())
    if not token:
        raise ConfigError(
            "AGENTBREEDER_API_TOKEN is not set", hint="agentbreeder token create, where the service's secret is"
        )
    return RemoteConfigs(url, token)


def team_here() -> str:
    """`AGENTBREEDER_TEAM`, or `default`."""
    return os.environ.get("AGENTBREEDER_TEAM", "").strip() or DEFAULT_TEAM


def configs_for(path: Path, project_dir: Path | None) -> MemoryConfigSource | None:
    """What a deploy asks beside memory.yaml; None, and nothing is loaded, where there is neither a service nor a file."""
    folder = project_dir or (path if path.is_dir() else path.parent)
    if not os.environ.get("AGENTBREEDER_API_URL") and not (folder / FILE).exists():
        return None
    return _Named(access_of(folder))


class _Named:
    """A `MemoryConfigSource`."""

    def __init__(self, access: ConfigAccess) -> None:
        self._access = access
        self._found: dict[str, MemoryConfig] | None = None

    @property
    def location(self) -> str:
        return self._access.location

    def get(self, name: str) -> MemoryConfig | None:
        return self._loaded().get(name)

    def names(self) -> Sequence[str]:
        return tuple(self._loaded())

    def _loaded(self) -> dict[str, MemoryConfig]:
        if self._found is None:
            # The own team's last, so that they win over global ones of another team.
            found = sorted(self._access.list_all(), key=lambda c: (c["scope"] != "global", c["created_at"]))
            self._found = {c["name"]: _resolved(c, self._access.location) for c in found}
        return self._found


def _resolved(config: dict[str, Any], location: str) -> MemoryConfig:
    from agentbreeder_resolver.configs import MemoryConfig

    return MemoryConfig(
        name=config["name"],
        where=location,
        backend=config["backend_type"],
        memory_type=config["memory_type"],
        max_messages=config["max_messages"] or 100,
        ttl_seconds=config["ttl_seconds"] or 0,
        namespace_pattern=config["namespace_pattern"],
        scope=config["scope"],
        linked_agents=tuple(config["linked_agents"]),
        team=config["team"],
    )
