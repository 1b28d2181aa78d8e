"""Google's own clients over real HTTP, without their retries, and the words in which the stand-in refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud.redis_v1 import CloudRedisClient
from google.cloud.secretmanager_v1 import SecretManagerServiceClient

from agentbreeder_sandbox.gcp.server import GcpSandbox

NETWORK = "projects/sandbox-project/global/networks/default"
PROJECT = "projects/sandbox-project"
REGION = f"{PROJECT}/locations/us-central1"


@dataclass(frozen=True, slots=True)
class Project:
    """The stand-in with a client per API. `web` is the session that Cloud SQL, Compute and the rest are called with."""

    sandbox: GcpSandbox
    web: AuthorizedSession
    redis: CloudRedisClient
    vault: SecretManagerServiceClient

    def pass_time(self, seconds: float) -> None:
        self.sandbox.clock.advance(seconds)  # type: ignore[attr-defined]

    def call(self, method: str, path: str, *, root: str = "", **params: Any) -> tuple[int, Any]:
        """(status, JSON or text)."""
        answer = self.web.request(method, self.sandbox.endpoint_url + root + path, timeout=10, **params)
        return answer.status_code, answer.json() if "json" in answer.headers["Content-Type"] else answer.text

    def ok(self, method: str, path: str, **params: Any) -> Any:
        status, answer = self.call(method, path, **params)
        assert status == 200, answer
        return answer

    def sql(self, method: str, path: str = "", *, root: str = "/v1", **params: Any) -> Any:
        return self.ok(method, f"/{PROJECT}/instances{path}", root=root, **params)

    def sql_refused(self, method: str, path: str = "", **params: Any) -> tuple[int, str, str]:
        """(status, reason, message) of Cloud SQL's refusal."""
        status, answer = self.call(method, f"/v1/{PROJECT}/instances{path}", **params)
        assert status >= 400, answer
        return status, answer["error"]["errors"][0]["reason"], answer["error"]["message"]

    def operation(self, name: str) -> Any:
        return self.ok("GET", f"/v1/{PROJECT}/operations/{name}")

    def make_sql(self, name: str = "pg", *, wait: bool = True, **settings: Any) -> Any:
        """Create a PostgreSQL and let the time that it takes pass; the operation."""
        made = self.sql("POST", json=sql_body(name, **settings))
        if wait:
            self.pass_time(421)
        return made

    def make_redis(self, name: str = "cache", *, wait: bool = True, **changes: Any) -> Any:
        """Create a Memorystore and let the time that it takes pass; the library's operation."""
        made = self.redis.create_instance(
            parent=REGION, instance_id=name, instance=redis_body(**changes), retry=None, timeout=10
        )
        if wait:
            self.pass_time(301)
        return made

    def make_secret(self, name: str = "url", **changes: Any) -> Any:
        secret = {"replication": {"automatic": {}}, "labels": {"managed-by": "agentbreeder"}, **changes}
        return self.vault.create_secret(parent=PROJECT, secret_id=name, secret=secret, retry=None, timeout=10)

    def add(self, secret: str, data: bytes = b"hush", **payload: Any) -> Any:
        request = {"parent": secret, "payload": {"data": data, **payload}}
        return self.vault.add_secret_version(request=request, retry=None, timeout=10)


def sql_body(name: str = "pg", **settings: Any) -> dict[str, Any]:
    return {
        "name": name,
        "region": "us-central1",
        "databaseVersion": "POSTGRES_17",
        "settings": {
            "edition": "ENTERPRISE",
            "tier": "db-f1-micro",
            "ipConfiguration": {"ipv4Enabled": False, "privateNetwork": NETWORK},
            "userLabels": {"managed-by": "agentbreeder"},
            **settings,
        },
    }


def redis_body(**changes: Any) -> dict[str, Any]:
    return {
        "tier": "BASIC",
        "memory_size_gb": 1,
        "redis_version": "REDIS_7_2",
        "connect_mode": "PRIVATE_SERVICE_ACCESS",
        "authorized_network": NETWORK,
        "labels": {"managed-by": "agentbreeder"},
        **changes,
    }


@pytest.fixture
def project(gcp_sandbox: GcpSandbox) -> Iterator[Project]:
    anonymous, options = AnonymousCredentials(), {"api_endpoint": gcp_sandbox.endpoint_url}
    redis = CloudRedisClient(credentials=anonymous, transport="rest", client_options=options)
    vault = SecretManagerServiceClient(credentials=anonymous, transport="rest", client_options=options)
    with AuthorizedSession(anonymous) as web, redis, vault:
        yield Project(gcp_sandbox, web, redis, vault)


@pytest.fixture
def body() -> Any:
    """`body(name, **settings)`: what creates a Cloud SQL instance."""
    return sql_body


@pytest.fixture
def refused() -> Any:
    """Call a library, expect a refusal; (HTTP status, the status word, the message)."""

    def call(work: Any, **params: Any) -> tuple[int, str, str]:
        with pytest.raises(GoogleAPICallError) as caught:
            work(**params, retry=None, timeout=10)
        error = caught.value.response.json()["error"]
        return int(error["code"]), str(error["status"]), str(error["message"])

    return call
