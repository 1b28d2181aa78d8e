"""The only place that imports the Azure SDKs, inside functions: clients, and calls that retry and translate errors."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import AuthError, CloudError, MissingExtra
from agentbreeder_core.secret import Secret

from ..engine.calls import Caller
from ..engine.kinds import Transient
from .endpoint import MANAGEMENT, MANAGEMENT_HOST, endpoint_of
from .errors import classify, refusal_of
from .identity import Identity, anonymous_token, identity_of
from .logs import keep_queries_out
from .operations import Operations, Reply, document_of, text_of

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 60
_SCOPE = f"{MANAGEMENT}/.default"
_DAY_S = 86400
_USER_AGENT = "agentbreeder-memory"
_MANAGEMENT = {
    "postgres": ("postgresqlflexibleservers", "PostgreSQLManagementClient"),
    "managed_redis": ("redisenterprise", "RedisEnterpriseManagementClient"),
    "redis_cache": ("redis", "RedisManagementClient"),
    "key_vault": ("keyvault", "KeyVaultManagementClient"),
    "private_dns": ("privatedns", "PrivateDnsManagementClient"),
}


class AzureClients:
    """One SDK client per service, made when first used; safe to share between threads.

    Credentials come from DefaultAzureCredential. The pipelines to ARM are built without the SDK's retries, without its
    automatic registration of resource providers and without logging: throttling and lost replies are retried here,
    through the clock; a subscription is not changed behind its owner's back; poll URLs and keys reach no log. A call
    blocks at most 70 s per attempt and retries for about two minutes. No poller of the SDK ever waits.
    """

    def __init__(
        self, subscription: str, region: str, clock: Clock, cancel: threading.Event, secrets: Iterable[Secret] = ()
    ) -> None:
        self.subscription, self.region = subscription, region
        self._endpoint = endpoint_of(os.environ)
        self._caller = Caller("Azure", clock, cancel, secrets)
        self._operations = Operations(MANAGEMENT_HOST, self._caller.cut)
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()

    @property
    def postgres(self) -> Any:
        return self._management("postgres")

    @property
    def managed_redis(self) -> Any:
        return self._management("managed_redis")

    @property
    def redis_cache(self) -> Any:
        return self._management("redis_cache")

    @property
    def key_vault(self) -> Any:
        return self._management("key_vault")

    @property
    def private_dns(self) -> Any:
        return self._management("private_dns")

    def secrets(self, vault_uri: str) -> Any:
        """The data plane of one vault."""
        return self._once(f"secrets of {vault_uri}", lambda: self._make_secrets(vault_uri))

    def sign_in_again(self) -> None:
        """Make new credentials at the next look into a vault: a token from before a role was assigned may not know it."""
        with self._lock:
            for key in [k for k in self._made if k == "credential" or k.startswith("secrets of ")]:
                del self._made[key]

    def hide(self, secret: Secret) -> None:
        """From now on this secret is cut out of any message Azure may echo it in."""
        self._caller.hide(secret)

    def identity(self) -> Identity:
        """Who the credentials are. Blocks for a token when there is none yet. Raises `AuthError`."""
        token = self.call(self._credential.get_token, _SCOPE)
        return identity_of(str(token.token))

    def call(self, method: Callable[..., Any], /, *args: Any, retry: bool = True, **params: Any) -> Any:
        """Call a bound method of an SDK client and return what it returns. Blocks; retries what is transient.

        Raises `AuthError`, `QuotaError`, `CloudError`, or the engine's `NotFound`, `AlreadyExists`, `Busy`, `Transient`.
        """
        whose = type(getattr(method, "__self__", None)).__name__.removesuffix("Operations")
        name = f"{whose} {getattr(method, '__name__', 'call').removeprefix('begin_')}"
        return self._caller.call(lambda: self._translated(name, lambda: method(*args, **params)), retry=retry)

    def document(self, method: Callable[..., Any], /, *args: Any, **params: Any) -> dict[str, Any]:
        """Like `call`, for the JSON document as the service wrote it: the models rename or leave out some of it."""
        seen: list[Any] = []
        self.call(method, *args, raw_response_hook=seen.append, **params)
        return document_of(seen[-1].http_response)

    def begin(self, method: Callable[..., Any], resource_id: str, /, *args: Any, **params: Any) -> None:
        """Start a long-running operation on a resource and return once Azure accepted it; `follow` tells how it goes.

        Not retried: what became of a lost request is found out by looking. The answer is dropped unread, because some
        carry keys (facts, section 4).
        """
        seen: list[Any] = []
        self.call(method, *args, retry=False, polling=False, raw_response_hook=seen.append, **params)
        self._operations.remember(resource_id, seen[-1].http_response.headers)

    def follow(self, resource_id: str) -> str:
        """Ask once how the operation on a resource stands: a note while it runs, "" when the resource itself decides.

        Raises `ResourceFailed` when it failed, `Busy` when it failed only because something else was under way.
        """
        return self._operations.follow(resource_id, lambda url: self.request("GET", url))

    def request(
        self,
        method: str,
        path: str,
        *,
        api_version: str = "",
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        retry: bool = True,
    ) -> Reply:
        """One request to ARM, where no package of its own is worth its size. `path` is an id with a slash in front, or
        a whole URL, which is followed as it is. Blocks and raises like `call`."""
        url = path if path.startswith("https://") else f"{MANAGEMENT}{path}"
        name = f"{method} {urlsplit(url).path.rstrip('/').rpartition('/')[2]}"

        def once() -> Reply:
            from azure.core.rest import HttpRequest

            params = {"api-version": api_version} if api_version else None
            request = HttpRequest(method, url, params=params, json=json, headers=dict(headers or {}))
            response = self._once("arm", self._make_arm).send_request(request)
            response.raise_for_status()
            return Reply(response.status_code, document_of(response))

        reply: Reply = self._caller.call(lambda: self._translated(name, once), retry=retry)
        return reply

    def listed(self, path: str, *, api_version: str) -> list[dict[str, Any]]:
        """Every item of a list, over all of its pages."""
        body = self.request("GET", path, api_version=api_version).body
        items = list(body.get("value") or [])
        while body.get("nextLink"):
            body = self.request("GET", str(body["nextLink"])).body
            items += body.get("value") or []
        return items

    def _translated(self, name: str, once: Callable[[], Any]) -> Any:
        from azure.core.exceptions import AzureError, HttpResponseError

        try:
            return once()
        except HttpResponseError as e:
            raise self._refused(name, e) from e
        except AzureError as e:
            raise Transient(f"Azure could not be reached or gave no proper answer ({type(e).__name__})") from e
        except ValueError as e:  # an answer that fits no model, or a challenge that is not Key Vault's
            raise CloudError(f"Azure {name}: the answer could not be used ({type(e).__name__})") from e

    def _refused(self, name: str, error: Any) -> CloudError:
        from azure.core.exceptions import ClientAuthenticationError

        if error.response is None and isinstance(error, ClientAuthenticationError):
            return AuthError("no usable Azure credentials were found", hint="az login, then run the same command again")
        if error.response is None:
            return Transient(f"Azure could not be reached or gave no proper answer ({type(error).__name__})")
        refusal = refusal_of(text_of(error.response))
        refusal = replace(refusal, message=self._caller.cut(refusal.message))
        status = int(error.response.status_code)
        # An accepted answer that is no document: whether it was carried out is found out by asking again.
        return classify(name, refusal, status if status >= 400 else 502)

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._made:
                try:
                    self._made[key] = make()
                except ImportError as e:
                    text = f"deploying to Azure needs its SDK: {e.name} is not installed"
                    raise MissingExtra(text, hint="pip install 'agentbreeder-memory[azure]'") from e
            return self._made[key]

    @property
    def _credential(self) -> Any:
        return self._once("credential", lambda: _make_credential(self._endpoint))

    @property
    def _transport(self) -> Any:
        return self._once("transport", lambda: _make_transport(self._endpoint))

    def _make_arm(self) -> Any:
        from azure.mgmt.core import ARMPipelineClient

        return ARMPipelineClient(base_url=MANAGEMENT, **self._pipeline())

    def _pipeline(self) -> dict[str, Any]:
        from azure.core.pipeline import policies as p
        from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

        return {
            "transport": self._transport,
            "policies": [
                p.RequestIdPolicy(),
                p.HeadersPolicy(),
                p.UserAgentPolicy(base_user_agent=_USER_AGENT),
                p.ContentDecodePolicy(),
                ARMChallengeAuthenticationPolicy(self._credential, _SCOPE),
                p.CustomHookPolicy(),
            ],
        }

    def _management(self, key: str) -> Any:
        package, client_class = _MANAGEMENT[key]

        def make() -> Any:
            sdk = getattr(import_module(f"azure.mgmt.{package}"), client_class)
            return sdk(self._credential, self.subscription, MANAGEMENT, **self._pipeline())

        return self._once(key, make)

    def _make_secrets(self, vault_uri: str) -> Any:
        # Its own pipeline stays, because only that knows the 401 challenge; it writes no bodies to a log.
        from azure.keyvault.secrets import SecretClient

        return SecretClient(vault_uri, self._credential, transport=self._transport, retry_total=0)


class _Anonymous:
    """The credentials for a stand-in: everybody's, good for nothing else."""

    def get_token(self, *scopes: str, **options: Any) -> Any:
        """The SDK's `TokenCredential`."""
        from azure.core.credentials import AccessToken

        return AccessToken(anonymous_token(), int(time.time()) + _DAY_S)


def _make_credential(endpoint: str) -> Any:
    if endpoint:
        return _Anonymous()
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential(exclude_interactive_browser_credential=True)


def _make_transport(endpoint: str) -> Any:
    """Blocks at most the two timeouts per request. With an endpoint, whatever is asked of Azure's addresses goes there:
    the product keeps its https URLs, and Key Vault's client, which refuses http, never sees the difference."""
    from azure.core.pipeline.transport import RequestsTransport

    keep_queries_out()
    timeouts = {"connection_timeout": CONNECT_TIMEOUT_S, "read_timeout": READ_TIMEOUT_S}
    if not endpoint:
        return RequestsTransport(**timeouts)

    class Redirecting(RequestsTransport):  # type: ignore[misc]
        def send(self, request: Any, **options: Any) -> Any:
            # A copy: the caller's policies look at the request again, and must find the address they sent it to.
            sent = copy.deepcopy(request)
            host, _, rest = sent.url.partition("://")[2].partition("/")
            sent.url = f"{endpoint}/{rest}"
            sent.headers["Host"] = host
            return super().send(sent, **options)

    return Redirecting(use_env_settings=False, **timeouts)
