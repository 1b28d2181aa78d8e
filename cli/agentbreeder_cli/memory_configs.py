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
    """What a deploy asks beside memory.yaml; None, and nothing is loaded, where there is neither a service nor a file. In a
    file, the configs of the agent's own team come before those of `AGENTBREEDER_TEAM`."""
    folder = project_dir or (path if path.is_dir() else path.parent)
    if os.environ.get("AGENTBREEDER_API_URL"):
        return _Named([access_of(folder)])
    if not (folder / FILE).exists():
        return None
    teams = dict.fromkeys(t for t in (_team_of(path), team_here()) if t)
    return _Named([access_of(folder, team) for team in teams])


def configs_for_agent(agent: str, project_dir: Path | None) -> MemoryConfigSource | None:
    """The same for an agent that is recorded in the project."""
    from agentbreeder_state import FileStateStore

    folder = (project_dir or Path()).absolute()
    state = FileStateStore(folder).read()
    record = state.agents.get(agent) if state else None
    return configs_for(folder / record.source, project_dir) if record else None


def _team_of(path: Path) -> str:
    """What the agent's file says; "" for a file that deploy will complain about."""
    import yaml

    try:
        read = yaml.safe_load((path / "agent.yaml" if path.is_dir() else path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return ""
    team = read.get("team") if isinstance(read, dict) else None
    return team if isinstance(team, str) else ""


class _Named:
    """A `MemoryConfigSource`. Each name is asked for as it is, so that the service decides whose a name is."""

    def __init__(self, accesses: Sequence[ConfigAccess]) -> None:
        self._accesses = accesses

    @property
    def location(self) -> str:
        return self._accesses[0].location

    def get(self, name: str) -> MemoryConfig | None:
        found = (access.find(name) for access in self._accesses)
        return next((_resolved(c, self.location) for c in found if c is not None), None)

    def names(self) -> Sequence[str]:
        return tuple(dict.fromkeys(c["name"] for access in self._accesses for c in access.list_all()))


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
