"""Clients of the real SDK whose transport leads to the stand-in, and the words in which that refuses."""

from __future__ import annotations

import base64
import copy
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.core import PipelineClient
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest
from azure.keyvault.secrets import SecretClient
from azure.mgmt.keyvault import KeyVaultManagementClient
from azure.mgmt.postgresqlflexibleservers import PostgreSQLManagementClient
from azure.mgmt.privatedns import PrivateDnsManagementClient
from azure.mgmt.redis import RedisManagementClient
from azure.mgmt.redisenterprise import RedisEnterpriseManagementClient

from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.azure.world import CALLER, SUBSCRIPTION
from agentbreeder_sandbox.clocks import VirtualClock

RG, PASSWORD = "sandbox-rg", "Abcdefghijklmnop1234567890abcdef"
OTHER = "00000000-0000-0000-0000-00000000000a"


class ToStandIn(RequestsTransport):
    """Sends everything to one address, with the real host in the Host header; waits pass in the stand-in's time."""

    def __init__(self, sandbox: AzureSandbox) -> None:
        super().__init__(use_env_settings=False)
        self._sandbox = sandbox
        self.waits: list[float] = []
        self.urls: list[str] = []

    def send(self, request: Any, **options: Any) -> Any:
        self.urls.append(request.url)
        sent = copy.deepcopy(request)
        parts = urlsplit(sent.url)
        sent.headers["Host"] = parts.netloc
        sent.url = f"{self._sandbox.endpoint_url}{parts.path}{'?' + parts.query if parts.query else ''}"
        response = super().send(sent, **options)
        sent.url = request.url  # the poller asks the response for it, to look at the resource in the end
        return response

    def sleep(self, duration: float) -> None:
        self.waits.append(duration)
        self._sandbox.clock.advance(duration)  # type: ignore[attr-defined]


class Token:
    """A token that names its caller, as ARM's and Key Vault's do."""

    def __init__(self, caller: str = CALLER) -> None:
        claims = base64.urlsafe_b64encode(json.dumps({"oid": caller}).encode()).decode().rstrip("=")
        self._token = f"e30.{claims}."

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken(self._token, int(time.time()) + 86_400)


@dataclass(frozen=True, slots=True)
class Cloud:
    """The stand-in with one client per service."""

    sandbox: AzureSandbox
    wire: ToStandIn
    pg: Any
    amr: Any
    redis: Any
    kv: Any
    dns: Any
    bare: Any

    def pass_time(self, seconds: float) -> None:
        self.sandbox.clock.advance(seconds)  # type: ignore[attr-defined]

    def secrets(self, vault: str = "sandbox-user-kv", caller: str = CALLER) -> Any:
        """The data plane of one vault, for one caller."""
        return SecretClient(f"https://{vault}.vault.azure.net", Token(caller), transport=self.wire, retry_total=0)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One request to ARM or, with a whole URL, to a vault, without the SDK's retries and registrations."""
        separator = "&" if "?" in path else "?"
        version = "" if "api-version=" in path else f"{separator}api-version=2024-06-01"
        url = path if path.startswith("https://") else f"https://management.azure.com{path}{version}"
        named = {"Authorization": f"Bearer {Token().get_token().token}"}
        named |= {k.replace("_", "-"): v for k, v in headers.items()}
        request = HttpRequest(method, url, json=body, headers={k: v for k, v in named.items() if v})
        return self.bare.send_request(request)

    def zone_id(self, zone: str = "one.private.postgres.database.azure.com") -> str:
        return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{RG}/providers/Microsoft.Network/privateDnsZones/{zone}"

    def make_zone(self, zone: str = "one.private.postgres.database.azure.com", *, link: bool = True) -> str:
        self.dns.private_zones.begin_create_or_update(RG, zone, {"location": "global"}).result()
        if link:
            self.make_link(zone)
        return self.zone_id(zone)

    def make_link(self, zone: str, name: str = "one-link") -> Any:
        body = {
            "location": "global",
            "properties": {"virtualNetwork": {"id": self.sandbox.vnet_id}, "registrationEnabled": False},
        }
        return self.dns.virtual_network_links.begin_create_or_update(RG, zone, name, body).result()

    def server(self, *, private: bool = False, **changes: Any) -> dict[str, Any]:
        """A body that the service accepts, changed: keys of `properties`, or `sku`, `location`, `tags`."""
        top = {k: changes.pop(k) for k in ("sku", "location", "tags") if k in changes}
        network = {
            "delegatedSubnetResourceId": self.sandbox.db_subnet_id,
            "privateDnsZoneArmResourceId": self.zone_id(),
        }
        properties = {
            "administratorLogin": "agentbreeder",
            "administratorLoginPassword": PASSWORD,
            "version": "17",
            "createMode": "Create",
            "storage": {"storageSizeGB": 32},
            **({"network": network} if private else {}),
            **changes,
        }
        return {
            "location": "eastus",
            "sku": {"name": "Standard_B1ms", "tier": "Burstable"},
            "properties": properties,
            **top,
        }

    def make_server(self, name: str = "one-pg", **changes: Any) -> Any:
        made = self.pg.servers.begin_create_or_update(RG, name, self.server(**changes)).result()
        self.pass_time(60)
        return made

    def make_cluster(self, name: str = "one-redis", **changes: Any) -> Any:
        made = self.amr.redis_enterprise.begin_create(RG, name, cluster(**changes)).result()
        self.pass_time(60)
        return made

    def make_database(self, name: str = "one-redis", **properties: Any) -> Any:
        body = {"properties": {"accessKeysAuthentication": "Enabled", "clusteringPolicy": "NoCluster", **properties}}
        made = self.amr.databases.begin_create(RG, name, "default", body).result()
        self.pass_time(60)
        return made

    def make_cache(self, name: str = "one-cache", **properties: Any) -> Any:
        return self.redis.redis.begin_create(RG, name, cache(**properties)).result()

    def make_vault(self, name: str = "one-kv", **properties: Any) -> Any:
        return self.kv.vaults.begin_create_or_update(RG, name, vault(self, **properties)).result()

    def assign(self, scope: str, principal: str, role: str, name: str, /, **properties: str) -> Any:
        body = {
            "properties": {
                "roleDefinitionId": (
                    f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
                ),
                "principalId": principal,
                **properties,
            }
        }
        return self.ask("PUT", f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}", body)


