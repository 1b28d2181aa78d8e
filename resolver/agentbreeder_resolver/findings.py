"""What the user should know about URLs and names, apart from what is made. Pure functions from spec to findings."""

from __future__ import annotations

from collections.abc import Iterable

from agentbreeder_core.hosts import Host, is_local, locality
from agentbreeder_core.url import BackendUrl, hosts_of, scheme_of

from .plan_types import MANAGED_CLOUDS, Finding
from .spec import AgentSpec, UrlSpec

_REDIS_CERT_REQS = frozenset({"none", "optional", "required"})


def url_findings(spec: AgentSpec, url: UrlSpec) -> list[Finding]:
    """Local hosts bound for a real cloud, sockets that do not exist there, options a client refuses."""
    found: list[Finding] = []
    parsed = url.url
    if parsed is None:
        return found
    if spec.cloud in MANAGED_CLOUDS:
        found += _places(spec.cloud, url, parsed)
    for key, value in parsed.query:
        if key == "ssl_cert_reqs" and value not in _REDIS_CERT_REQS:
            message = f"{url.key}: redis-py refuses ssl_cert_reqs={value!r}; it knows none, optional and required"
            found.append(Finding(severity="warning", code="TLS_OPTION", message=message, where=url.where))
    if parsed.scheme.endswith("+sentinel"):
        message = (
            f"{url.key}: a Sentinel URL is passed on as it is; the runtime opens it, a plain redis-py client does not"
        )
        found.append(Finding(severity="note", code="SENTINEL_URL", message=message, where=url.where))
    return found


def _places(cloud: str, url: UrlSpec, parsed: BackendUrl) -> list[Finding]:
    found: list[Finding] = []
    local = parsed.local_hosts()
    if local:
        found.append(local_url(url.key, parsed.scheme, local, cloud, url.where))
    for host in parsed.hosts:
        where = locality(host)
        if where == "cloudsql-socket" and cloud != "gcp":
            message = f"{url.key}: {host.name.split('/')[1]!r} sockets exist only on Google Cloud, not on {cloud}"
            found.append(Finding(severity="warning", code="SOCKET_NOT_THERE", message=message, where=url.where))
        elif where == "single-label":
            message = f"{url.key}: {host.name!r} is a single word; it works only where your network's own DNS knows it"
            found.append(Finding(severity="warning", code="SINGLE_LABEL_HOST", message=message, where=url.where))
    return found


def local_url(key: str, scheme: str, hosts: Iterable[Host], cloud: str, where: str) -> Finding:
    """`LOCAL_URL`: shows key, scheme and host; never user, password or query."""
    names = ", ".join(h.name or "(none, which means this machine)" for h in hosts)
    message = (
        f"{key}: {scheme}:// host {names} is this machine, or one only it can reach; a container on {cloud} cannot. "
        "Give the address as the cloud sees it, or remove the URL to have a store made"
    )
    return Finding(severity="warning", code="LOCAL_URL", message=message, where=where)


def variable_findings(spec: AgentSpec) -> list[Finding]:
    """The user's own variables whose value is a URL to this machine, bound for a real cloud."""
    if spec.cloud not in MANAGED_CLOUDS:
        return []
    found = []
    for name, located in spec.env_vars.items():
        scheme = scheme_of(located.text)
        local = [h for h in hosts_of(located.text) if scheme and is_local(h)]
        if local and scheme != "file":
            found.append(local_url(f"deploy.env_vars.{name}", scheme, local, spec.cloud, located.where))
    return found


def conflict_findings(spec: AgentSpec, injected: Iterable[str]) -> list[Finding]:
    """A name that we inject and the file sets too, also when only the case differs."""
    found = []
    ours = {name.upper(): name for name in injected}
    for source, names in (("deploy.env_vars", spec.env_vars), ("deploy.secrets", spec.secrets)):
        for name, located in names.items():
            if name.upper() in ours:
                message = (
                    f"{source}.{name} and this deploy's own {ours[name.upper()]} (from memory / knowledge_bases) would "
                    "both be set; remove one of them"
                )
                found.append(Finding(severity="error", code="ENV_CONFLICT", message=message, where=located.where))
    for name in sorted({n.upper() for n in spec.env_vars} & {n.upper() for n in spec.secrets}):
        where = next(v.where for k, v in spec.secrets.items() if k.upper() == name)
        message = f"{name} stands in deploy.env_vars and in deploy.secrets; keep one"
        found.append(Finding(severity="error", code="ENV_CONFLICT", message=message, where=where))
    return found


def adk_findings(spec: AgentSpec, injected: Iterable[str]) -> list[Finding]:
    """ADK's database sessions fall back to `DATABASE_URL`, which is the memory's when that is PostgreSQL."""
    if not spec.adk_database:
        return []
    if "DATABASE_URL" in injected:
        message = (
            "google_adk.session_backend is database: where ADK has no URL of its own it takes the memory's DATABASE_URL, and "
            "makes its own tables beside ours"
        )
        return [Finding(severity="note", code="ADK_SHARES_DATABASE", message=message, where=spec.adk_database)]
    message = (
        "google_adk.session_backend is database, and no DATABASE_URL comes from the memory: give ADK a URL of its own, or use "
        "memory.backend: postgresql"
    )
    return [Finding(severity="note", code="ADK_NEEDS_DATABASE", message=message, where=spec.adk_database)]
