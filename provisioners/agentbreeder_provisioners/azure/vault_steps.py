"""The steps around Key Vault: the vault itself when the user has none, secrets, and who may read them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentbreeder_resolver.plan_types import MemoryPlan

from ..engine.steps import PREFLIGHT, Ref, Step
from .names import base_name, secret_name, vault_name

VAULT, VAULT_ACCESS = "azure/vault", "azure/vault-access"
VAULT_TIMEOUT_S = 900.0

SECRETS_OFFICER = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
"""Role "Key Vault Secrets Officer" (facts, section 7)."""
SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
"""Role "Key Vault Secrets User" (facts, section 7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What every step of one agent repeats. `vault` names the user's vault or the one to make."""

    base: str
    group: str
    location: str
    vault: str
    own_vault: bool
    runtime_principal: str

    @classmethod
    def of(cls, plan: MemoryPlan) -> Place:
        given = str(plan.network.get("key_vault_name", ""))
        return cls(
            base=base_name(plan),
            group=str(plan.network.get("resource_group", "")),
            location=plan.region,
            vault=given or vault_name(plan),
            own_vault=not given,
            runtime_principal=str(plan.network.get("runtime_principal_id", "")),
        )

    def inputs(self) -> dict[str, Any]:
        """Where a resource lives. Teardown has nothing but the record, so each one holds it."""
        return {"resource_group": self.group, "location": self.location}

    def vault_inputs(self) -> dict[str, Any]:
        """Where a secret lives. `vault_name` is the user's, so that naming another one later is seen as a change."""
        if not self.own_vault:
            ids = {k: Ref(PREFLIGHT, k) for k in ("vault_id", "vault_uri")}
            return {"vault_name": self.vault, **ids, "granted_at": ""}
        ids = {k: Ref(VAULT, k) for k in ("vault_id", "vault_uri")}
        return {"vault_name": "", **ids, "granted_at": Ref(VAULT_ACCESS, "granted_at")}

    def vault_needs(self) -> tuple[str, ...]:
        """What must be ready before a secret can be put."""
        return (VAULT, VAULT_ACCESS) if self.own_vault else ()


def vault_steps(place: Place) -> list[Step]:
    """A vault for this agent, and the deployer's right to put secrets into it."""
    return [
        Step(
            id=VAULT,
            kind="azure.key_vault",
            name=place.vault,
            inputs={**place.inputs(), "tenant_id": Ref(PREFLIGHT, "tenant_id")},
            timeout_s=VAULT_TIMEOUT_S,
            why="no AZURE_KEY_VAULT_NAME is given, and secrets live nowhere else",
        ),
        Step(
            id=VAULT_ACCESS,
            kind="azure.role_assignment",
            name=f"{place.vault}-deployer",
            needs=(VAULT,),
            inputs={
                "scope": Ref(VAULT, "vault_id"),
                "role": SECRETS_OFFICER,
                "principal_id": Ref(PREFLIGHT, "deployer_id"),
                "principal_type": Ref(PREFLIGHT, "deployer_type"),
            },
            part_of=VAULT,
            why="who makes a vault may not put secrets into it: Key Vault Secrets Officer, on this vault only",
        ),
    ]


def access_steps(use: str, secret: str, place: Place) -> list[Step]:
    """The runtime's right to read what the step `secret` put out; nothing when no AZURE_RUNTIME_PRINCIPAL_ID is given."""
    if not place.runtime_principal:
        return []
    return [
        Step(
            id=f"azure/{use}/access",
            kind="azure.role_assignment",
            name=f"{secret_name(place.base, use)}-reader",
            needs=(secret,),
            inputs={
                "scope": Ref(secret, "scope"),
                "role": SECRETS_USER,
                "principal_id": place.runtime_principal,
                "principal_type": "ServicePrincipal",  # what a managed identity is; without it a new one is not found
            },
            part_of=secret,
            why="lets the agent's own identity read this one secret: Key Vault Secrets User",
        )
    ]


def secret_step(
    step_id: str,
    use: str,
    place: Place,
    why: str,
    *,
    extra: Mapping[str, Any],
    always: bool = False,
) -> Step:
    """A secret of its own; `extra` says what its value is."""
    return Step(
        id=step_id,
        kind="azure.secret",
        name=secret_name(place.base, use),
        needs=place.vault_needs(),
        inputs={**place.vault_inputs(), **extra},
        timeout_s=VAULT_TIMEOUT_S,
        always=always,
        why=why,
    )
