"""Connections to Cloud SQL through Google's own connector: mutual TLS, without a port or an address of ours to open."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agentbreeder_core.url import BackendUrl

from .errors import StoreError, StoreMisconfigured, driver_missing

VARIABLE, KIND_VARIABLE = "INSTANCE_CONNECTION_NAME", "CLOUD_SQL_IP_TYPE"
ENDPOINT_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SQL"
"""gcloud's variable for another address of the Admin API (`gcloud topic endpoint-override`); the connector reads none."""
KINDS = ("private", "public", "psc")
_NAME = re.compile(r"([a-z0-9.-]+(:[a-z0-9.-]+)?):[a-z0-9-]+:[a-z0-9-]+")
_REFUSED = (401, 403, 404)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSqlInstance:
    """`name` is `project:region:instance`; `kind` the address that is used, as the instance must have one of it."""

    name: str
    kind: str = "private"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> CloudSqlInstance | None:
        """From `INSTANCE_CONNECTION_NAME` and `CLOUD_SQL_IP_TYPE`; None without the first. Raises `StoreMisconfigured`."""
        name = environ.get(VARIABLE, "").strip()
        if not name:
            return None
        if not _NAME.fullmatch(name):
            raise StoreMisconfigured(f"{VARIABLE} is {name[:120]!r}; it must be project:region:instance")
        kind = environ.get(KIND_VARIABLE, "").strip().lower() or "private"
        if kind not in KINDS:
            raise StoreMisconfigured(f"{KIND_VARIABLE} is {kind[:40]!r}; it must be one of {', '.join(KINDS)}")
        return cls(name=name, kind=kind)


class CloudSqlDialer:
    """Opens connections for a pool. Asks Google for the instance's address and a client certificate of an hour, lazily: a
    container without CPU between requests (Cloud Run) could not renew it in the background.

    With a password in the URL that is used, without one the container's own identity (IAM database authentication).
    """

    def __init__(self, instance: CloudSqlInstance, url: BackendUrl) -> None:
        """`url` gives user, password and database; its address is not used. Raises `StoreMisconfigured`."""
        self._instance = instance
        self._user, self._database = url.username, url.database
        self._password = url.password.reveal() if url.password else ""
        if not self._user or not self._database:
            raise StoreMisconfigured(f"with {VARIABLE} the PostgreSQL URL must name a user and a database")
        self._connector: Any = None

    async def connect(self, *_dsn: Any, **options: Any) -> Any:
        """What a pool calls instead of `asyncpg.connect`. Blocks for at most the options' `timeout` seconds per step.

        Raises `StoreError` when Google refuses, `OSError` while it cannot be reached, and what asyncpg raises.
        """
        if self._connector is None:
            self._connector = _made(self._instance)
        import aiohttp
        from google.auth.exceptions import GoogleAuthError, TransportError
        from google.cloud.sql.connector.exceptions import CloudSQLIPTypeError, IncompatibleDriverError

        login = {"user": self._user, "db": self._database, "enable_iam_auth": not self._password}
        if self._password:
            login["password"] = self._password
        try:
            return await self._connector.connect_async(self._instance.name, "asyncpg", **login, **options)
        except aiohttp.ClientResponseError as e:
            if e.status in _REFUSED:
                raise _refused(self._instance, e.status) from None
            raise OSError(f"Google answered {e.status} to the connector of Cloud SQL") from None
        except aiohttp.ClientError as e:
            raise OSError(f"the API of Cloud SQL could not be reached ({type(e).__name__})") from None
        except TransportError as e:
            raise OSError(f"Google's tokens could not be had ({type(e).__name__})") from None
        except GoogleAuthError as e:
            raise StoreError(f"Google gave the connector of Cloud SQL no token: {type(e).__name__}") from None
        except (CloudSQLIPTypeError, IncompatibleDriverError, ValueError, KeyError, RuntimeError) as e:
            raise StoreMisconfigured(f"the connector of Cloud SQL refused {self._instance.name}: {e}") from None

    async def close(self) -> None:
        """Let go of the connector's own HTTP session."""
        connector, self._connector = self._connector, None
        if connector is not None:
            await connector.close_async()


def _refused(instance: CloudSqlInstance, status: int) -> StoreError:
    if status == 404:
        return StoreError(f"there is no Cloud SQL instance {instance.name} ({VARIABLE})")
    return StoreError(
        f"Google refused a connection to {instance.name} ({status}): the container's service account needs "
        "roles/cloudsql.client, and the API sqladmin.googleapis.com must be enabled"
    )


def _made(instance: CloudSqlInstance) -> Any:
    try:
        import google.auth.exceptions
        from google.cloud.sql.connector import Connector
    except ImportError as missing:
        raise driver_missing(missing.name, "gcp-runtime") from missing
    endpoint = os.environ.get(ENDPOINT_VARIABLE, "").strip().rstrip("/") or None
    options: dict[str, Any] = {"sqladmin_api_endpoint": endpoint, "ip_type": instance.kind, "refresh_strategy": "lazy"}
    if endpoint and _is_loopback(endpoint):
        from google.oauth2.credentials import Credentials

        options["credentials"] = Credentials("sandbox")  # no real ones for a sandbox, whatever this machine holds
    try:
        return Connector(loop=asyncio.get_running_loop(), **options)
    except google.auth.exceptions.DefaultCredentialsError:
        raise StoreMisconfigured(
            f"{VARIABLE} is set, but this machine has no Google credentials (gcloud auth application-default login)"
        ) from None


def _is_loopback(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
