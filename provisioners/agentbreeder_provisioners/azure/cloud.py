"""Azure as the use-cases see it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import ConfigError
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.plan_types import MemoryPlan

from ..engine.steps import Step
from .steps import env_sources, steps_for

if TYPE_CHECKING:
    from ..engine.kinds import Kind
    from ..engine.sources import EnvSource
    from ..engine.wiring import Checks
    from .clients import AzureClients


class AzureProvider:
    """Credentials from DefaultAzureCredential, one subscription. See `engine.wiring.Provider`."""

    def __init__(self, clients: AzureClients) -> None:
        self._az = clients

    def account(self) -> str:
        """The subscription's id, once the credentials were seen to reach it."""
        from .preflight import subscription

        return str(subscription(self._az)["subscriptionId"]).lower()

    def kinds(self) -> Mapping[str, Kind]:
        """The Azure kinds."""
        from .kinds import kinds_for

        return kinds_for(self._az)

    def check(self, plan: MemoryPlan) -> Checks:
        """See `azure.preflight`."""
        from .preflight import check

        return check(self._az, plan)

    def reveal(self, reference: Mapping[str, str]) -> Secret:
        """Reads the secret's version; needs the role Key Vault Secrets User on it, or one above."""
        from .kinds.vault import read_version

        return read_version(self._az, reference["ref"]).value


class AzureCloud:
    """See `engine.wiring.Cloud`."""

    no_final_snapshot = (
        "Azure deletes a server's backups together with the server, so there is no final snapshot to keep"
    )
    sign_in_hint = (
        "az login, and set AZURE_SUBSCRIPTION_ID to the recorded subscription; then run the same command again"
    )

    def account_in(self, plan: MemoryPlan) -> str:
        """The subscription, as the agent file or the shell names it."""
        return str(plan.network.get("subscription_id", "")).lower()

    def steps_for(self, plan: MemoryPlan) -> list[Step]:
        """Pure."""
        return steps_for(plan)

    def env_sources(self, plan: MemoryPlan) -> dict[str, EnvSource]:
        """Pure."""
        return env_sources(plan)

    def open(
        self, *, account: str, region: str, clock: Clock, cancel: threading.Event, secrets: Mapping[str, Secret]
    ) -> AzureProvider:
        """Makes no call yet; the SDK is imported at the first one. Raises `ConfigError` without a subscription."""
        from .clients import AzureClients

        if not account:
            raise ConfigError(
                "no Azure subscription is named",
                hint="set deploy.env_vars.AZURE_SUBSCRIPTION_ID, or export it: az account show --query id",
            )
        return AzureProvider(AzureClients(account, region, clock, cancel, secrets.values()))

    def orphan_hint(self, agent: str, account: str, region: str) -> str:
        """Lists every ARM resource by its tags; secrets in a vault of yours are seen with `az keyvault secret list`."""
        where = f" --subscription {account}" if account else ""
        return f"az resource list --tag agentbreeder-agent={agent}{where} --output table"
