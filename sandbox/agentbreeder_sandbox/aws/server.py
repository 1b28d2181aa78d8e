"""The AWS stand-in: moto's server on 127.0.0.1 with realism, a ready VPC, faults on demand, and an inventory."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agentbreeder_core.clock import Clock, SystemClock
from agentbreeder_core.errors import MissingExtra

from ..calls import ApiCall, Hook
from . import realism_cache, realism_groups, realism_rds, realism_secrets
from .http import Front
from .inventory import SCHEDULED, Inventory, take
from .world import ACCOUNT, Durations, Patches, World

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

_FINISH = {"rds": realism_rds.finish, "elasticache": realism_cache.finish, "secretsmanager": realism_secrets.finish}
_PROFILES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
_PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


class AwsSandbox:
    """One stand-in per process: moto keeps its state, and the realism its patches, process-wide.

    `env()` is what a shell or a test sets to reach it. Secrets in their recovery window are listed apart by
    `inventory()`, under `secrets_scheduled_for_deletion`. Thread-safe once started.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        durations: Durations | None = None,
        *,
        port: int = 0,
        region: str = "us-east-1",
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.region = region
        self.world = World(self.clock, durations or Durations())
        self._port = port
        self._patches = Patches()
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._front: Front | None = None
        self.vpc_id = ""
        self.subnet_ids: list[str] = []
        self.security_group_ids: list[str] = []

    def __enter__(self) -> AwsSandbox:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving. Raises `MissingExtra` without moto, `OSError` when the port is taken; then nothing changed."""
        with _no_profile():
            self._listen()
            for module in (realism_rds, realism_cache, realism_groups, realism_secrets):
                module.install(self.world, self._patches)
            self._thread = threading.Thread(target=self._server.serve_forever, name="aws-sandbox", daemon=True)
            self._thread.start()
            self.reset()

    def _listen(self) -> None:
        try:
            from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
            from moto.server import MotoRequestHandler
            from werkzeug.serving import make_server
        except ImportError as e:
            raise MissingExtra(
                f"the sandbox needs moto: {e.name} is not installed", hint="pip install 'agentbreeder-memory[sandbox]'"
            ) from e

        class Quiet(MotoRequestHandler):  # type: ignore[misc]
            def log(self, type: str, message: str, *args: Any) -> None:
                """The stand-in's access log would drown what the user looks at."""

        front = Front(DomainDispatcherApplication(create_backend_app), self._pass_time)
        # Bound here, because werkzeug's own answer to a taken port is to end the process.
        with socket.create_server(("127.0.0.1", self._port)) as bound:
            host, port = bound.getsockname()[:2]
            self._server = make_server(host, port, front, threaded=True, request_handler=Quiet, fd=bound.fileno())
        self._front = front

    def stop(self) -> None:
        """Stop serving and put moto's own behaviour back."""
        if self._front is not None:
            self._front.forget()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._patches.restore()

    def reset(self, *, clock: Clock | None = None, durations: Durations | None = None) -> None:
        """An empty account with the ready VPC, no recorded calls and no faults; optionally other time."""
        from moto.moto_api._internal.models import moto_api_backend

        front = self._serving()
        with front.lock:
            moto_api_backend.reset()
            self.clock = self.world.clock = clock or self.clock
            self.world.durations = durations or self.world.durations
            self._build_network()
            front.tags_hidden = lambda: False
            self.world.clear()  # after the network, which is older than any visibility lag
            front.forget()

    @property
    def endpoint_url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    @property
    def calls(self) -> list[ApiCall]:
        """Every API call received since the last reset, in order."""
        return list(self._serving().calls)

    def on_call(self, hook: Hook | None) -> None:
        """Ask `hook` before each call whether something goes wrong with it; None takes it away.

        The hook runs in the server's threads, for several calls at a time.
        """
        self._serving().on_call = hook

    def attach(self, plane: DataPlane) -> None:
        """From now on the stores that come up have a real server behind their address."""
        self.world.plane = plane

    def hide_tags(self, seconds: float) -> None:
        """For so long no answer shows any tags: AWS is eventually consistent about them."""
        until = self.clock.monotonic() + seconds
        self._serving().tags_hidden = lambda: self.clock.monotonic() < until

    def fail_next_create(self, service: str, status: str) -> None:
        """Let the next create of `rds` or `elasticache` end in this status, such as `failed` or `create-failed`."""
        self.world.fail_next[service] = status

    def lift_protection(self) -> None:
        """Switch off the deletion protection of every database, so that a test can clean up."""
        from moto.rds.models import rds_backends

        with self._serving().lock:
            for database in rds_backends[ACCOUNT][self.region].databases.values():
                database.deletion_protection = False

    def env(self) -> dict[str, str]:
        """Variables for a shell: the endpoint, dummy credentials, and the ready network.

        Where a proxy is set, also the exception from it that 127.0.0.1 needs.
        """
        variables = {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "sandbox",
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_SESSION_TOKEN": "sandbox",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            **self.network_env(),
        }
        if any(os.environ.get(name) for name in _PROXIES):
            others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
            variables["NO_PROXY"] = variables["no_proxy"] = f"{others},127.0.0.1" if others else "127.0.0.1"
        return variables

    def network_env(self) -> dict[str, str]:
        """The ready network, as `deploy.env_vars` names it."""
        return {
            "AWS_REGION": self.region,
            "AWS_VPC_ID": self.vpc_id,
            "AWS_VPC_SUBNETS": ",".join(self.subnet_ids),
            "AWS_SECURITY_GROUPS": ",".join(self.security_group_ids),
        }

    def inventory(self) -> Inventory:
        """Everything that stands in the account now; see `aws.inventory`."""
        with self._serving().lock:
            self._pass_time()
            return take(self.region)

    def standing(self) -> Inventory:
        """The inventory without secrets that wait for their deletion: those cost nothing and hold only a name."""
        return {kind: names for kind, names in self.inventory().items() if kind != SCHEDULED}

    def second_vpc(self) -> tuple[str, list[str]]:
        """Another VPC with one subnet, for what must not be mixed: (vpc id, subnet ids)."""
        with self._serving().lock:
            ec2 = self._ec2()
            vpc = ec2.create_vpc(cidr_block="10.99.0.0/16")
            return vpc.id, [ec2.create_subnet(vpc.id, "10.99.1.0/24", availability_zone=f"{self.region}a").id]

    def _ec2(self) -> Any:
        from moto.ec2.models import ec2_backends

        return ec2_backends[ACCOUNT][self.region]

    def _build_network(self) -> None:
        ec2 = self._ec2()
        vpc = ec2.create_vpc(cidr_block="10.20.0.0/16")
        self.vpc_id = vpc.id
        self.subnet_ids = [
            ec2.create_subnet(vpc.id, f"10.20.{n}.0/24", availability_zone=f"{self.region}{zone}").id
            for n, zone in enumerate("abc", start=1)
        ]
        group = ec2.create_security_group("agent", "the group that the agent wears", vpc_id=vpc.id)
        self.security_group_ids = [group.id]

    def _serving(self) -> Front:
        if self._front is None:
            raise RuntimeError("the sandbox is not started")
        return self._front

    def _pass_time(self) -> None:
        for due in self.world.due():
            _FINISH[due.service](self.world, due)


@contextmanager
def _no_profile() -> Iterator[None]:
    """moto makes one boto3 session of its own, which would look for the shell's profile and fail without it."""
    kept = {name: os.environ.pop(name) for name in _PROFILES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
