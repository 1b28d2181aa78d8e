"""agent.yaml to `AgentSpec`: our part strict, everybody else's keys left alone, all problems at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from yaml.nodes import MappingNode, Node, ScalarNode

from agentbreeder_core.errors import ConfigError, Problem
from agentbreeder_core.url import BackendUrl, BadUrl, family_of, scheme_of

from .network import NETWORK_VARIABLES, REGION_KEYS
from .plan_types import Cloud
from .provision import read_provision
from .reader import NULL, Section, near_miss, placeholders, suggest, text_of
from .spec import AgentSpec, KnowledgeBase, Located, MemorySpec, UrlSpec
from .yaml_nodes import Problems, compose, read_text

CLOUDS: tuple[Cloud, ...] = get_args(Cloud)
BACKENDS = ("redis", "postgresql", "in_memory", "none")
TOP_KEYS = ("name", "version", "team", "memory_config", "memory", "knowledge_bases", "deploy")
MEMORY_KEYS = ("stores", "backend", "backend_url", "provision")
KB_KEYS = ("ref", "backend_url", "name", "type", "description", "top_k", "collection", "chunk_size")
DEPLOY_KEYS = ("cloud", "region", "env_vars", "secrets")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
REGION = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)
# What AWS accepts in a tag's value, the narrowest of what a team's name ends up in.
TEAM = re.compile(r"[\w .:/=+@-]{0,200}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Keys of ours that would be silently lost in these places, with the place where they belong.
_MISPLACED_TOP = {
    "backend": "memory.backend",
    "backend_url": "memory.backend_url",
    "stores": "memory.stores",
    "provision": "memory.provision",
    "cloud": "deploy.cloud",
    "region": "deploy.region",
    "env_vars": "deploy.env_vars",
}
_MISPLACED_DEPLOY = {
    "backend": "memory.backend",
    "backend_url": "memory.backend_url",
    "memory_config": "memory_config (top level)",
    "memory": "memory (top level)",
    "knowledge_bases": "knowledge_bases (top level)",
    "provision": "memory.provision",
}
# Other readers' keys that look like a misspelling of ours and are not.
_FOREIGN = frozenset({"versions", "teams", "names", "tags", "secret", "regions", "namespace"})


def load_agent_spec(path: Path) -> AgentSpec:
    """Read one agent file. Raises `ConfigError` with every problem of the file, each with line and column."""
    root = compose(read_text(path), path)
    problems = Problems(str(path))
    if not isinstance(root, MappingNode):
        message = "the file is empty" if root is None else "the file must be a mapping (key: value lines)"
        raise ConfigError(problems=[Problem(code="NOT_A_MAPPING", message=message, file=str(path), line=1)])
    top = Section(root, "", problems)
    _catch_typos(top, TOP_KEYS, _MISPLACED_TOP)
    deploy = top.section("deploy")
    cloud, region = _target(deploy, problems)
    bases = tuple(kb for i, n in enumerate(top.sequence("knowledge_bases")) if (kb := _knowledge_base(n, i, problems)))
    env_vars = _env_vars(deploy)
    region = _region(deploy, cloud, region, env_vars, problems)
    config = top.text("memory_config")
    spec = AgentSpec(
        file=str(path),
        name=_name(top),
        version=top.text("version", exact_numbers=True) or "",
        team=_team(top),
        cloud=cloud,
        region=region,
        memory=_memory(top.section("memory"), cloud),
        memory_config=Located(config, problems.where(top.items["memory_config"][1])) if config else None,
        knowledge_bases=bases,
        env_vars=env_vars,
        secrets=_secrets(deploy, problems),
        adk_database=_adk_database(top, problems),
    )
    problems.raise_if_any()
    return spec


def _adk_database(top: Section, problems: Problems) -> str:
    """ADK's own part is only looked at, never checked."""
    section = top.node_of("google_adk")
    for key, value in section.value if isinstance(section, MappingNode) else []:
        if getattr(key, "value", None) == "session_backend" and getattr(value, "value", None) == "database":
            return problems.where(value)
    return ""


