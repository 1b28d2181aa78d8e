"""The Google Cloud stand-in: seven APIs on 127.0.0.1 with their own wire, time, refusals, faults, and an inventory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from agentbreeder_core.clock import Clock, SystemClock

from ..calls import ApiCall, Hook
from ..front import Front
from ..standin import Inventory
from . import discovery, redis, sql
from .inventory import RESERVED, Contents
from .service import GoogleCloud
from .world import NUMBER, PROJECT, REGION, Durations, World

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

OVERRIDDEN = ("SQL", "REDIS", "SECRETMANAGER", "SERVICENETWORKING", "COMPUTE", "CLOUDRESOURCEMANAGER", "SERVICEUSAGE")
"""APIs by the names of gcloud's override variables (facts, section 7)."""
NETWORK = "default"
_HOW = {"sql": sql.HOW, "redis": redis.HOW}
_PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


class GcpSandbox:
    """One project, `sandbox-project`, with the networks `default` (private services access) and `no-psa` (none).

    `env()` is what a shell or a test sets to reach it. Names that a deleted Cloud SQL instance still holds are listed
    apart by `inventory()`, under `sql_names_reserved`. Thread-safe once started.
    """

    project, number = PROJECT, NUMBER

    def __init__(
        self,
        clock: Clock | None = None,
        durations: Durations | None = None,
        *,
        port: int = 0,
        region: str = REGION,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.region = region
        self.world = World(self.clock, durations or Durations(), region)
        self._contents = Contents(self.world)
        self._front = Front(GoogleCloud(self.world, self._contents))
        self._port = port

    def __enter__(self) -> GcpSandbox:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving. Raises `MissingExtra` without its packages, `OSError` when the port is taken."""
        discovery.load()
        self._front.start(self._port)

    def stop(self) -> None:
        """Stop serving."""
        self._front.stop()

    def reset(self, *, clock: Clock | None = None, durations: Durations | None = None) -> None:
        """An empty project with the ready networks, no recorded calls and no faults; optionally other time."""
        with self._front.lock:
            self.clock = self.world.clock = clock or self.clock
            self.world.durations = durations or self.world.durations
            self._contents.clear()
            self._front.forget()

    @property
    def endpoint_url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return self._front.endpoint_url

    @property
    def calls(self) -> list[ApiCall]:
        """Every API call received since the last reset, in order."""
        return list(self._front.calls)

    def on_call(self, hook: Hook | None) -> None:
        """Ask `hook` before each call whether something goes wrong with it; None takes it away.

        The hook runs in the server's threads, for several calls at a time.
        """
        self._front.on_call = hook

    def attach(self, plane: DataPlane) -> None:
        """From now on the stores that come up have a real server behind their address."""
        self.world.plane = plane

    def hide_tags(self, seconds: float) -> None:
        """For so long no answer shows any labels."""
        self.world.labels_hidden_until = self.clock.now() + timedelta(seconds=seconds)

    def fail_next_create(self, service: str, how: str) -> None:
        """How the next create of `sql` (`stockout`, `failed`, `done-with-error-but-comes-up`) or `redis` (`quota`,
        `failed`) ends. The call itself succeeds. Raises `ValueError` for anything else."""
        if how not in _HOW.get(service, ()):
            raise ValueError(f"no way {how!r} for a create of {service!r} to end")
        self._set(lambda: self.world.switches.fail_next.update({service: how}))

    def disable_api(self, host: str) -> None:
        """Disable an API, such as `sqladmin.googleapis.com`: its calls answer 403 SERVICE_DISABLED."""
        self._set(lambda: self.world.disabled.add(host))

    def enable_api(self, host: str) -> None:
        """Enable it again."""
        self._set(lambda: self.world.disabled.discard(host))

    def remove_psa(self, network: str = NETWORK) -> None:
        """Take private services access away from a network; its range stays reserved."""
        self._set(self._contents.networks.networks[network].ranges.clear)

    def psa_range_full(self, network: str = NETWORK) -> None:
        """Let other services take all that is free of the network's range."""
        self._set(lambda: self._contents.networks.fill(network))

    def lose_operations(self, status: int = 404) -> None:
        """Operations cannot be read any more: 404 or 5xx, while the work goes on. 0 brings them back."""
        self._set(lambda: setattr(self.world.switches, "lost_operations", status))

    def answer_html_once(self, status: int = 502) -> None:
        """The next call is not applied and gets a web page of Google's front end with this status."""
        self._set(lambda: setattr(self.world.switches, "page_next", status))

    def give_objects(self, instance: str, user: str, database: str, count: int) -> None:
        """Let a PostgreSQL user own so many objects in a database, which stops its deletion."""
        self._set(lambda: self._contents.sql.find(instance).users[user].owns.update({database: count}))

    @property
    def unknown_metadata(self) -> bool:
        """Whether Memorystore's operations carry metadata of a type the library does not know (facts, section 1.4)."""
        return self.world.switches.unknown_metadata

    @unknown_metadata.setter
    def unknown_metadata(self, wrong: bool) -> None:
        self.world.switches.unknown_metadata = wrong

    @property
    def label_lag_s(self) -> float:
        """Seconds for which a new resource's labels are not shown; see `Durations`."""
        return self.world.durations.label_lag_s

    @label_lag_s.setter
    def label_lag_s(self, seconds: float) -> None:
        self.world.durations = replace(self.world.durations, label_lag_s=seconds)

    def lift_protection(self) -> None:
        """Switch off the deletion protection of every instance, so that a test can clean up."""
        with self._front.lock:
            for instance in self._contents.sql.instances.values():
                instance.settings["deletionProtectionEnabled"] = False

    def env(self) -> dict[str, str]:
        """Variables for a shell: the endpoints, the project, and the ready network.

        Where a proxy is set, also the exception from it that 127.0.0.1 needs.
        """
        base = self.endpoint_url + "/"
        variables = {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": base for api in OVERRIDDEN}
        variables |= {"NO_GCE_CHECK": "true", **self.network_env()}
        if any(os.environ.get(name) for name in _PROXIES):
            others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
            variables["NO_PROXY"] = variables["no_proxy"] = f"{others},127.0.0.1" if others else "127.0.0.1"
        return variables

    def network_env(self) -> dict[str, str]:
        """The ready network, as `deploy.env_vars` names it."""
        return {"GOOGLE_CLOUD_PROJECT": PROJECT, "GCP_REGION": self.region, "GCP_VPC_NETWORK": NETWORK}

    def inventory(self) -> Inventory:
        """Everything that stands in the project now; see `gcp.inventory`."""
        with self._front.lock:
            self.world.pass_time()
            return self._contents.take()

    def standing(self) -> Inventory:
        """The inventory without names that only wait to be free again: those cost nothing."""
        return {kind: names for kind, names in self.inventory().items() if kind != RESERVED}

    def _set(self, change: Callable[[], object]) -> None:
        with self._front.lock:
            change()
