"""The Azure stand-in: ARM and Key Vault on 127.0.0.1 with a ready network, faults on demand, and an inventory."""

from __future__ import annotations

import os
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from agentbreeder_core.clock import Clock, SystemClock

from ..calls import ApiCall, Hook
from ..front import Front
from . import roles, vaults
from .inventory import WAITING, Inventory, take
from .network import make_vnet
from .service import AzureService
from .subscriptions import make_group
from .world import CALLER, GROUP, SUBSCRIPTION, TENANT, USER_VAULT, VNET, Durations, Resource, World, group_id

if TYPE_CHECKING:
    from ..servers.plane import DataPlane

ENDPOINT = "AGENTBREEDER_AZURE_ENDPOINT"
How = Literal["async-failed", "create-failed", "server-is-busy"]
_PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_HOWS = ("async-failed", "create-failed", "server-is-busy")


class AzureSandbox:
    """Plain http on one address: a client keeps its https URLs, and its transport sends every request here with the
    real host in the Host header, by which ARM and the vaults are told apart.

    The world: subscription `SUBSCRIPTION`, resource group `sandbox-rg`, network `sandbox-vnet` with the subnet `db`
    (delegated to flexible servers) and `plain`, and the vault `sandbox-user-kv`, where the caller may do everything
    with secrets. Any bearer token is taken; its `oid` claim is the caller. Thread-safe once started.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        durations: Durations | None = None,
        *,
        port: int = 0,
        region: str = "eastus",
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.region = region
        self.subscription_id, self.tenant_id, self.resource_group = SUBSCRIPTION, TENANT, GROUP
        self.world = World(self.clock, durations or Durations(), region)
        self._port = port
        self._service = AzureService(self.world)
        self._front = Front(self._service)
        self._build()

    def __enter__(self) -> AzureSandbox:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving. Raises `MissingExtra` without werkzeug, `OSError` when the port is taken."""
        self._front.start(self._port)

    def stop(self) -> None:
        """Stop serving; whoever hangs is cut off."""
        self._front.stop()

    def reset(self, *, clock: Clock | None = None, durations: Durations | None = None) -> None:
        """The world as it was at the start, no recorded calls, no faults, every switch back; optionally other time."""
        with self._front.lock:
            self.clock = clock or self.clock
            self.world = World(self.clock, durations or self.world.durations, self.region)
            self._service.world = self.world
            self._build()
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

        The hook runs in the server's threads, for several calls at a time. A rejection's code may be Key Vault's outer
        and inner one, as in "Forbidden/ForbiddenByRbac".
        """
        self._front.on_call = hook

    def attach(self, plane: DataPlane) -> None:
        """From now on the stores that come up have a real server behind their address."""
        self.world.plane = plane

    def hide_tags(self, seconds: float) -> None:
        """For so long no answer shows any tags."""
        self.world.switches.tags_hidden_until = self.clock.now() + timedelta(seconds=seconds)

    def fail_next_create(self, what: Literal["pg", "amr", "amr_db", "cache"], how: How) -> None:
        """Let the next create of this kind go wrong.

        `async-failed`: accepted, then its operation ends with status Failed in a 200, and nothing is left.
        `create-failed`: the same, and what is left is of no use and keeps the name. `server-is-busy`: refused with 409.
        Raises `ValueError` for another kind or way.
        """
        if what not in ("pg", "amr", "amr_db", "cache") or how not in _HOWS:
            raise ValueError(f"no such failure: {what} {how}")
        self.world.switches.fail_next[what] = how

    def lift_protection(self) -> None:
        """Switch off the purge protection of every vault, so that a test can clean up; no store has a protection."""
        with self._front.lock:
            standing = self.world.of_type(vaults.KIND)
            for vault in [*standing, *self.world.deleted_vaults.values()]:
                vault.properties.pop("enablePurgeProtection", None)

    @property
    def retry_after(self) -> str | None:
        """What every Retry-After header says. None: what the recordings let us infer. "0" is the trap of facts, 3."""
        return self.world.switches.retry_after

    @retry_after.setter
    def retry_after(self, value: str | None) -> None:
        self.world.switches.retry_after = value

    @property
    def tenant_may_create_cache(self) -> bool:
        """Whether the tenant had a classic cache before 2026-04-01, and so may still create one. False at the start."""
        return self.world.switches.tenant_may_create_cache

    @tenant_may_create_cache.setter
    def tenant_may_create_cache(self, value: bool) -> None:
        self.world.switches.tenant_may_create_cache = value

    @property
    def principal_is_new(self) -> bool:
        """Whether the directory does not know principals yet: a role assignment then needs its principalType."""
        return self.world.switches.principal_is_new

    @principal_is_new.setter
    def principal_is_new(self, value: bool) -> None:
        self.world.switches.principal_is_new = value

    @property
    def tag_lag_s(self) -> float:
        """For how many seconds reads show the tags of before."""
        return self.world.switches.tag_lag_s

    @tag_lag_s.setter
    def tag_lag_s(self, value: float) -> None:
        self.world.switches.tag_lag_s = value

    def deny_location_actions(self) -> None:
        """The caller has a role on the resource group only: checks and polls at the subscription answer 403."""
        self.world.switches.location_actions_denied = True

    def html_once(self, times: int = 1) -> None:
        """The next call, or several, is answered 503 with a page of HTML, and nothing is applied."""
        self.world.switches.html_answers = times

    def unregister_provider(self, namespace: str) -> None:
        """The subscription is not registered for this namespace any more. Raises `KeyError` for an unknown one."""
        with self._front.lock:
            if namespace not in self.world.providers:
                raise KeyError(namespace)
            self.world.providers[namespace] = "NotRegistered"

    def restrict_location(self, restricted: bool = True) -> None:
        """The subscription's offer does not let it make PostgreSQL servers in any region."""
        self.world.switches.location_restricted = restricted

    def undelegate_subnet(self, name: str = "db") -> None:
        """Take the delegation from a subnet of the ready network."""
        with self._front.lock:
            subnet = self.world.find(f"{self.vnet_id}/subnets/{name}")
            if subnet is None:
                raise KeyError(name)
            subnet.properties["delegations"] = []

    def deny_vault(self, how: Literal["rbac", "firewall", ""], name: str = USER_VAULT) -> None:
        """Let a vault refuse every call to its secrets, as missing rights or its firewall do; "" lets it again."""
        self.world.switches.vaults_denied[name.casefold()] = how

    def take_server_name(self, name: str) -> None:
        """Somebody else in the world has a PostgreSQL server of this name."""
        self.world.switches.server_names.add(name.casefold())

    def second_vnet(self, location: str = "westus2") -> str:
        """Another network with a delegated subnet `db`, for what must not be mixed; the subnet's id."""
        with self._front.lock:
            number = self.world.number()
            name = f"{VNET}-{number}"
            vnet_id = make_vnet(self.world, GROUP, name, location, [("db", True)], f"10.{number % 100 + 100}")
            return f"{vnet_id}/subnets/db"

    def second_group(self, name: str = "sandbox-other-rg") -> str:
        """Another resource group; its name."""
        with self._front.lock:
            make_group(self.world, name, self.region)
            return name

    def env(self) -> dict[str, str]:
        """Variables for a shell: the setting that leads here, and the ready network; no credentials are needed.

        Where a proxy is set, also the exception from it that 127.0.0.1 needs.
        """
        variables = {ENDPOINT: self.endpoint_url, **self.network_env()}
        if any(os.environ.get(name) for name in _PROXIES):
            others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
            variables["NO_PROXY"] = variables["no_proxy"] = f"{others},127.0.0.1" if others else "127.0.0.1"
        return variables

    def network_env(self) -> dict[str, str]:
        """The ready network and vault, as `deploy.env_vars` names them."""
        return {
            "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
            "AZURE_RESOURCE_GROUP": GROUP,
            "AZURE_LOCATION": self.region,
            "AZURE_VNET_NAME": VNET,
            "AZURE_DB_SUBNET_ID": self.db_subnet_id,
            "AZURE_KEY_VAULT_NAME": USER_VAULT,
        }

    def inventory(self) -> Inventory:
        """Everything that stands in the subscription now; see `azure.inventory`."""
        with self._front.lock:
            self.world.pass_time()
            return take(self.world)

    def standing(self) -> Inventory:
        """The inventory without what waits for its purge or holds a name: that costs nothing."""
        return {kind: names for kind, names in self.inventory().items() if kind not in WAITING}

    @property
    def vnet_id(self) -> str:
        return f"{group_id(GROUP)}/providers/Microsoft.Network/virtualNetworks/{VNET}"

    @property
    def db_subnet_id(self) -> str:
        return f"{self.vnet_id}/subnets/db"

    @property
    def plain_subnet_id(self) -> str:
        return f"{self.vnet_id}/subnets/plain"

    @property
    def user_vault_id(self) -> str:
        return f"{group_id(GROUP)}/providers/{vaults.KIND}/{USER_VAULT}"

    def _build(self) -> None:
        make_group(self.world, GROUP, self.region)
        make_vnet(self.world, GROUP, VNET, self.region, [("db", True), ("plain", False)], "10.30")
        vault: Resource = vaults.make_vault(self.world, GROUP, USER_VAULT, self.region)
        roles.grant(self.world, vault.id, roles.SECRETS_OFFICER, CALLER, self.world.uuid())