def _catch_typos(section: Section, ours: tuple[str, ...], misplaced: dict[str, str]) -> None:
    """A key that is surely meant for us must not be lost: it could turn "use my database" into "buy me one"."""
    for name, (node, _) in section.items.items():
        if name in ours or name in _FOREIGN:
            continue
        if name in misplaced:
            message = f"{section.key(name)!r} is not read here; it belongs under {misplaced[name]}"
            section.problems.add("MISPLACED_KEY", message, node, section.key(name))
        else:
            near = near_miss(name, ours)
            if near:
                message = f"unknown key {section.key(name)!r}; did you mean {section.key(near)!r}?"
                section.problems.add("UNKNOWN_KEY", message, node, section.key(name))


def _name(top: Section) -> str:
    if top.node_of("name") is None:
        top.problems.add("NAME_MISSING", "the agent needs a name", top.node, "name")
        return ""
    name = top.text("name")
    if name is not None and not NAME.fullmatch(name):
        message = "name must be 1 to 200 letters, digits, '.', '_' or '-', and start with a letter or digit"
        top.problems.add("BAD_NAME", message, top.node_of("name"), "name")
    return name or ""


def _team(top: Section) -> str:
    team = top.text("team") or ""
    if not TEAM.fullmatch(team):
        message = "team may hold letters, digits, blanks and . : / = + @ _ -, 200 at most: it becomes a tag"
        top.problems.add("BAD_TEAM", message, top.node_of("team"), "team")
    return team


def _target(deploy: Section | None, problems: Problems) -> tuple[Cloud, str]:
    if deploy is None:
        return "local", ""
    _catch_typos(deploy, DEPLOY_KEYS, _MISPLACED_DEPLOY)
    named = deploy.text("cloud")
    cloud: Cloud = "local"
    if named is not None:
        matching = [c for c in CLOUDS if c == named]
        if matching:
            cloud = matching[0]
        else:
            message = f"unknown cloud {named!r}{suggest(named, CLOUDS)}"
            if not _unfilled(named, "deploy.cloud", deploy.node_of("cloud"), problems):
                problems.add("UNKNOWN_CLOUD", message, deploy.node_of("cloud"), "deploy.cloud")
    region = deploy.text("region") or ""
    node = deploy.node_of("region")
    if region and not _unfilled(region, "deploy.region", node, problems) and not REGION.fullmatch(region.strip()):
        problems.add("BAD_REGION", f"{region!r} is not a region name", node, "deploy.region")
    return cloud, region.strip()


def _region(deploy: Section | None, cloud: str, region: str, env_vars: dict[str, Located], problems: Problems) -> str:
    name = REGION_KEYS.get(cloud, "")
    other = env_vars.get(name)
    if other is None or deploy is None:
        return region
    if region and other.text.strip() != region:
        message = f"deploy.region is {region!r}, but deploy.env_vars.{name} is {other.text!r}; keep one"
        problems.add("REGION_CONFLICT", message, deploy.node_of("region"), "deploy.region")
    return region or other.text.strip()


def _unfilled(text: str, key: str, node: Node | None, problems: Problems) -> bool:
    names = placeholders(text)
    if names:
        missing = ", ".join(dict.fromkeys(names))
        message = (
            f"{key} holds placeholders that nobody filled in: {missing}; nothing is read from the environment here"
        )
        problems.add("UNRESOLVED_PLACEHOLDER", message, node, key)
    return bool(names)


