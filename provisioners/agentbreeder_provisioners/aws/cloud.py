"""AWS as the use-cases see it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import CloudError
from agentbreeder_core.secret import Secret
from agentbreeder_resolver.plan_types import MemoryPlan

from ..engine.steps import Step
from .steps import env_sources, steps_for

if TYPE_CHECKING:
    from ..engine.kinds import Kind
    from ..engine.sources import EnvSource
    from ..engine.wiring import Checks
    from .clients import AwsClients


class AwsProvider:
    """Credentials from boto3's ordinary chain, one region. See `engine.wiring.Provider`."""

    def __init__(self, clients: AwsClients) -> None:
        self._aws = clients

    def account(self) -> str:
        """The twelve-digit account id of the credentials."""
        return str(self._aws.call(self._aws.sts.get_caller_identity)["Account"])

    def kinds(self) -> Mapping[str, Kind]:
        """The AWS kinds."""
        from .kinds import kinds_for

        return kinds_for(self._aws)

    def check(self, plan: MemoryPlan) -> Checks:
        """See `aws.preflight`."""
        from .preflight import check

        return check(self._aws, plan)

    def reveal(self, reference: Mapping[str, str]) -> Secret:
        """Reads the secret; needs secretsmanager:GetSecretValue."""
        from .kinds.vault import read_secret

        values = read_secret(self._aws, reference["ref"])
        if reference["key"] not in values:
            raise CloudError(f"{reference['ref']} has no key {reference['key']!r} yet", hint="agentbreeder deploy")
        return values[reference["key"]]


class AwsCloud:
    """See `engine.wiring.Cloud`."""

    no_final_snapshot = ""
    sign_in_hint = "sign in to the recorded account (AWS_PROFILE), then run the same command again"

    def account_in(self, plan: MemoryPlan) -> str:
        """Only the credentials tell."""
        return ""

    def steps_for(self, plan: MemoryPlan) -> list[Step]:
        """Pure."""
        return steps_for(plan)

    def env_sources(self, plan: MemoryPlan) -> dict[str, EnvSource]:
        """Pure."""
        return env_sources(plan)

    def open(
        self, *, account: str, region: str, clock: Clock, cancel: threading.Event, secrets: Mapping[str, Secret]
    ) -> AwsProvider:
        """Makes no call yet; boto3 is imported at the first one."""
        from .clients import AwsClients

        return AwsProvider(AwsClients(region, clock, cancel, secrets.values()))

    def orphan_hint(self, agent: str, account: str, region: str) -> str:
        """The tagging API finds most types (not DB subnet groups) and may still list deleted ones for hours."""
        where = f" --region {region}" if region else ""
        return f"aws resourcegroupstaggingapi get-resources{where} --tag-filters Key=agentbreeder:agent,Values={agent}"
