"""What Azure's error codes mean to us: one table, and the sentence and hint for each kind. Pure: no SDK here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentbreeder_core.errors import AuthError, CloudError, QuotaError

from ..engine.kinds import AlreadyExists, Busy, NotFound, Transient

_MAX_MESSAGE = 400
ROLE_HINT = "the custom role that deploy and teardown need is in docs/azure.md"
_QUERY = re.compile(r"(https?://[^\s?\"'<>]+)\?[^\s\"'<>]+")
_NAMESPACE = re.compile(r"'(Microsoft\.[A-Za-z]+)'")
_RETIREMENT = "AzureCacheForRedisRetirement"
_NAME_USED = "server name is already used"


class NotPermitted(AuthError):
    """The credentials are good, and a role assignment is missing for this."""

    @property
    def code(self) -> str:
        """To the user it is an `AuthError` like every other; the difference matters to the code only."""
        return AuthError.__name__


class DeniedByRbac(NotPermitted):
    """Key Vault knows of no role assignment for the caller, or not yet: one takes minutes to take effect."""


class GloballyTaken(AlreadyExists):
    """The name is unique in all of Azure, and somebody has it: another subscription, or one of ours on its way out."""


class BeingDeleted(Busy):
    """It is on its way to where deleted ones are kept."""


class Recoverable(AlreadyExists):
    """The name is held by something deleted that can be recovered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What an error answer says. `code` is "" for an answer that is no error document (a gateway's HTML page)."""

    code: str = ""
    inner: str = ""
    message: str = ""


_KINDS: dict[type[CloudError], frozenset[str]] = {
    NotFound: frozenset(
        {
            "ResourceNotFound",
            "ResourceGroupNotFound",
            "ParentResourceNotFound",
            "NotFound",
            "SecretNotFound",
            "VaultNotFound",
            "DeletedVaultNotFound",
            "OperationIdNotFound",
        }
    ),
    Recoverable: frozenset({"ObjectIsDeletedButRecoverable", "ConflictError"}),
    GloballyTaken: frozenset({"ServerNameAlreadyExists", "NameNotAvailable", "VaultAlreadyExists"}),
    AlreadyExists: frozenset({"RoleAssignmentExists", "PreconditionFailed", "RequestNotAllowedOnNonDeletedObject"}),
    BeingDeleted: frozenset({"ObjectIsBeingDeleted"}),
    Busy: frozenset(
        {
            "ServerIsBusy",
            "ServerBusy",
            "ServerIsNotReady",
            "ObjectIsBeingRecovered",
            "Conflict",
            "AnotherOperationInProgress",
            "OperationInProgress",
            "ResourceBusy",
            "CannotDeleteResource",
            "InUseSubnetCannotBeDeleted",
        }
    ),
    DeniedByRbac: frozenset({"ForbiddenByRbac"}),
    NotPermitted: frozenset({"AuthorizationFailed", "LinkedAuthorizationFailed"}),
    AuthError: frozenset(
        {
            "AuthenticationFailed",
            "InvalidAuthenticationToken",
            "InvalidAuthenticationTokenTenant",
            "ExpiredAuthenticationToken",
            "Unauthorized",
            "Forbidden",
            "AccessDenied",
            "ForbiddenByFirewall",
            "ForbiddenByPolicy",
            "SubscriptionNotFound",
            "InvalidSubscriptionId",
        }
    ),
    Transient: frozenset(
        {
            "SubscriptionRequestsThrottled",
            "ResourceRequestsThrottled",
            "TooManyRequests",
            "RetryableError",
            "InternalServerError",
            "ServiceUnavailable",
            "ServerTimeout",
            "GatewayTimeout",
        }
    ),
    QuotaError: frozenset(
        {
            "QuotaExceeded",
            "SubscriptionQuotaExceeded",
            "RoleAssignmentLimitExceeded",
            "OutOfCapacity",
            "InsufficientCapacity",
            "SkuNotAvailable",
        }
    ),
}
_BY_CODE: dict[str, type[CloudError]] = {code: kind for kind, codes in _KINDS.items() for code in codes}
_BY_STATUS: dict[int, type[CloudError]] = {
    401: AuthError,
    403: NotPermitted,
    404: NotFound,
    408: Transient,
    412: AlreadyExists,
    429: Transient,
}
# A policy of the organisation answers 403 too, but no right of the caller's would change its answer.
_PLAIN = frozenset({"RequestDisallowedByPolicy", "DisallowedByPolicy"})

_EXPIRED = frozenset({"ExpiredAuthenticationToken", "InvalidAuthenticationToken", "AuthenticationFailed"})
_HINTS: dict[str, str] = {
    **dict.fromkeys(_EXPIRED, "sign in again (az login), then run the same command"),
    "InvalidAuthenticationTokenTenant": "az login --tenant, with the tenant of AZURE_SUBSCRIPTION_ID",
    "SubscriptionNotFound": "check AZURE_SUBSCRIPTION_ID: az account list --output table",
    "InvalidSubscriptionId": "check AZURE_SUBSCRIPTION_ID: az account list --output table",
    "ForbiddenByRbac": 'az role assignment create --role "Key Vault Secrets Officer" on the vault, then wait minutes',
    "ForbiddenByFirewall": "az keyvault network-rule add, for the address this machine calls from",
    "ForbiddenByPolicy": "az keyvault set-policy --secret-permissions get list set delete recover",
    "LocationIsOfferRestricted": "this subscription may not use the region: choose another deploy.region",
    "RequestDisallowedByPolicy": "a policy of your organisation forbids this: ask whoever owns the subscription",
    "ScopeLocked": "somebody locked it (az lock list --output table): have the lock taken away, then run this again",
    "ReadReplicaServersExistForSourceServer": "delete its read replicas first, then run the same command again",
}


def refusal_of(body: Any) -> Refusal:
    """Read an error document, however it is built: ARM's, Key Vault's, one with capital keys, or none at all."""
    document = _parsed(body)
    error = document.get("error")
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else document
    lower = {str(k).lower(): v for k, v in fields.items()}
    inner = lower.get("innererror")
    return Refusal(
        code=_text(lower.get("code")),
        inner=_text(inner.get("code")) if isinstance(inner, Mapping) else "",
        message=_text(lower.get("message")),
    )


def _parsed(body: Any) -> Mapping[str, Any]:
    if isinstance(body, str | bytes):
        try:
            body = json.loads(body)
        except ValueError:
            return {}
    return body if isinstance(body, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def classify(what: str, refusal: Refusal, http_status: int) -> CloudError:
    """The error for one answer of Azure. `what` names the request; secrets are already out of the message.

    The code decides, never the SDK's exception: 409 is `ResourceExistsError` for every code, and an operation that
    failed comes with status 200 (facts, section 3). Two are told by their text: the retirement of the classic caches,
    which is a plain BadRequest (facts, section 2), and a server's name that is used already (section 6).
    """
    code = refusal.inner if refusal.inner in _BY_CODE else refusal.code
    message = " ".join(cut_queries(refusal.message).split())
    if code == "BadRequest" and _RETIREMENT in message:
        return CloudError(
            f"Azure {what}: {message[:_MAX_MESSAGE]}",
            hint="set memory.provision.azure_redis: managed (Azure Managed Redis)",
        )
    kind = _kind(code, message, http_status)
    if len(message) > _MAX_MESSAGE:
        message = message[:_MAX_MESSAGE] + "..."
    said = f"{code}: {message}" if code else f"status {http_status} without a proper answer"
    return kind(f"Azure {what}: {said}", hint=_hint(code, kind, message))


def _kind(code: str, message: str, http_status: int) -> type[CloudError]:
    if code in _PLAIN:
        return CloudError
    if _NAME_USED in message:  # reported under more than one code
        return GloballyTaken
    by_status = Transient if http_status >= 500 else CloudError
    return _BY_CODE.get(code) or _BY_STATUS.get(http_status) or by_status


def _hint(code: str, kind: type[CloudError], message: str) -> str:
    if code == "MissingSubscriptionRegistration":
        named = _NAMESPACE.search(message)
        return f"az provider register --namespace {named.group(1) if named else 'NAMESPACE'} --wait"
    return _HINTS.get(code) or (ROLE_HINT if issubclass(kind, AuthError) else "")


def cut_queries(text: str) -> str:
    """The text with the query taken off every URL: poll URLs carry signed parameters there (facts, section 4)."""
    return _QUERY.sub(r"\1", text)
