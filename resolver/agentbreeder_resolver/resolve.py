"""From what the agent file says to what must exist and what the container gets. Pure; every rule of docs/agent-yaml.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentbreeder_core.errors import ConfigError, Problem

from .choose import Choice, choose_backend, config_env
from .configs import CONFIG_FILE, ChainedConfigs, FileMemoryConfigs, MemoryConfigSource
from .findings import adk_findings, conflict_findings, url_findings, variable_findings
from .network import REGION_KEYS, missing_network, network_of
from .plan_types import (
    KNOWN_AFTER_DEPLOY,
    MANAGED_CLOUDS,
    Finding,
    MemoryPlan,
    SecretEnv,
    SecretUrl,
    Severity,
    Store,
)
from .read_agent import load_agent_spec
from .spec import AgentSpec, KnowledgeBase, UrlSpec
from .stores import postgres_store, redis_store

AGENT_FILE = "agent.yaml"
_VARIABLE = {"redis": "REDIS_URL", "postgresql": "DATABASE_URL"}
KB_VARIABLE = "KB_PGVECTOR_DSN"


@dataclass(slots=True)
class _Draft:
    """What has been decided so far."""

    spec: AgentSpec
    stores: list[Store] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    secret_env: dict[str, SecretEnv] = field(default_factory=dict)
    secret_urls: list[SecretUrl] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def managed(self) -> bool:
        return self.spec.cloud in MANAGED_CLOUDS

    def say(self, severity: Severity, code: str, message: str, where: str = "") -> None:
        self.findings.append(Finding(severity=severity, code=code, message=message, where=where))

    def pass_on(self, variable: str, url: UrlSpec, secret_id: str) -> None:
        """The user's own URL: plain when it carries no password, else by reference."""
        self.findings += url_findings(self.spec, url)
        if url.url is None:
            return
        if url.url.has_password:
            from agentbreeder_core.secret import Secret

            self.secret_env[variable] = SecretEnv(origin=f"url:{secret_id}")
            self.secret_urls.append(SecretUrl(id=secret_id, source=url.key, value=Secret(url.url.as_injected())))
        else:
            self.env[variable] = url.url.as_injected()


def resolve_path(
    path: Path,
    *,
    strict: bool = False,
    network_env: Mapping[str, str] | None = None,
    configs: MemoryConfigSource | None = None,
) -> MemoryPlan:
    """Read an agent file (or the agent.yaml of a folder) and memory.yaml beside it, and resolve them. `configs` is asked for
    what memory.yaml does not have."""
    file = path / AGENT_FILE if path.is_dir() else path
    spec = load_agent_spec(file)
    named: MemoryConfigSource = FileMemoryConfigs(file.parent / CONFIG_FILE)
    if configs is not None:
        named = ChainedConfigs(named, configs)
    return resolve(spec, named, strict=strict, network_env=network_env)


def resolve(
    spec: AgentSpec,
    configs: MemoryConfigSource,
    *,
    strict: bool = False,
    network_env: Mapping[str, str] | None = None,
) -> MemoryPlan:
    """The plan for one agent. `network_env` gives defaults for network variables that the file leaves out.

    Raises `ConfigError` with every finding that is an error; with `strict`, warnings are errors.
    """
    draft = _Draft(spec)
    choice = choose_backend(spec, configs)
    draft.findings += choice.findings
    _memory(draft, choice)
    _knowledge_bases(draft, choice)
    if choice.backend not in ("", "none"):
        draft.env["MEMORY_BACKEND"] = choice.backend
        if choice.ttl_seconds > 0:
            draft.env["MEMORY_TTL_SECONDS"] = str(choice.ttl_seconds)
        draft.env |= config_env(choice.config, spec.team)
    defaults = network_env or {}
    network = network_of(spec.cloud, spec.env_vars, spec.memory.provision.get("network", {}), defaults)
    region = spec.region or defaults.get(REGION_KEYS.get(spec.cloud, ""), "")
    draft.findings += variable_findings(spec)
    draft.findings += adk_findings(spec, [*draft.env, *draft.secret_env])
    draft.findings += conflict_findings(spec, [*draft.env, *draft.secret_env])
    _place(draft, region, network)
    _raise_errors(draft, strict)
    return MemoryPlan(
        agent=spec.name,
        version=spec.version,
        team=spec.team,
        cloud=spec.cloud,
        region=region,
        memory_backend=choice.backend,
        ttl_seconds=choice.ttl_seconds,
        stores=tuple(draft.stores),
        env=dict(sorted(draft.env.items())),
        secret_env=dict(sorted(draft.secret_env.items())),
        secret_urls=tuple(draft.secret_urls),
        network=network,
        findings=tuple(draft.findings),
    )


def _memory(draft: _Draft, choice: Choice) -> None:
    spec, backend = draft.spec, choice.backend
    url = spec.memory.backend_url
    variable = _VARIABLE.get(backend)
    if url is not None and variable:
        make = redis_store if backend == "redis" else postgres_store
        why = f"{url.key} names it: yours is used, nothing is made"
        draft.stores.append(make(spec, uses=("memory",), provision=False, why=why))
        draft.pass_on(variable, url, "memory-url")
        if spec.memory.provision:
            message = "memory.provision is ignored, because memory.backend_url is given"
            draft.say("warning", "PROVISION_IGNORED", message, spec.memory.provision_where)
        return
    if backend == "in_memory" and draft.managed:
        message = f"the in_memory backend keeps history in the container: on {spec.cloud} it is lost at every restart"
        draft.say("warning", "IN_MEMORY_ON_CLOUD", message, choice.where)
    if variable is None:
        return
    if not draft.managed:
        _unmanaged(draft, choice, variable)
        return
    if backend == "redis":
        store = redis_store(spec, uses=("memory",), provision=True, why=f"{choice.reason}, and no backend_url is given")
        draft.stores.append(store)
        if store.tls:
            draft.secret_env[variable] = SecretEnv(origin="store:redis")
        else:
            draft.env[variable] = KNOWN_AFTER_DEPLOY
    else:
        why = f"{choice.reason}, and no backend_url is given"
        draft.stores.append(postgres_store(spec, uses=("memory",), provision=True, why=why))
        draft.secret_env[variable] = SecretEnv(origin="store:postgresql")


