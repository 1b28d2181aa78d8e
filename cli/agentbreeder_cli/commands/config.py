"""`agentbreeder config memory`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..mode import Mode
from ..options import common_options, state_here_option, yes_option

F = TypeVar("F", bound=Callable[..., Any])
_BACKENDS, _TYPES, _SCOPES = (
    ("in_memory", "postgresql", "redis"),
    ("buffer_window", "buffer"),
    ("agent", "team", "global"),
)
_FIELDS = {"--backend": "backend_type", "--type": "memory_type"}
team_option = click.option(
    "--team", metavar="TEAM", help="Without a service: whose.  [default: AGENTBREEDER_TEAM, or default]"
)


@click.group("config")
def command() -> None:
    """Memory configs: how memory is kept, by a name agents refer to.

    \b
    Example:
      agentbreeder config memory create --name support-memory --backend postgresql
    """


@command.group("memory")
def memory() -> None:
    """Create, list, show, change and delete memory configs.

    They are kept in .agentbreeder/memory.db of the working directory, or, with AGENTBREEDER_API_URL and
    AGENTBREEDER_API_TOKEN, by the service. An agent names one: `memory_config: support-memory` in its agent.yaml.

    \b
    Example:
      agentbreeder config memory list
    """


def field_options(*, defaults: bool) -> Callable[[F], F]:
    """The fields of a memory config. What is not given has no value here, and the config's own rules fill it in."""

    def told(text: str, default: str) -> str:
        return f"{text}  [default: {default}]" if defaults else text

    options = (
        ("--backend", click.Choice(_BACKENDS), None, told("Where a container keeps it.", "in_memory")),
        ("--type", click.Choice(_TYPES), None, told("The newest, or all.", "buffer_window")),
        ("--max-messages", int, "N", told("How many a buffer_window keeps.", "100")),
        ("--ttl-seconds", int, "SECONDS", "How long an unused session lives; 0: for ever."),
        ("--scope", click.Choice(_SCOPES), None, told("Who sees it.", "agent")),
        ("--linked-agents", str, "A,B", "Agents that may read; under team they share sessions."),
    )

    def added(function: F) -> F:
        for flag, kind, metavar, text in reversed(options):
            name = _FIELDS.get(flag, flag.strip("-").replace("-", "_"))
            function = click.option(flag, name, type=kind, metavar=metavar, help=text)(function)
        return function

    return added


@memory.command("create")
@click.option("--name", required=True, metavar="NAME", help="2 to 63 lower-case letters, digits and hyphens.")
@field_options(defaults=True)
@click.option("--namespace-pattern", metavar="PATTERN", help="[default: {agent_id}:{session_id}]")
@team_option
@state_here_option
@common_options
@click.pass_obj
def create(mode: Mode, /, name: str, team: str | None, project_dir: Path | None, **given: Any) -> None:
    """Make a memory config.

    \b
    Example:
      agentbreeder config memory create --name support-memory --backend postgresql --type buffer_window \\
        --max-messages 50 --scope agent
    """
    from agentbreeder_service.access import checked
    from agentbreeder_service.models import ConfigIn

    from ..memory_configs import access_of
    from ..views import memory_configs as view

    access = access_of(project_dir, team)
    fields = {"name": name, **_given(given)}
    checked(ConfigIn, fields)
    view.made(mode, access.create(fields), access.location)


@memory.command("list")
@team_option
@state_here_option
@common_options
@click.pass_obj
def list_all(mode: Mode, team: str | None, project_dir: Path | None) -> None:
    """List the memory configs.

    \b
    Example:
      agentbreeder config memory list
    """
    from ..memory_configs import access_of
    from ..views import memory_configs as view

    access = access_of(project_dir, team)
    view.listed(mode, access.list_all(), access.location)


@memory.command("show")
@click.argument("name")
@team_option
@state_here_option
@common_options
@click.pass_obj
def show(mode: Mode, name: str, team: str | None, project_dir: Path | None) -> None:
    """Show one memory config.

    \b
    Example:
      agentbreeder config memory show support-memory
    """
    from ..memory_configs import access_of
    from ..views import memory_configs as view

    view.shown(mode, access_of(project_dir, team).show(name))


@memory.command("update")
@click.argument("name")
@field_options(defaults=False)
@team_option
@state_here_option
@common_options
@click.pass_obj
def update(mode: Mode, /, name: str, team: str | None, project_dir: Path | None, **given: Any) -> None:
    """Change a memory config; what is not named stays.

    Agents that are deployed get it at their next deploy.

    \b
    Example:
      agentbreeder config memory update support-memory --max-messages 200
    """
    from agentbreeder_service.access import checked
    from agentbreeder_service.models import ConfigPatch

    from ..memory_configs import access_of
    from ..views import memory_configs as view

    changes = _given(given)
    if not changes:
        raise click.UsageError("nothing to change: name at least one field, such as --max-messages 200")
    checked(ConfigPatch, changes)
    view.shown(mode, access_of(project_dir, team).update(name, changes))


@memory.command("delete")
@click.argument("name")
@yes_option
@team_option
@state_here_option
@common_options
@click.pass_obj
def delete(mode: Mode, name: str, yes: bool, team: str | None, project_dir: Path | None) -> None:
    """Delete a memory config with all its messages.

    Asks first, and says which recorded agents still name it.

    \b
    Example:
      agentbreeder config memory delete support-memory
    """
    from ..confirm import ask_yes, require_somebody
    from ..memory_configs import access_of
    from ..views import memory_configs as view
    from ..views import out

    access = access_of(project_dir, team)
    found = access.show(name)
    require_somebody(mode, yes=yes, what="deleting a memory config")
    if not yes:
        named = _named_by(found, project_dir)
        if named:
            out.talk(f"Agents recorded here still name it: {', '.join(named)}")
        if not ask_yes(f"Delete {found['name']} and all its messages?"):
            raise click.exceptions.Exit(1)
    view.deleted(mode, found["name"], access.delete(found["id"]))


@memory.command("push")
@click.argument("file", type=click.Path(path_type=Path), default="memory.yaml")
@team_option
@state_here_option
@common_options
@click.pass_obj
def push(mode: Mode, file: Path, team: str | None, project_dir: Path | None) -> None:
    """Create or update the memory configs of a file.

    One YAML document per config. Every one is checked before any is written.

    \b
    Example:
      agentbreeder config memory push memory.yaml
    """
    from ..memory_configs import access_of
    from ..pushing import push_file
    from ..views import memory_configs as view

    access = access_of(project_dir, team)
    view.pushed(mode, push_file(file, access), access.location)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    found = {k: v for k, v in options.items() if v is not None}
    if "linked_agents" in found:
        found["linked_agents"] = [a.strip() for a in found["linked_agents"].split(",") if a.strip()]
    if found.get("ttl_seconds") == 0:
        found["ttl_seconds"] = None
    return found


def _named_by(config: dict[str, Any], project_dir: Path | None) -> list[str]:
    """Agents whose recorded environment points into this config's namespaces."""
    from agentbreeder_core.namespaces import prefix_of
    from agentbreeder_state import FileStateStore

    state = FileStateStore((project_dir or Path()).absolute()).read()
    prefix = prefix_of(config["team"], config["name"])
    agents = state.agents.values() if state else ()
    return sorted(a.agent for a in agents if a.env.get("MEMORY_NAMESPACE_PATTERN", "").startswith(prefix))
