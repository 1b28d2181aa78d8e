"""The resolver's answer: a frozen, JSON-stable plan of what memory an agent needs. Same input, same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agentbreeder_core.secret import Secret

Cloud = Literal["aws", "gcp", "azure", "local", "kubernetes", "claude-managed"]
Severity = Literal["error", "warning", "note"]
MANAGED_CLOUDS: frozenset[str] = frozenset({"aws", "gcp", "azure"})
KNOWN_AFTER_DEPLOY = "(known after deploy)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the user should know. `where` is `file:line:column`; `code` is stable, `message` never holds a secret."""

    severity: Severity
    code: str
    message: str
    where: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"severity": self.severity, "code": self.code, "message": self.message, "where": self.where}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresStore:
    """A PostgreSQL the agent uses. The size fields matter only when `provision` is true."""

    kind: Literal["postgresql"] = "postgresql"
    uses: tuple[str, ...]  # "memory", "knowledge_base:<ref>"
    provision: bool
    why: str
    instance_class: str = ""
    storage_gib: int = 20
    engine_version: str = ""  # major only
    backup_days: int = 7
    multi_az: bool = False
    deletion_protection: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisStore:
    """A Redis-protocol store the agent uses. `engine` is `valkey` or `redis` (AWS only; elsewhere `redis`).

    `azure_redis` says which of Azure's two products: `managed` or `cache`; "" on other clouds.
    """

    kind: Literal["redis"] = "redis"
    uses: tuple[str, ...]
    provision: bool
    why: str
    engine: str = ""
    instance_class: str = ""
    engine_version: str = ""
    backup_days: int = 0
    multi_az: bool = False
    tls: bool = False
    azure_redis: str = ""


Store = PostgresStore | RedisStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUrl:
    """A connection URL the user wrote that carries a password: it goes into the cloud's vault.

    `id` is short and stable (`memory-url`, `kb-url`) and names the step; `source` is the key it came from.
    """

    id: str
    source: str  # e.g. "memory.backend_url"
    value: Secret = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEnv:
    """Where a secret variable's value will come from.

    `origin` is `store:postgresql`, `store:redis` (a URL this product makes), or `url:<SecretUrl.id>`. `key` is the JSON
    key inside the vault's secret (always `url`).
    """

    origin: str
    key: str = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Everything later layers need. Mappings are in a fixed (sorted) order.

    `env` holds plain variables; a value only known after creation is `KNOWN_AFTER_DEPLOY` (then exactly `REDIS_URL` of
    an unauthenticated provisioned Redis). `network` is the cloud's own network input, e.g. for aws
    `{"subnet_ids": [...], "security_group_ids": [...], "vpc_id": "" or id}`; which keys exist is the cloud's business.
    """

    agent: str
    version: str
    team: str
    cloud: Cloud
    region: str
    memory_backend: str  # "redis" | "postgresql" | "in_memory" | "" when the agent asks for no memory
    ttl_seconds: int
    stores: tuple[Store, ...]
    env: dict[str, str]
    secret_env: dict[str, SecretEnv]
    secret_urls: tuple[SecretUrl, ...]
    network: dict[str, Any]
    findings: tuple[Finding, ...]

    def provisioned(self) -> tuple[Store, ...]:
        """The stores this product must make."""
        return tuple(s for s in self.stores if s.provision)
