"""A JSON Schema (draft 2020-12) of our part of agent.yaml, for editors; from the same tables as the reader."""

from __future__ import annotations

from typing import Any

from .provision import KEYS as PROVISION_KEYS
from .provision import NETWORK_KEYS, NETWORK_LISTS
from .read_agent import BACKENDS, CLOUDS, DEPLOY_KEYS, KB_KEYS, MEMORY_KEYS, NAME, TOP_KEYS

_TEXT: dict[str, Any] = {"type": "string"}
_URL = {"type": "string", "minLength": 1, "description": "Your own store; nothing is made for it."}
_TYPES: dict[str, dict[str, Any]] = {
    "instance_class": {**_TEXT, "description": "The cloud's size name; a small one is the default."},
    "storage_gib": {"type": "integer", "minimum": 10, "maximum": 65536, "description": "PostgreSQL storage in GiB."},
    "engine": {"enum": ["valkey", "redis"], "description": "AWS Redis-protocol engine; valkey is the default."},
    "engine_version": {"type": ["string", "integer"], "description": "Major version only, such as 17."},
    "backup_days": {"type": "integer", "minimum": 0, "maximum": 365, "description": "Days that backups are kept."},
    "multi_az": {"type": "boolean", "description": "A standby in a second zone; default false."},
    "deletion_protection": {"type": "boolean", "description": "The cloud refuses to delete it; default false."},
    "tls": {"type": "boolean", "description": "Redis: encryption in transit and an auth token; default false."},
    "azure_redis": {"enum": ["managed", "cache"], "description": "Azure only."},
}


def agent_schema() -> dict[str, Any]:
    """The schema as a dict. Keys outside our part are allowed, unknown ones inside it are not."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://agentbreeder.dev/schemas/agent-memory.json",
        "title": "agent.yaml: memory, knowledge bases and deploy target",
        "type": "object",
        "required": ["name"],
        "additionalProperties": True,
        "properties": _only(
            TOP_KEYS,
            {
                "name": {**_TEXT, "pattern": f"^{NAME.pattern}$", "description": "The agent's name."},
                "version": {"type": ["string", "number"]},
                "team": {**_TEXT, "maxLength": 200},
                "memory_config": {**_TEXT, "description": "A named config from memory.yaml."},
                "memory": _memory(),
                "knowledge_bases": {"type": ["array", "null"], "items": _knowledge_base()},
                "deploy": _deploy(),
            },
        ),
    }


def _only(keys: tuple[str, ...], properties: dict[str, Any]) -> dict[str, Any]:
    """The properties in the reader's order; a KeyError here means that reader and schema disagree."""
    assert set(properties) == set(keys)
    return {k: properties[k] for k in keys}


def _memory() -> dict[str, Any]:
    properties = {
        "stores": {"type": ["array", "null"], "items": _TEXT},
        "backend": {"enum": list(BACKENDS)},
        "backend_url": _URL,
        "provision": _provision(),
    }
    return {"type": ["object", "null"], "additionalProperties": False, "properties": _only(MEMORY_KEYS, properties)}


def _provision() -> dict[str, Any]:
    network: dict[str, Any] = {}
    for keys in NETWORK_KEYS.values():
        for key in keys:
            network[key] = {"type": "array", "items": _TEXT} if key in NETWORK_LISTS else _TEXT
    properties = {
        **_TYPES,
        "network": {"type": ["object", "null"], "additionalProperties": False, "properties": network},
    }
    return {"type": ["object", "null"], "additionalProperties": False, "properties": _only(PROVISION_KEYS, properties)}


def _knowledge_base() -> dict[str, Any]:
    properties: dict[str, Any] = dict.fromkeys(KB_KEYS, True)
    properties |= {"ref": _TEXT, "backend_url": _URL}
    entry = {"type": "object", "required": ["ref"], "additionalProperties": False, "properties": properties}
    return {"anyOf": [_TEXT, entry]}


def _deploy() -> dict[str, Any]:
    number = {"type": ["string", "number"]}
    properties = {
        "cloud": {"enum": list(CLOUDS), "default": "local"},
        "region": _TEXT,
        "env_vars": {
            "type": ["object", "null"],
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": number,
        },
        "secrets": True,
    }
    return {"type": ["object", "null"], "additionalProperties": True, "properties": _only(DEPLOY_KEYS, properties)}
