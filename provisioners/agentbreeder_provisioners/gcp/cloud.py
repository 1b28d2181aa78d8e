"""Google Cloud as the use-cases see it."""

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
    from .clients import GcpClients


class GcpProvider:
    """Application Default Credentials, one project. See `engine.wiring.Provider`."""

    def __init__(self, clients: GcpClients) -> None:
        self._gcp = clients

    def account(self) -> str:
        """The project id, once the credentials were seen to reach it."""
        return str(self._gcp.project_record()["projectId"])

    def kinds(self) -> Mapping[str, Kind]:
        """The Google Cloud kinds."""
        from .kinds import kinds_for

        return kinds_for(self._gcp)

    def check(self, plan: MemoryPlan) -> Checks:
        """See `gcp.preflight`."""
        from .preflight import check

        return check(self._gcp, plan)

    def reveal(self, reference: Mapping[str, str]) -> Secret:
        """Reads the secret version; needs secretmanager.versions.access."""
        from .kinds.vault import read_version

        return read_version(self._gcp, reference["ref"])


class GcpCloud:
    """See `engine.wiring.Cloud`."""

    no_final_snapshot = ""
    sign_in_hint = (
        "set GOOGLE_CLOUD_PROJECT to the recorded project (and sign in to it), then run the same command again"
    )

    def account_in(self, plan: MemoryPlan) -> str:
        """The project, as the agent file or the shell names it."""
        return str(plan.network.get("project", ""))

    def steps_for(self, plan: MemoryPlan) -> list[Step]:
        """Pure."""
        return steps_for(plan)

    def env_sources(self, plan: MemoryPlan) -> dict[str, EnvSource]:
        """Pure."""
        return env_sources(plan)

    def open(
        self, *, account: str, region: str, clock: Clock, cancel: threading.Event, secrets: Mapping[str, Secret]
    ) -> GcpProvider:
        """Makes no call yet; Google's libraries are imported at the first one. Raises `ConfigError` without a project."""
        from .clients import GcpClients

        if not account:
            raise ConfigError(
                "no Google Cloud project is named", hint="set deploy.env_vars.GOOGLE_CLOUD_PROJECT, or export it"
            )
        return GcpProvider(GcpClients(account, region, clock, cancel, secrets.values()))

    def orphan_hint(self, agent: str, account: str, region: str) -> str:
        """Cloud Asset Inventory finds every type by its labels; it may still list deleted ones for a while."""
        from .kinds.labels import label_value

        project = account or "PROJECT"
        query = f"labels.managed-by=agentbreeder AND labels.agentbreeder-agent={label_value(agent)}"
        return f"gcloud asset search-all-resources --scope projects/{project} --query '{query}'"
