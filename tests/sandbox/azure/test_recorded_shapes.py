"""The stand-in's answers against recordings of the real service: same status, headers, fields and JSON types.

`recorded_shapes.json` holds shapes alone, written down from public recordings of other projects. What differs is listed
here with its reason; any other difference fails, and so does one that is not there any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_sandbox.azure.world import Durations
from support.shapes import differences

from .conftest import RG, Cloud, cache, cluster, vault

RECORDED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "recorded_shapes.json").read_text())
_GROUP = f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/{RG}/providers"
_PG = f"{_GROUP}/Microsoft.DBforPostgreSQL/flexibleServers/one-pg"
_ZONE_NAME = "one.private.postgres.database.azure.com"
_ZONE = f"{_GROUP}/Microsoft.Network/privateDnsZones/{_ZONE_NAME}"
_CACHE, _AMR = f"{_GROUP}/Microsoft.Cache/redis/one-cache", f"{_GROUP}/Microsoft.Cache/redisEnterprise/one-redis"
_VAULT = f"{_GROUP}/Microsoft.KeyVault/vaults/one-kv"
_LOCATION = "/subscriptions/00000000-0000-0000-0000-000000000001/providers/{}/locations/eastus"
_SECRETS = "https://sandbox-user-kv.vault.azure.net"
_COMPARED = (
    "azure-asyncoperation",
    "location",
    "www-authenticate",
    "x-ms-failure-cause",
    "x-ms-keyvault-service-version",
)
_NEWER = "our client sends it, with a newer version of the API than the recorded one"
_NEWER_VAULT = "the recording is older than this field"
KNOWN: dict[str, dict[str, str]] = {
    "amr.database.put": {
        "~status 201": "the recorder had brought the cluster to its end before; 201 is what the API's description says"
    },
    "cache": {"+properties.disableAccessKeyAuthentication": _NEWER, "+properties.minimumTlsVersion": _NEWER},
    "cache.put": {"+properties.disableAccessKeyAuthentication": _NEWER, "+properties.minimumTlsVersion": _NEWER},
    "vault": {"+properties.enableRbacAuthorization": _NEWER, "+properties.publicNetworkAccess": _NEWER_VAULT},
    "vault.put": {"+properties.enableRbacAuthorization": _NEWER, "+properties.publicNetworkAccess": _NEWER_VAULT},
    "vault.recover": {"+properties.enableRbacAuthorization": _NEWER},
}

Answers = dict[str, Any]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Filled by the first test that asks: one run through everything that was recorded."""
    return {}


@pytest.fixture
def answer_to(cloud: Cloud, answers: Answers) -> Answers:
    if not answers:
        cloud.sandbox.world.durations = Durations(pg_settle_s=0.0, pg_visible_s=0.0)
        cloud.sandbox.tenant_may_create_cache = True
        for part in (_dns, _postgres, _inside_postgres, _classic, _managed, _secrets, _vaults):
            answers |= dict(part(cloud))
    return answers


def _poll(cloud: Cloud, begun: Any, header: str = "azure-asyncoperation") -> Any:
    return cloud.ask("GET", begun.headers[header].replace(":443", ""))


