"""What Google's answers mean to us: one table by HTTP status and reason, and a hint for each kind. Pure: no SDK here.

Over REST the client libraries raise by HTTP status alone (409 is always `Conflict`), and Cloud SQL answers without a
`status` field, so the key is the status and the first `reason` (facts, sections 1.3 and 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentbreeder_core.errors import AuthError, CloudError, QuotaError, ResourceFailed

from ..engine.kinds import AlreadyExists, Busy, NotFound, Transient

_MAX_MESSAGE = 400
_DOCS = "the role that deploy and teardown need is in docs/gcp.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One error answer. `reason` is Google's own word (`operationInProgress`, `SERVICE_DISABLED`), "" when it gave none."""

    call: str
    status: int
    reason: str = ""
    message: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


_BY_REASON: dict[tuple[int, str], type[CloudError]] = {
    (409, "instanceAlreadyExists"): AlreadyExists,
    (409, "databaseAlreadyExists"): AlreadyExists,
    (409, "userAlreadyExists"): AlreadyExists,
    (409, "ALREADY_EXISTS"): AlreadyExists,
    (409, "alreadyExists"): AlreadyExists,
    (409, "ABORTED"): Busy,  # another writer changed the policy between our read and our write
    (403, "rateLimitExceeded"): Transient,
    (403, "userRateLimitExceeded"): Transient,
    (403, "operationInProgress"): Busy,  # what Cloud SQL answered before it learnt 409 (facts, section 4.1)
    (429, "ERROR_MAX_INSTANCE_PER_LABEL"): QuotaError,
    (403, "quotaExceeded"): QuotaError,
}
_BY_STATUS: dict[int, type[CloudError]] = {
    401: AuthError,
    403: AuthError,
    404: NotFound,
    408: Transient,
    409: Busy,  # Cloud SQL says 409 for every "not now"; only the reasons above mean that a name is taken
    429: Transient,
}
# The same answer means different things in different calls.
_BY_CALL: dict[tuple[str, str], type[CloudError]] = {
    ("sql.instances.insert", "invalidState"): AlreadyExists,  # an older way to say that the name is held
    ("redis.instances.delete", "FAILED_PRECONDITION"): Busy,  # not before its create is over
}
_DISABLED = frozenset({"SERVICE_DISABLED", "accessNotConfigured"})
_NO_PEERING = ("NETWORK_NOT_PEERED", "SERVICE_NETWORKING_NOT_ENABLED", "NETWORK_PEERING_DELETED")
_OPERATION_QUOTA = frozenset({"8", "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"})


def classify(refusal: Refusal) -> CloudError:
    """The error for one answer. `message` is Google's own sentence, with secrets already taken out."""
    status, reason = refusal.status, refusal.reason
    kind = _BY_CALL.get((refusal.call, reason)) or _BY_REASON.get((status, reason)) or _BY_STATUS.get(status)
    if kind is None:
        kind = Transient if status >= 500 else CloudError
    what = f"{status} {reason}".strip()
    return kind(f"Google Cloud {refusal.call}: {what}: {_short(refusal.message)}", hint=_hint(refusal, kind))


def failed_operation(step: str, code: str, message: str) -> CloudError:
    """The error for an operation that ended badly. `code` is Cloud SQL's word or the number of a Memorystore one."""
    kind = QuotaError if code in _OPERATION_QUOTA else ResourceFailed
    text = _short(message) or "Google Cloud gave no message"
    return kind(
        f"{step}: the operation ended with {code}: {text}", hint=_hint_by_text(message) or "agentbreeder teardown"
    )


def _short(message: str) -> str:
    # Some services append their own stack of exceptions after the sentence.
    text = " ".join(message.partition(" com.google.")[0].split())
    return text if len(text) <= _MAX_MESSAGE else text[:_MAX_MESSAGE] + "..."


def _hint(refusal: Refusal, kind: type[CloudError]) -> str:
    if refusal.reason in _DISABLED:
        service = refusal.metadata.get("service", "")
        consumer = refusal.metadata.get("consumer", "").removeprefix("projects/")
        name = f"{service} --project {consumer}".strip() if service else "the API that the message names"
        return f"gcloud services enable {name}; then wait a few minutes"
    if refusal.reason == "USER_PROJECT_DENIED":
        return "set GOOGLE_CLOUD_QUOTA_PROJECT to a project you may bill calls to"
    if refusal.reason == "INVALID_BILLING_ACCOUNT_STATE":
        return "the project's billing account is closed or missing: link one in the console"
    by_text = _hint_by_text(refusal.message)
    if by_text:
        return by_text
    if refusal.status == 401:
        return "credentials expired: gcloud auth application-default login, then run the same command"
    return _DOCS if kind is AuthError else ""


def _hint_by_text(message: str) -> str:
    if any(code in message for code in _NO_PEERING):
        return "private services access is missing on the network: the two commands are in docs/gcp.md"
    if "free blocks" in message:
        return "the allocated range of private services access is full: add one (docs/gcp.md)"
    if "sufficient resources" in message:
        return "the zone is out of capacity: try again later, or another region or memory.provision.instance_class"
    return ""