def cluster(**changes: Any) -> dict[str, Any]:
    """The body of a Managed Redis that the service accepts, changed."""
    return {
        "location": "eastus",
        "sku": {"name": "Balanced_B0"},
        "properties": {"minimumTlsVersion": "1.2", "highAvailability": "Disabled", "publicNetworkAccess": "Enabled"},
        **changes,
    }


def cache(**properties: Any) -> dict[str, Any]:
    """The body of a classic cache that the service accepts, changed."""
    sku = {"name": "Basic", "family": "C", "capacity": 0}
    return {
        "location": "eastus",
        "properties": {"sku": sku, "enableNonSslPort": False, "minimumTlsVersion": "1.2", **properties},
    }


def vault(cloud: Cloud, **properties: Any) -> dict[str, Any]:
    """The body of a vault that the service accepts, changed."""
    given = {
        "tenantId": cloud.sandbox.tenant_id,
        "sku": {"family": "A", "name": "standard"},
        "enableRbacAuthorization": True,
        "softDeleteRetentionInDays": 7,
        **properties,
    }
    return {"location": "eastus", "properties": given}


def clients(sandbox: AzureSandbox, caller: str = CALLER) -> Cloud:
    """One client per service, as a user makes them, but for the transport."""
    wire = ToStandIn(sandbox)
    options: dict[str, Any] = {"transport": wire, "retry_total": 0, "polling_interval": 30}
    token = Token(caller)
    return Cloud(
        sandbox=sandbox,
        wire=wire,
        pg=PostgreSQLManagementClient(token, SUBSCRIPTION, **options),
        amr=RedisEnterpriseManagementClient(token, SUBSCRIPTION, **options),
        redis=RedisManagementClient(token, SUBSCRIPTION, **options),
        kv=KeyVaultManagementClient(token, SUBSCRIPTION, **options),
        bare=PipelineClient("https://management.azure.com", policies=[], transport=wire),
        dns=PrivateDnsManagementClient(token, SUBSCRIPTION, **options),
    )


@pytest.fixture(scope="session")
def _one_sandbox() -> Iterator[AzureSandbox]:
    with AzureSandbox(VirtualClock()) as sandbox:
        yield sandbox


@pytest.fixture
def cloud(_one_sandbox: AzureSandbox) -> Cloud:
    """A fresh world in virtual time; the SDK's own waits pass in it."""
    from agentbreeder_sandbox.azure.world import Durations

    _one_sandbox.reset(clock=VirtualClock(), durations=Durations())
    return clients(_one_sandbox)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a client saw. `inner` is Key Vault's inner code."""

    status: int
    code: str
    message: str
    inner: str = ""


Refused = Callable[..., Refusal]


@pytest.fixture
def refused() -> Refused:
    """Call, expect a refusal, and return what it says."""

    def call(work: Callable[..., Any], *args: Any, **params: Any) -> Refusal:
        with pytest.raises(HttpResponseError) as caught:
            work(*args, **params)
        error = caught.value.error
        inner = getattr(error, "innererror", None) or {}
        return Refusal(
            status=int(caught.value.status_code or 0),
            code=str(getattr(error, "code", "")),
            message=str(getattr(error, "message", "") or caught.value.message),
            inner=str(inner.get("code", "")) if isinstance(inner, dict) else "",
        )

    return call