def _dns(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    begun = cloud.ask("PUT", _ZONE, {"location": "global"})
    yield "dns.zone.put", begun
    yield "dns.running", _poll(cloud, begun)
    cloud.pass_time(31)
    yield "dns.done", _poll(cloud, begun)
    yield "dns.zone", cloud.ask("GET", _ZONE)
    network = {"virtualNetwork": {"id": cloud.sandbox.vnet_id}, "registrationEnabled": False}
    body = {"location": "global", "properties": network}
    yield "dns.link.put", cloud.ask("PUT", f"{_ZONE}/virtualNetworkLinks/one", body)
    cloud.pass_time(31)
    yield "dns.link", cloud.ask("GET", f"{_ZONE}/virtualNetworkLinks/one")


def _postgres(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    check = f"{_LOCATION.format('Microsoft.DBforPostgreSQL')}/checkNameAvailability"
    body = {"name": "one-pg", "type": "Microsoft.DBforPostgreSQL/flexibleServers"}
    yield "pg.name", cloud.ask("POST", check, body)
    begun = cloud.ask("PUT", _PG, cloud.server(private=True, authConfig={"passwordAuth": "Enabled"}))
    yield "pg.server.put", begun
    yield "pg.running", _poll(cloud, begun)
    cloud.pass_time(301)
    yield "pg.done", _poll(cloud, begun)
    yield "pg.server", cloud.ask("GET", _PG)


def _inside_postgres(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    body = {"properties": {"charset": "utf8", "collation": "en_US.utf8"}}
    yield "pg.database.put", cloud.ask("PUT", f"{_PG}/databases/agent", body)
    cloud.pass_time(11)
    yield "pg.database", cloud.ask("GET", f"{_PG}/databases/agent")
    yield "pg.parameter", cloud.ask("GET", f"{_PG}/configurations/lock_timeout")
    yield "pg.extensions", cloud.ask("GET", f"{_PG}/configurations/azure.extensions")
    changed = {"properties": {"value": "2000", "source": "user-override"}}
    begun = cloud.ask("PATCH", f"{_PG}/configurations/lock_timeout", changed)
    yield "pg.parameter.patch", begun
    cloud.pass_time(16)
    yield "pg.parameter.done", _poll(cloud, begun)
    begun = cloud.ask("DELETE", _PG)
    yield "pg.server.delete", begun
    yield "pg.deleting", _poll(cloud, begun)
    cloud.pass_time(61)
    yield "pg.deleted", _poll(cloud, begun)
    yield "pg.deleted.result", _poll(cloud, begun, "location")


def _classic(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    begun = cloud.ask("PUT", _CACHE, cache(publicNetworkAccess="Enabled"))
    yield "cache.put", begun
    yield "cache.running", _poll(cloud, begun)
    cloud.pass_time(801)
    yield "cache.done", _poll(cloud, begun)
    yield "cache", cloud.ask("GET", _CACHE)
    yield "cache.keys", cloud.ask("POST", f"{_CACHE}/listKeys")


def _managed(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    cloud.ask("PUT", _AMR, {**cluster(), "tags": {"a": "b"}})
    cloud.pass_time(700)
    yield "amr.cluster", cloud.ask("GET", _AMR)
    asked = {"accessKeysAuthentication": "Enabled", "clusteringPolicy": "OSSCluster"}
    yield "amr.database.put", cloud.ask("PUT", f"{_AMR}/databases/default", {"properties": asked})


def _secrets(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    one, version = f"{_SECRETS}/secrets/one?api-version=7.4", "api-version=7.4"
    yield "secret.challenge", cloud.ask("PUT", one, Authorization="")
    yield "secret.set", cloud.ask("PUT", one, {"value": "x", "tags": {"a": "b"}})
    yield "secret.recover.not-deleted", cloud.ask("POST", f"{_SECRETS}/deletedsecrets/one/recover?{version}")
    yield "secret.delete", cloud.ask("DELETE", one)
    yield "secret.deleted.none", cloud.ask("GET", f"{_SECRETS}/deletedsecrets?{version}")
    cloud.pass_time(11)
    yield "secret.recoverable", cloud.ask("PUT", one, {"value": "x", "tags": {"a": "b"}})
    yield "secret.purge", cloud.ask("DELETE", f"{_SECRETS}/deletedsecrets/one?{version}")


def _vaults(cloud: Cloud) -> Iterator[tuple[str, Any]]:
    yield "vault.missing", cloud.ask("GET", _VAULT)
    rights = {"keys": ["all"], "secrets": ["all"], "certificates": ["all"], "storage": ["all"]}
    policy = {"tenantId": cloud.sandbox.tenant_id, "objectId": cloud.sandbox.tenant_id, "permissions": rights}
    body = vault(cloud, accessPolicies=[policy], enableRbacAuthorization=False)
    yield "vault.put", cloud.ask("PUT", _VAULT, body)
    cloud.pass_time(31)
    yield "vault", cloud.ask("GET", _VAULT)
    yield "vault.delete", cloud.ask("DELETE", _VAULT)
    properties = {k: body["properties"][k] for k in ("tenantId", "sku")}
    recover = {"location": "eastus", "properties": {**properties, "createMode": "recover"}}
    yield "vault.recover", cloud.ask("PUT", _VAULT, recover)
    cloud.ask("DELETE", _VAULT)
    purge = f"{_LOCATION.format('Microsoft.KeyVault')}/deletedVaults/one-kv/purge"
    begun = cloud.ask("POST", purge)
    yield "vault.purge", begun
    yield "vault.purge.running", _poll(cloud, begun, "location")
    cloud.pass_time(11)
    yield "vault.purge.done", _poll(cloud, begun, "location")


@pytest.mark.parametrize("kind", sorted(RECORDED))
def test_an_answer_has_the_recorded_fields_and_types_but_for_the_known_differences(
    kind: str, answer_to: Answers
) -> None:
    answer, recorded = answer_to[kind], RECORDED[kind]
    body = json.loads(answer.text()) if answer.text() else None
    different = differences(body, recorded)
    ours = {h for h in _COMPARED if h in answer.headers}
    different |= {f"-header {h}" for h in set(recorded["headers"]) - ours}
    different |= {f"+header {h}" for h in ours - set(recorded["headers"])}
    if answer.status_code != recorded["status"]:
        different.add(f"~status {answer.status_code}")
    assert different == set(KNOWN.get(kind, {}))


def test_every_known_difference_belongs_to_a_recorded_kind_and_has_a_reason() -> None:
    assert KNOWN.keys() <= RECORDED.keys()
    assert all(reason for known in KNOWN.values() for reason in known.values())
