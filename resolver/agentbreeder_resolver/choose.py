"""Which backend the agent's memory uses, and why: the file first, then the named config, then the URL's scheme."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentbreeder_core.namespaces import DEFAULT_TEAM, pattern_of

from .configs import MemoryConfig, MemoryConfigSource
from .plan_types import Finding, Severity
from .reader import suggest
from .spec import AgentSpec


@dataclass(slots=True)
class Choice:
    """`backend` "" means that the agent asks for no memory. `reason` starts a sentence of why."""

    backend: str = ""
    ttl_seconds: int = 0
    reason: str = ""
    where: str = ""
    config: MemoryConfig | None = None
    findings: list[Finding] = field(default_factory=list)

    def say(self, severity: Severity, code: str, message: str, where: str) -> None:
        self.findings.append(Finding(severity=severity, code=code, message=message, where=where))


def choose_backend(spec: AgentSpec, configs: MemoryConfigSource) -> Choice:
    """Apply the rules; contradictions become findings with severity error."""
    choice = Choice()
    named = _named_config(spec, configs, choice)
    if named is not None:
        choice.config, choice.ttl_seconds = named, named.ttl_seconds
    explicit, url = spec.memory.backend, spec.memory.backend_url
    inferred = url.url.family if url and url.url else ""
    if explicit:
        choice.backend, choice.reason, choice.where = (
            explicit,
            f"memory.backend is {explicit}",
            spec.memory.backend_where,
        )
        if inferred and explicit != inferred:
            message = (
                f"memory.backend is {explicit!r}, but memory.backend_url is a {inferred} URL ({url.scheme if url else ''}://); "
                "change one of them"
            )
            choice.say("error", "BACKEND_CONTRADICTION", message, spec.memory.backend_where)
        elif named is not None and named.backend != explicit:
            message = f"memory.backend {explicit!r} is used; the config {named.name!r} says {named.backend!r}"
            choice.say("note", "BACKEND_OVERRIDES_CONFIG", message, spec.memory.backend_where)
    elif inferred and url:
        choice.backend, choice.where = inferred, url.where
        choice.reason = f"the scheme of memory.backend_url is {url.scheme}://"
        if named is not None and named.backend not in (inferred, "in_memory"):
            message = f"memory.backend_url is a {inferred} URL, but the config {named.name!r} says {named.backend!r}"
            choice.say("error", "BACKEND_CONTRADICTION", message, url.where)
    elif named is not None:
        choice.backend, choice.where = named.backend, named.where
        choice.reason = f"the memory config {named.name!r} says {named.backend}"
    return choice


def config_env(config: MemoryConfig | None, team: str) -> dict[str, str]:
    """What a named config says to the container beside its backend: how much is kept, and under which names, so that the
    service sees the same conversations."""
    if config is None:
        return {}
    team = config.team or team or DEFAULT_TEAM
    env = {"MEMORY_TYPE": config.memory_type}
    if config.memory_type == "buffer_window":
        env["MEMORY_MAX_MESSAGES"] = str(config.max_messages)
    env["MEMORY_NAMESPACE_PATTERN"] = pattern_of(team, config.name, config.namespace_pattern, config.scope)
    if "{team}" in config.namespace_pattern:
        env["AGENT_TEAM"] = team
    return env


def _named_config(spec: AgentSpec, configs: MemoryConfigSource, choice: Choice) -> MemoryConfig | None:
    if spec.memory_config is not None:
        name, where = spec.memory_config.text, spec.memory_config.where
        found = configs.get(name)
        if found is None:
            message = f"unknown memory_config {name!r} in {configs.location}{suggest(name, configs.names())}"
            choice.say("error", "UNKNOWN_MEMORY_CONFIG", message, where)
        if spec.memory.stores:
            message = f"memory_config {name!r} decides; memory.stores is left to other readers"
            choice.say("note", "CONFIG_OVERRIDES_STORES", message, where)
        return found
    known: list[MemoryConfig] = []
    for store in spec.memory.stores:
        config = configs.get(store.text)
        if config is not None:
            known.append(config)
        else:
            message = f"memory.stores: {store.text!r} is not in {configs.location}; nothing is made for it"
            choice.say("warning", "UNKNOWN_STORE", message, store.where)
    if len({c.backend for c in known}) > 1 and not spec.memory.backend:
        both = ", ".join(f"{c.name} is {c.backend}" for c in known)
        message = f"memory.stores have different backends ({both}); say which with memory.backend"
        choice.say("error", "STORES_CONFLICT", message, spec.memory.stores[0].where)
    return known[0] if known else None
