"""Pure writers: an `Environment` as the text that each kind of container host takes.

`json` and `dotenv` fit every cloud; `ecs`, `cloud-run` and `container-apps` fit one each and hold secrets only as
references into that cloud's vault.

How `dotenv` quotes: a value of harmless characters stands bare, which every reader takes literally (`sh`, docker's
`--env-file`, compose, python-dotenv); connection URLs nearly always do. Anything else is quoted for a POSIX shell, in
the one way that compose and python-dotenv read alike. Two limits are theirs: docker's `--env-file` knows no quotes and
keeps them, and python-dotenv replaces `${X}` even inside single quotes unless told `interpolate=False`. A value that
needs both kinds of quote (a single quote or a closing backslash beside one of ``$ ` "``) is exact in a shell only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from agentbreeder_core.errors import ConfigError

from .injecting import AGENT_FILE_REFERENCE
from .results import Environment

_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=?-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIVE_IN_DOUBLE_QUOTES = frozenset('$`"')
_UNWRITABLE = {"\n": "a line break", "\r": "a carriage return", "\0": "a NUL"}
_VERSIONED_REFERENCE = re.compile(r"(?:projects/[^/]+/)?(?:secrets/)?(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?")


def to_json(environment: Environment) -> str:
    """Everything known, secrets as references; with revealed values under `revealed`."""
    return _pretty(
        {
            "agent": environment.agent,
            "cloud": environment.cloud,
            "region": environment.region,
            "env": dict(environment.env),
            "secret_env": {name: dict(reference) for name, reference in environment.secret_env.items()},
            **({"revealed": {n: v.reveal() for n, v in environment.revealed.items()}} if environment.revealed else {}),
        }
    )


def to_dotenv(environment: Environment) -> str:
    """`NAME=value` lines; a secret that was not revealed is a comment that says where it is.

    Raises `ConfigError` for a name or a value that no dotenv reader could give back exactly.
    """
    lines = [_assignment(name, value) for name, value in environment.env.items()]
    for name, reference in environment.secret_env.items():
        if name in environment.revealed:
            lines.append(_assignment(name, environment.revealed[name].reveal()))
        else:
            lines.append(f"# {name}: from {describe(reference)}")
    return "\n".join(lines)


def to_ecs(environment: Environment) -> str:
    """The `environment` and `secrets` of an ECS container definition."""
    return _pretty(
        {
            "environment": _plain(environment),
            "secrets": [
                {"name": name, "valueFrom": f"{reference['ref']}:{reference['key']}::"}
                for name, reference in environment.secret_env.items()
            ],
        }
    )


def to_cloud_run(environment: Environment) -> str:
    """The `env` list of a Cloud Run container."""
    return _pretty(
        {
            "env": [
                *_plain(environment),
                *(
                    {"name": name, "valueFrom": {"secretKeyRef": _secret_key_ref(reference)}}
                    for name, reference in environment.secret_env.items()
                ),
            ]
        }
    )


def to_container_apps(environment: Environment) -> str:
    """The `secrets` and `env` of an Azure Container App; `identity` is the one that may read the vault."""
    return _pretty(
        {
            "secrets": [
                {
                    "name": _container_apps_name(name),
                    "keyVaultUrl": reference["ref"],
                    "identity": reference.get("identity", "system"),
                }
                for name, reference in environment.secret_env.items()
            ],
            "env": [
                *_plain(environment),
                *({"name": name, "secretRef": _container_apps_name(name)} for name in environment.secret_env),
            ],
        }
    )


FORMATS: dict[str, Callable[[Environment], str]] = {
    "json": to_json,
    "dotenv": to_dotenv,
    "ecs": to_ecs,
    "cloud-run": to_cloud_run,
    "container-apps": to_container_apps,
}
REVEALING_FORMATS = frozenset({"json", "dotenv"})
_CLOUD_OF_FORMAT = {"ecs": "aws", "cloud-run": "gcp", "container-apps": "azure"}


def check_format(name: str, *, cloud: str, reveal: bool) -> None:
    """Raises `ConfigError` for a format that does not fit the agent's cloud, or cannot hold revealed values."""
    fits = _CLOUD_OF_FORMAT.get(name, cloud)
    if fits != cloud:
        native = next((f for f, c in _CLOUD_OF_FORMAT.items() if c == cloud), "json")
        raise ConfigError(f"format {name!r} is for {fits}, and this agent is on {cloud}", hint=f"use --format {native}")
    if reveal and name not in REVEALING_FORMATS:
        raise ConfigError(
            f"format {name!r} holds secrets as references only", hint="drop --reveal, or use --format dotenv"
        )


def render(environment: Environment, name: str) -> str:
    """The text of one format, without a final line break. Raises `ConfigError` where it does not fit."""
    check_format(name, cloud=environment.cloud, reveal=bool(environment.revealed))
    return FORMATS[name](environment)


def describe(reference: dict[str, str]) -> str:
    """Where a secret is, in words."""
    if reference["ref"] == AGENT_FILE_REFERENCE:
        return f"the agent file ({reference['key']})"
    return f"{reference['ref']} (key {reference['key']})" if reference.get("key") else reference["ref"]


def _assignment(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"variable {name!r} cannot be written as dotenv: not a name a shell accepts", hint="use --format json"
        )
    for character, words in _UNWRITABLE.items():
        if character in value:
            raise ConfigError(
                f"variable {name} cannot be written as dotenv: its value holds {words}", hint="use --format json"
            )
    return f"{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    # Readers other than a shell take a backslash before a quote, or before a backslash, as an escape.
    if "'" not in value and "\\\\" not in value and not value.endswith("\\"):
        return f"'{value}'"
    if not _LIVE_IN_DOUBLE_QUOTES & set(value):
        return '"' + value.replace("\\", "\\\\") + '"'
    return "'" + value.replace("'", "'\\''") + "'"


def _plain(environment: Environment) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in environment.env.items()]


def _secret_key_ref(reference: dict[str, str]) -> dict[str, str]:
    """Cloud Run's `key` is a version. A full resource name carries it; else the reference's own, else the latest."""
    found = _VERSIONED_REFERENCE.fullmatch(reference["ref"])
    name = found["name"] if found else reference["ref"]
    version = (found["version"] if found else None) or reference.get("version") or "latest"
    return {"name": name, "key": version}


def _container_apps_name(variable: str) -> str:
    """Container Apps allows lower-case letters, digits and hyphens in a secret's name."""
    return variable.lower().replace("_", "-")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2)
