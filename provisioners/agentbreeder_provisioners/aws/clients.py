"""The only place that imports boto3, inside functions: clients, and one `call` that retries and translates errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentbreeder_core.clock import Clock
from agentbreeder_core.errors import AuthError, CloudError, ConfigError, MissingExtra
from agentbreeder_core.secret import Secret

from ..engine.calls import Caller
from ..engine.kinds import Transient
from .errors import classify

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 60


class AwsClients:
    """One boto3 client per service, made when first used; safe to share between threads.

    Credentials come from boto3's ordinary chain (environment, AWS_PROFILE, SSO, instance role); AWS_ENDPOINT_URL is
    honoured. botocore's own retries are off: throttling and lost replies are retried in `call`, whose waits go through
    the clock and stop at once on cancel. A call blocks at most 70 s per attempt and retries for about two minutes.
    """

    def __init__(self, region: str, clock: Clock, cancel: threading.Event, secrets: Iterable[Secret] = ()) -> None:
        self.region = region
        self._caller = Caller("AWS", clock, cancel, secrets)
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._session: Any = None

    @property
    def ec2(self) -> Any:
        return self._client("ec2")

    @property
    def rds(self) -> Any:
        return self._client("rds")

    @property
    def elasticache(self) -> Any:
        return self._client("elasticache")

    @property
    def secretsmanager(self) -> Any:
        return self._client("secretsmanager")

    @property
    def sts(self) -> Any:
        return self._client("sts")

    def hide(self, secret: Secret) -> None:
        """From now on this secret is cut out of any message AWS may echo it in."""
        self._caller.hide(secret)

    def call(self, method: Callable[..., Any], /, *, retry: bool = True, **params: Any) -> dict[str, Any]:
        """Call a bound client method. Blocks; retries throttling, server errors and lost connections with jitter.

        Raises `AuthError`, `QuotaError`, `CloudError`, or the engine's `NotFound`, `AlreadyExists`, `Busy`, and
        `Transient` once retries are used up. A create whose reply was lost comes back as `AlreadyExists`.
        """
        answer: dict[str, Any] = self._caller.call(lambda: self._once(method, params), retry=retry)
        return answer

    def _once(self, method: Callable[..., Any], params: Mapping[str, Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError  # a gateway's HTML page; not a BotoCoreError

        try:
            return method(**params)
        except ClientError as e:
            raise self._translated(e) from e
        except (BotoCoreError, ResponseParserError) as e:
            raise _local_error(e) from e

    def _translated(self, error: Any) -> CloudError:
        body = error.response.get("Error", {})
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        message = self._caller.cut(str(body.get("Message", "")))
        return classify(str(error.operation_name), str(body.get("Code", "")), message, status)

    def _client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._make(service)
            return self._clients[service]

    def _make(self, service: str) -> Any:
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as e:
            raise MissingExtra(
                f"deploying to AWS needs boto3: {e.name} is not installed",
                hint="pip install 'agentbreeder-memory[aws]'",
            ) from e
        config = Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            max_pool_connections=32,
            user_agent_extra="agentbreeder-memory",
        )
        try:
            self._session = self._session or boto3.session.Session()
            return self._session.client(service, region_name=self.region, config=config)
        except (BotoCoreError, ValueError) as e:
            raise ConfigError(
                f"cannot make an AWS client: {type(e).__name__}",
                hint="check AWS_PROFILE, AWS_ENDPOINT_URL and the region",
            ) from e


def _local_error(error: Exception) -> CloudError:
    """For failures that never became an answer: no credentials, no connection, or something that is not AWS's reply."""
    from botocore import exceptions as b

    name = type(error).__name__
    if isinstance(error, b.NoCredentialsError | b.PartialCredentialsError):
        return AuthError("no AWS credentials were found", hint="aws configure, aws sso login, or set AWS_PROFILE")
    if isinstance(
        error, b.CredentialRetrievalError | b.TokenRetrievalError | b.SSOTokenLoadError | b.UnauthorizedSSOTokenError
    ):
        return AuthError(f"AWS credentials could not be loaded ({name})", hint="aws sso login, then run it again")
    if isinstance(error, b.ParamValidationError):
        return CloudError(f"a request was not valid for this version of boto3 ({name})")
    return Transient(f"AWS could not be reached or gave no proper answer ({name})")
