"""Cloud SQL through Google's own connector, against the stand-in's two calls and a TLS front to a real PostgreSQL."""

from __future__ import annotations

import logging
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from agentbreeder_memory import MemoryManager, MemorySettings, StoreError, StoreMisconfigured, StoreUnavailable
from agentbreeder_provisioners import environment
from agentbreeder_sandbox.gcp.server import GcpSandbox
from agentbreeder_sandbox.servers.plane import PROXY_PORT, DataPlane
from support.agents import write_agent
from support.cloud import do_deploy

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs the whole of 127.0.0.0/8"),
    pytest.mark.allow_hosts(["127.0.0.0/8"]),
]


@pytest.fixture
def url(gcp_sandbox: GcpSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with DataPlane() as plane:
        gcp_sandbox.attach(plane)
        do_deploy(gcp_sandbox, write_agent(tmp_path, "memory: {backend: postgresql}", cloud="gcp"))
        monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL", gcp_sandbox.endpoint_url)
        yield environment("support", project_dir=tmp_path, reveal=True).revealed["DATABASE_URL"].reveal()


def environ(gcp_sandbox: GcpSandbox, url: str, **more: str) -> dict[str, str]:
    import httpx

    found = httpx.get(f"{gcp_sandbox.endpoint_url}/v1/projects/{gcp_sandbox.project}/instances").json()["items"][0]
    base = {"MEMORY_BACKEND": "postgresql", "AGENT_NAME": "support", "DATABASE_URL": url}
    return {**base, "INSTANCE_CONNECTION_NAME": found["connectionName"], **more}


async def test_with_an_instance_name_the_connector_opens_the_connections(
    gcp_sandbox: GcpSandbox, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # The address in the URL is not the way: nobody listens there.
    elsewhere = url.replace(url.rpartition("@")[2].partition("/")[0], "127.0.0.1:9")
    settings = MemorySettings.from_environ(environ(gcp_sandbox, elsewhere))
    for n in range(2):
        async with MemoryManager(settings) as memory:
            await memory.append("s", {"role": "user", "content": n})
            assert [m["content"] for m in await memory.load("s")] == list(range(n + 1))
    asked = [c.operation for c in gcp_sandbox.calls]
    assert "sql.connect.get" in asked
    assert "sql.connect.generateEphemeral" in asked
    assert url.partition("://")[2].partition(":")[2].partition("@")[0] not in caplog.text


async def test_nobody_comes_in_without_a_certificate_of_the_instance(gcp_sandbox: GcpSandbox, url: str) -> None:
    host = url.rpartition("@")[2].partition(":")[0]
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    with pytest.raises((OSError, asyncpg.PostgresError)):
        await asyncpg.connect(url.partition("?")[0], host=host, port=PROXY_PORT, ssl=anyone, direct_tls=True, timeout=5)


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"INSTANCE_CONNECTION_NAME": "{project}:us-central1:gone"}, StoreError, "there is no Cloud SQL instance"),
        ({"INSTANCE_CONNECTION_NAME": "{project}:europe-west9:{name}"}, StoreMisconfigured, "region was mismatched"),
        ({"CLOUD_SQL_IP_TYPE": "public"}, StoreMisconfigured, "does not have any IP addresses"),
    ],
)
async def test_a_wrong_instance_stops_the_container_with_one_line(
    gcp_sandbox: GcpSandbox, url: str, change: dict[str, str], kind: type[Exception], says: str
) -> None:
    given = environ(gcp_sandbox, url)
    name = given["INSTANCE_CONNECTION_NAME"].rpartition(":")[2]
    given |= {k: v.format(project=gcp_sandbox.project, name=name) for k, v in change.items()}
    with pytest.raises(kind, match=says) as caught:
        async with MemoryManager(MemorySettings.from_environ(given)):
            pass
    assert "\n" not in str(caught.value)


async def test_a_refusal_of_google_names_the_role(gcp_sandbox: GcpSandbox, url: str) -> None:
    given = environ(gcp_sandbox, url)
    gcp_sandbox.disable_api("sqladmin.googleapis.com")
    with pytest.raises(StoreError, match=r"roles/cloudsql\.client"):
        async with MemoryManager(MemorySettings.from_environ(given)):
            pass


async def test_an_api_that_is_away_is_an_outage(
    gcp_sandbox: GcpSandbox, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = environ(gcp_sandbox, url)
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL", "http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable):
        async with MemoryManager(MemorySettings.from_environ(given)):
            pass


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("INSTANCE_CONNECTION_NAME", "just-a-name", "project:region:instance"),
        ("CLOUD_SQL_IP_TYPE", "secret", "private, public, psc"),
        ("DATABASE_URL", "postgresql://h:5432/db", "a user and a database"),
    ],
)
def test_what_does_not_add_up_is_refused_before_anything_is_asked(name: str, value: str, says: str) -> None:
    given: dict[str, Any] = {
        "MEMORY_BACKEND": "postgresql",
        "AGENT_NAME": "support",
        "DATABASE_URL": "postgresql://u:p@h/db",
        "INSTANCE_CONNECTION_NAME": "p:r:i",
        name: value,
    }
    with pytest.raises(StoreMisconfigured, match=says):
        MemoryManager(MemorySettings.from_environ(given))