def _memory(section: Section | None, cloud: Cloud) -> MemorySpec:
    if section is None:
        return MemorySpec()
    problems = section.problems
    section.refuse_unknown(MEMORY_KEYS)
    backend = section.text("backend") or ""
    node = section.node_of("backend")
    if backend and backend not in BACKENDS:
        message = f"unknown backend {backend!r}{suggest(backend, BACKENDS)}"
        problems.add("UNKNOWN_BACKEND", message, node, section.key("backend"))
    url = _url(section, ours_only=True)
    provision = section.section("provision")
    family = backend or (url.url.family if url and url.url else "")
    return MemorySpec(
        backend=backend,
        backend_where=problems.where(node) if node is not None else "",
        backend_url=url,
        stores=tuple(Located(t, problems.where(n)) for t, n in section.texts("stores")),
        provision=read_provision(provision, cloud, family) if provision else {},
        provision_where=problems.where(provision.node) if provision else "",
    )


def _url(section: Section, *, ours_only: bool) -> UrlSpec | None:
    node = section.node_of("backend_url")
    if node is None:
        return None
    key, problems = section.key("backend_url"), section.problems
    if isinstance(node, ScalarNode) and (node.tag == NULL or not node.value.strip()):
        message = f"{key} is set but empty: a variable was missing upstream; give it a URL, or remove the key"
        problems.add("EMPTY_URL", message, node, key)
        return None
    text = text_of(node, key, problems)
    if text is None or _unfilled(text, key, node, problems):
        return None
    scheme = scheme_of(text)
    if not ours_only and scheme and family_of(scheme) is None:
        return UrlSpec(url=None, scheme=scheme, key=key, where=problems.where(node))
    try:
        url = BackendUrl.parse(text)
    except BadUrl as e:
        problems.add("BAD_URL", f"{key}: {e}", node, key)
        return None
    return UrlSpec(url=url, scheme=url.scheme, key=key, where=problems.where(node))


def _knowledge_base(node: Node, index: int, problems: Problems) -> KnowledgeBase | None:
    key = f"knowledge_bases[{index}]"
    if isinstance(node, ScalarNode):
        ref = text_of(node, key, problems)
        return KnowledgeBase(ref=ref, where=problems.where(node)) if ref else None
    if not isinstance(node, MappingNode):
        problems.add("WRONG_TYPE", f"{key} must be a mapping with a ref", node, key)
        return None
    section = Section(node, key, problems)
    section.refuse_unknown(KB_KEYS)
    ref = section.text("ref")
    if section.node_of("ref") is None:
        problems.add("REF_MISSING", f"{key} needs a ref", node, key)
    return KnowledgeBase(ref=ref or "", where=problems.where(node), backend_url=_url(section, ours_only=False))


def _env_vars(deploy: Section | None) -> dict[str, Located]:
    section = deploy.section("env_vars") if deploy else None
    found: dict[str, Located] = {}
    if section is None:
        return found
    problems = section.problems
    for name, (key_node, value_node) in section.items.items():
        key = section.key(name)
        if not VARIABLE.fullmatch(name):
            problems.add("BAD_VARIABLE", f"{name[:60]!r} is not a variable name", key_node, key[:100])
            continue
        text = text_of(value_node, key, problems, exact_numbers=True)
        if text is None:
            continue
        if "\0" in text:
            problems.add(
                "BAD_VARIABLE", f"{key} holds a NUL character, which no environment can carry", value_node, key
            )
        if name in NETWORK_VARIABLES:
            _unfilled(text, key, value_node, problems)
        found[name] = Located(text, problems.where(value_node))
    return found


def _secrets(deploy: Section | None, problems: Problems) -> dict[str, Located]:
    node = deploy.node_of("secrets") if deploy else None
    found: dict[str, Located] = {}
    items: list[Any] = []
    if isinstance(node, MappingNode):
        items = [k for k, _ in node.value]
    elif deploy is not None and node is not None:
        items = deploy.sequence("secrets")
    for item in items:
        named = item
        if isinstance(item, MappingNode):
            named = next((v for k, v in item.value if k.value == "name"), None)
        if isinstance(named, ScalarNode):
            found[str(named.value)] = Located("", problems.where(named))
    return found