def _unmanaged(draft: _Draft, choice: Choice, variable: str) -> None:
    spec = draft.spec
    why = f"nothing is made on {spec.cloud}: the container uses the {choice.backend} that {variable} points to there"
    make = redis_store if choice.backend == "redis" else postgres_store
    draft.stores.append(make(spec, uses=("memory",), provision=False, why=why))
    message = f"{why}; set {variable} yourself, or give memory.backend_url"
    draft.say("note", "NOTHING_PROVISIONED", message, choice.where)


def _knowledge_bases(draft: _Draft, choice: Choice) -> None:
    ours: list[KnowledgeBase] = []
    named: dict[str, KnowledgeBase] = {}
    for kb in draft.spec.knowledge_bases:
        if kb.backend_url is None:
            ours.append(kb)
        elif kb.backend_url.url is None or kb.backend_url.url.family != "postgresql":
            message = f"knowledge base {kb.ref!r}: its {kb.backend_url.scheme}:// store is left to its own reader"
            draft.say("note", "KB_FOREIGN_STORE", message, kb.where)
        else:
            named[kb.backend_url.url.as_injected()] = kb
    if len(named) > 1:
        refs = ", ".join(repr(k.ref) for k in named.values())
        message = f"{refs} name different PostgreSQL URLs, but {KB_VARIABLE} can hold only one"
        draft.say("error", "KB_URL_CONFLICT", message, list(named.values())[1].where)
    elif named:
        _named_kb(draft, next(iter(named.values())), ours)
    elif ours and draft.managed:
        _provision_kb(draft, ours)
    elif ours:
        why = f"nothing is made on {draft.spec.cloud}: set {KB_VARIABLE} there yourself, or give the knowledge base a backend_url"
        draft.say("note", "NOTHING_PROVISIONED", why, ours[0].where)


def _named_kb(draft: _Draft, kb: KnowledgeBase, others: list[KnowledgeBase]) -> None:
    assert kb.backend_url is not None
    uses = (f"knowledge_base:{kb.ref}",)
    why = f"{kb.backend_url.key} names it: yours is used, nothing is made"
    draft.stores.append(postgres_store(draft.spec, uses=uses, provision=False, why=why))
    draft.pass_on(KB_VARIABLE, kb.backend_url, "kb-url")
    if others:
        refs = ", ".join(repr(k.ref) for k in others)
        message = f"{refs} will find the PostgreSQL of {kb.ref!r} in {KB_VARIABLE}; no other is made for them"
        draft.say("warning", "KB_SHARES_URL", message, others[0].where)


def _provision_kb(draft: _Draft, bases: list[KnowledgeBase]) -> None:
    uses = tuple(f"knowledge_base:{kb.ref}" for kb in bases)
    draft.secret_env[KB_VARIABLE] = SecretEnv(origin="store:postgresql")
    for i, store in enumerate(draft.stores):
        if store.kind == "postgresql" and store.provision:
            why = f"{store.why}; shared with {len(bases)} knowledge base(s): one instance"
            draft.stores[i] = postgres_store(draft.spec, uses=("memory", *uses), provision=True, why=why)
            return
    why = "knowledge bases without a backend_url need a PostgreSQL with pgvector"
    draft.stores.append(postgres_store(draft.spec, uses=uses, provision=True, why=why))


def _place(draft: _Draft, region: str, network: Mapping[str, object]) -> None:
    spec = draft.spec
    made = any(s.provision for s in draft.stores) or (draft.managed and bool(draft.secret_urls))
    if not made:
        return
    if not region and spec.cloud in MANAGED_CLOUDS:
        draft.say(
            "error", "REGION_MISSING", f"deploy.region is needed to make anything on {spec.cloud}", f"{spec.file}:1"
        )
    families = {s.kind for s in draft.stores if s.provision}
    for variable in missing_network(spec.cloud, network, families):
        message = f"deploy.env_vars.{variable} is not set; deploy will say what it needs and stop"
        draft.say("warning", "NETWORK_MISSING", message, f"{spec.file}:1")


def _raise_errors(draft: _Draft, strict: bool) -> None:
    draft.findings.sort(key=lambda f: (("error", "warning", "note").index(f.severity), f.code, f.where, f.message))
    bad = [f for f in draft.findings if f.severity == "error" or (strict and f.severity == "warning")]
    if bad:
        raise ConfigError(problems=[_problem(f) for f in bad])


def _problem(finding: Finding) -> Problem:
    file, line, column = finding.where, 0, 0
    parts = finding.where.rsplit(":", 2)
    if len(parts) > 1 and parts[-1].isdigit():
        numbers = [int(p) for p in parts[1:] if p.isdigit()]
        file, line = finding.where[: -sum(len(str(n)) + 1 for n in numbers)], numbers[0]
        column = numbers[1] if len(numbers) > 1 else 0
    return Problem(code=finding.code, message=finding.message, file=file, line=line, column=column)
