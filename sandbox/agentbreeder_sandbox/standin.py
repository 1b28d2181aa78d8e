"""What the three stand-ins have in common, and how to start one by its cloud's name. Imports no SDK."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from agentbreeder_core.clock import Clock

from .calls import ApiCall, Hook

if TYPE_CHECKING:
    from .servers.plane import DataPlane

Inventory = dict[str, list[str]]


class Sandbox(Protocol):
    """A cloud on 127.0.0.1, one per process: real wire protocol, a ready network, its own state and time."""

    clock: Clock

    def __enter__(self) -> Sandbox: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...

    def reset(self, *, clock: Clock | None = None, durations: Any = None) -> None:
        """An empty account with the ready network, no recorded calls and no faults; optionally other time."""
        ...

    @property
    def endpoint_url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        ...

    @property
    def calls(self) -> Sequence[ApiCall]:
        """Every API call received since the last reset, in order."""
        ...

    def on_call(self, hook: Hook | None) -> None:
        """Ask `hook` before each call whether something goes wrong with it; None takes it away."""
        ...

    def attach(self, plane: DataPlane) -> None:
        """From now on the stores that come up have a real server behind their address (those with TLS on Google Cloud and
        AWS excepted)."""
        ...

    def hide_tags(self, seconds: float) -> None:
        """For so long no answer shows any tags or labels: clouds are eventually consistent about them."""
        ...

    def lift_protection(self) -> None:
        """Switch off every deletion protection, so that a test can clean up."""
        ...

    def env(self) -> dict[str, str]:
        """Variables for a shell: the endpoint, what stands for credentials, and the ready network."""
        ...

    def network_env(self) -> dict[str, str]:
        """The ready network, as `deploy.env_vars` names it."""
        ...

    def inventory(self) -> Inventory:
        """Everything that stands in the account, by kind, sorted."""
        ...

    def standing(self) -> Inventory:
        """The inventory without what only waits out its recovery time: that costs nothing and holds only a name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """One cloud's stand-in. `prefixes` are the variables that could lead to a real account; `shut` replaces some.

    `durations(fast)` gives how long things take: as in the real cloud, or seconds for real time and two terminals.
    """

    title: str
    region: str
    prefixes: tuple[str, ...]
    make: Callable[[Clock | None, Any, int, str], Sandbox] = field(repr=False)
    durations: Callable[[bool], Any] = field(repr=False)
    shut: Mapping[str, str] = field(default_factory=dict)


def _aws(clock: Clock | None, durations: Any, port: int, region: str) -> Sandbox:
    from .aws.server import AwsSandbox

    return AwsSandbox(clock, durations, port=port, region=region)


def _aws_durations(fast: bool) -> Any:
    from .aws.world import Durations

    return Durations.fast() if fast else Durations()


def _gcp(clock: Clock | None, durations: Any, port: int, region: str) -> Sandbox:
    from .gcp.server import GcpSandbox

    return GcpSandbox(clock, durations, port=port, region=region)


def _gcp_durations(fast: bool) -> Any:
    from .gcp.world import Durations

    return Durations.fast() if fast else Durations()


def _azure(clock: Clock | None, durations: Any, port: int, region: str) -> Sandbox:
    from .azure.server import AzureSandbox

    return AzureSandbox(clock, durations, port=port, region=region)


def _azure_durations(fast: bool) -> Any:
    from .azure.world import Durations

    return Durations.fast() if fast else Durations()


STAND_INS: dict[str, StandIn] = {
    "aws": StandIn(
        title="AWS",
        region="us-east-1",
        prefixes=("AWS_",),
        make=_aws,
        durations=_aws_durations,
        shut={"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull},
    ),
    "gcp": StandIn(
        title="Google Cloud",
        region="us-central1",
        prefixes=("GOOGLE_", "GCP_", "CLOUDSDK_", "GCLOUD_"),
        make=_gcp,
        durations=_gcp_durations,
        shut={"GOOGLE_APPLICATION_CREDENTIALS": os.devnull, "NO_GCE_CHECK": "true"},
    ),
    "azure": StandIn(
        title="Azure",
        region="eastus",
        prefixes=("AZURE_", "AGENTBREEDER_AZURE_", "MSI_", "IDENTITY_"),
        make=_azure,
        durations=_azure_durations,
    ),
}


def sandbox_of(
    cloud: str, clock: Clock | None = None, *, fast: bool = False, port: int = 0, region: str = ""
) -> Sandbox:
    """The stand-in for `cloud`, not started yet. `fast`: stores take seconds, for real time and two terminals.

    Raises `KeyError` for a cloud without one.
    """
    stand_in = STAND_INS[cloud]
    return stand_in.make(clock, stand_in.durations(fast), port, region or stand_in.region)
