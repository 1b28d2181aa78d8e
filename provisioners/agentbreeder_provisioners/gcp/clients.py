"""The only place that imports Google's libraries, inside functions: sessions, clients, and one call that translates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import AuthError, MissingExtra
from agentbreeder_core.secret import Secret

from ..engine.calls import Caller
from ..engine.kinds import Transient
from .endpoints import Endpoint, endpoint_of
from .errors import Refusal, classify

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 60.0
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class GcpClients:
    """One session or client per API, made when first used; safe to share between threads.

    Credentials are Application Default Credentials; none are sent to an endpoint on this machine. The libraries' own
    retries are off: throttling and lost replies are repeated by the `Caller`, whose waits go through the clock. A call
    blocks at most 70 s per attempt, for about two minutes in all.
    """

    def __init__(
        self, project: str, region: str, clock: Clock, cancel: threading.Event, secrets: Iterable[Secret] = ()
    ) -> None:
        self.project, self.region = project, region
        self.caller = Caller("Google Cloud", clock, cancel, secrets)
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()

    def project_record(self) -> dict[str, Any]:
        """`projectId` and `projectNumber` as Google has them; asked once. Raises `AuthError` when it cannot be reached."""
        with self._lock:
            if "project" not in self._made:
                self._made["project"] = self._find_project()
            record: dict[str, Any] = self._made["project"]
            return record

    def _find_project(self) -> dict[str, Any]:
        from ..engine.kinds import NotFound

        try:
            return self.rest("cloudresourcemanager", "projects.get", "GET", f"/v1/projects/{self.project}")
        except NotFound as e:
            raise AuthError(
                f"there is no project {self.project!r}, or these credentials may not see it",
                hint="check GOOGLE_CLOUD_PROJECT: gcloud projects list",
            ) from e
        except AuthError as e:
            raise AuthError(f"project {self.project!r} cannot be used: {e.detail}", hint=e.hint) from e

    def rest(
        self,
        service: str,
        call: str,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        retry: bool = True,
    ) -> dict[str, Any]:
        """One JSON call; `call` is its name in messages. Blocks; repeats throttling, server errors and lost connections.

        Raises `AuthError`, `QuotaError`, `CloudError`, or the engine's `NotFound`, `AlreadyExists`, `Busy`, and
        `Transient` once repeating is given up. A create whose reply was lost comes back as `AlreadyExists`.
        """
        name = f"{service}.{call}"

        def once() -> dict[str, Any]:
            session, endpoint = self._session(service)
            answer = self._guarded(
                name,
                lambda: session.request(
                    method, endpoint.url + path, params=params, json=body, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
                ),
            )
            return self._judged(name, answer)

        return self.caller.call(once, retry=retry)

    def gapic(self, name: str, method: Callable[..., Any], request: Any) -> Any:
        """Call a method of a client library, its own retries off. Blocks and raises like `rest`."""
        return self.caller.call(
            lambda: self._guarded(name, lambda: method(request=request, retry=None, timeout=READ_TIMEOUT_S))
        )

    def operation(self, name: str, method: Callable[..., Any], operation: str) -> Any:
        """One look at a long-running operation, not repeated: the next poll is the repetition."""
        return self._guarded(name, lambda: method(operation, retry=None, timeout=READ_TIMEOUT_S))

    @property
    def redis(self) -> Any:
        """Memorystore for Redis v1 over REST (v1beta1 answers with a type no library knows: facts, section 1.4)."""
        return self._gapic_client("redis", lambda: _import("google.cloud.redis_v1", "CloudRedisClient"))

    @property
    def secretmanager(self) -> Any:
        """Secret Manager v1 over REST."""
        return self._gapic_client(
            "secretmanager", lambda: _import("google.cloud.secretmanager_v1", "SecretManagerServiceClient")
        )

    def _gapic_client(self, service: str, load: Callable[[], Any]) -> Any:
        with self._lock:
            if service not in self._made:
                endpoint = endpoint_of(service)
                self._made[service] = load()(
                    credentials=self._credentials(endpoint),
                    transport="rest",
                    client_options={
                        "api_endpoint": endpoint.url if endpoint.local else endpoint.url[len("https://") :]
                    },
                )
            return self._made[service]

    def _session(self, service: str) -> tuple[Any, Endpoint]:
        endpoint = endpoint_of(service)
        key = "session:local" if endpoint.local else "session"
        with self._lock:
            if key not in self._made:
                authorized = _import("google.auth.transport.requests", "AuthorizedSession")
                self._made[key] = authorized(self._credentials(endpoint))
            return self._made[key], endpoint

    def _credentials(self, endpoint: Endpoint) -> Any:
        if endpoint.local:
            return _import("google.auth.credentials", "AnonymousCredentials")()
        if "credentials" not in self._made:
            self._made["credentials"] = self._default_credentials()
        return self._made["credentials"]

    def _default_credentials(self) -> Any:
        default = _import("google.auth", "default")
        from google.auth.exceptions import GoogleAuthError

        try:
            credentials, _ = default(scopes=[_SCOPE])
        except GoogleAuthError as e:
            raise AuthError(
                "no Google Cloud credentials were found",
                hint="gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
            ) from e
        # A person's own credentials without a quota project are billed to a foreign one and refused (facts, 4.5).
        if getattr(credentials, "quota_project_id", self.project) is None and hasattr(credentials, "refresh_token"):
            credentials = credentials.with_quota_project(self.project)
        return credentials

    def _guarded(self, name: str, call: Callable[[], Any]) -> Any:
        """Run a call of a library; whatever it raises becomes one of ours."""
        from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError
        from google.auth.exceptions import GoogleAuthError, TransportError
        from google.protobuf.json_format import ParseError
        from requests.exceptions import RequestException

        try:
            return call()
        except GoogleAPICallError as e:
            raise classify(self._refusal(name, e)) from e
        except TransportError as e:
            raise Transient(f"Google Cloud {name}: it could not be reached ({type(e).__name__})") from e
        except GoogleAuthError as e:
            raise AuthError(
                f"Google Cloud did not accept the credentials ({type(e).__name__})",
                hint="gcloud auth application-default login, then run it again",
            ) from e
        except (GoogleAPIError, ParseError, RequestException, ValueError) as e:
            # ParseError: the server accepted the call and answered with a type the library does not know (facts, 1.4).
            raise Transient(f"Google Cloud {name}: no proper answer ({type(e).__name__})") from e

    def _refusal(self, name: str, error: Any) -> Refusal:
        listed = next((e for e in error.errors or () if isinstance(e, Mapping)), {})
        status = getattr(error.code, "value", error.code) or 0
        reason = error.reason or listed.get("reason") or _body_of(error).get("status", "")
        return Refusal(
            call=name,
            status=int(status),
            reason=str(reason),
            message=self.caller.cut(_body_of(error).get("message") or str(error.message)),
            metadata={str(k): str(v) for k, v in (error.metadata or {}).items()},
        )

    def _judged(self, name: str, answer: Any) -> dict[str, Any]:
        try:
            document = answer.json() if answer.content else {}
        except ValueError:
            document = None
        if answer.ok and isinstance(document, dict):
            return document
        if answer.ok:
            raise Transient(f"Google Cloud {name}: {answer.status_code} with a body that is not JSON")
        error = document.get("error") if isinstance(document, dict) else None
        raise classify(self._refusal_of_json(name, answer.status_code, error))

    def _refusal_of_json(self, name: str, status: int, error: Any) -> Refusal:
        if not isinstance(error, Mapping):
            return Refusal(call=name, status=status, message="an answer that is not Google's own")
        info: Mapping[str, Any] = next((d for d in error.get("details", ()) if "reason" in d), {})
        listed: Mapping[str, Any] = next(iter(error.get("errors", ())), {})
        return Refusal(
            call=name,
            status=status,
            reason=str(info.get("reason") or listed.get("reason") or error.get("status") or ""),
            message=self.caller.cut(str(error.get("message", ""))),
            metadata={str(k): str(v) for k, v in info.get("metadata", {}).items()},
        )


def _body_of(error: Any) -> Mapping[str, Any]:
    """The `error` of the answer's own body, `{}` when it is not Google's: the library puts the request's URL into its
    message, and over REST its class does not tell `ALREADY_EXISTS` from other conflicts."""
    try:
        body = error.response.json()["error"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    return body if isinstance(body, Mapping) else {}


def _import(module: str, name: str) -> Any:
    from importlib import import_module

    try:
        return vars(import_module(module))[name]
    except ImportError as e:
        raise MissingExtra(
            f"deploying to Google Cloud needs Google's libraries: {e.name} is not installed",
            hint="pip install 'agentbreeder-memory[gcp]'",
        ) from e
