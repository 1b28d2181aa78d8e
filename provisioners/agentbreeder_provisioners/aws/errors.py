"""What AWS's error codes mean to us: one table, and the sentence and hint for each kind. Pure: no SDK here."""

from __future__ import annotations

from agentbreeder_core.errors import AuthError, CloudError, QuotaError

from ..engine.kinds import AlreadyExists, Busy, NotFound, Transient

_MAX_MESSAGE = 400

_KINDS: dict[type[CloudError], frozenset[str]] = {
    NotFound: frozenset(
        {
            "DBInstanceNotFound",
            "DBInstanceNotFoundFault",
            "DBSubnetGroupNotFoundFault",
            "DBSubnetGroupNotFound",
            "DBSnapshotNotFound",
            "ReplicationGroupNotFoundFault",
            "CacheSubnetGroupNotFoundFault",
            "CacheSubnetGroupNotFound",
            "CacheClusterNotFound",
            "InvalidGroup.NotFound",
            "InvalidGroupId.NotFound",
            "ResourceNotFoundException",
        }
    ),
    AlreadyExists: frozenset(
        {
            "DBInstanceAlreadyExists",
            "DBInstanceAlreadyExistsFault",
            "DBSubnetGroupAlreadyExists",
            "DBSubnetGroupAlreadyExistsFault",
            "ReplicationGroupAlreadyExists",
            "ReplicationGroupAlreadyExistsFault",
            "CacheSubnetGroupAlreadyExists",
            "CacheSubnetGroupAlreadyExistsFault",
            "InvalidGroup.Duplicate",
            "InvalidPermission.Duplicate",
            "ResourceExistsException",
            "DBSnapshotAlreadyExists",
        }
    ),
    Busy: frozenset(
        {
            "DependencyViolation",
            "InvalidDBSubnetGroupStateFault",
            "InvalidDBInstanceState",
            "InvalidDBInstanceStateFault",
            "CacheSubnetGroupInUse",
            "InvalidReplicationGroupState",
            "InvalidReplicationGroupStateFault",
            "InvalidCacheClusterState",
        }
    ),
    AuthError: frozenset(
        {
            "ExpiredToken",
            "ExpiredTokenException",
            "RequestExpired",
            "InvalidClientTokenId",
            "UnrecognizedClientException",
            "AuthFailure",
            "AccessDenied",
            "AccessDeniedException",
            "UnauthorizedOperation",
            "SignatureDoesNotMatch",
            "MissingAuthenticationToken",
            "IncompleteSignature",
            "OptInRequired",
            "403",
        }
    ),
    Transient: frozenset(
        {
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestThrottled",
            "RequestThrottledException",
            "RequestLimitExceeded",
            "TooManyRequestsException",
            "SlowDown",
            "BandwidthLimitExceeded",
            "PriorRequestNotComplete",
            "EC2ThrottledException",
            "ServiceUnavailable",
            "ServiceUnavailableException",
            "Unavailable",
            "InternalError",
            "InternalFailure",
            "InternalServiceError",
            "InternalServiceErrorException",
            "RequestTimeout",
            "RequestTimeoutException",
        }
    ),
    QuotaError: frozenset(
        {
            "InstanceQuotaExceeded",
            "StorageQuotaExceeded",
            "DBSubnetGroupQuotaExceeded",
            "InsufficientDBInstanceCapacity",
            "InsufficientCacheClusterCapacity",
            "ClusterQuotaForCustomerExceeded",
            "NodeQuotaForCustomerExceeded",
            "NodeQuotaForClusterExceeded",
            "CacheSubnetGroupQuotaExceeded",
            "SecurityGroupLimitExceeded",
            "RulesPerSecurityGroupLimitExceeded",
            "LimitExceededException",
            "SnapshotQuotaExceeded",
            "FreeTierRestrictionError",
        }
    ),
}
_BY_CODE: dict[str, type[CloudError]] = {code: kind for kind, codes in _KINDS.items() for code in codes}

# The same code means different things in different calls: here, that the secret waits for its deletion.
_BY_CALL: dict[tuple[str, str], type[CloudError]] = {
    ("CreateSecret", "InvalidRequestException"): AlreadyExists,
    ("GetSecretValue", "InvalidRequestException"): NotFound,
}

EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_HINTS: dict[str, str] = {
    **dict.fromkeys(EXPIRED, "credentials expired: sign in again (aws sso login), then run the same command"),
    "InvalidClientTokenId": "check AWS_PROFILE and the access keys: aws sts get-caller-identity",
    "OptInRequired": "the region or service is not enabled for this account",
    "InsufficientDBInstanceCapacity": "try another memory.provision.instance_class, or again later",
    "FreeTierRestrictionError": "a free-plan account: set memory.provision.backup_days: 1 and a micro instance_class",
    "InvalidDBInstanceState": "agentbreeder status --refresh",
}


def classify(operation: str, code: str, message: str, http_status: int) -> CloudError:
    """The error for one answer of AWS. `message` is the service's own sentence, with secrets already taken out."""
    kind = _BY_CALL.get((operation, code)) or _BY_CODE.get(code)
    if kind is None and _service_linked_role(code, message):
        kind = Transient
    if kind is None:
        kind = Transient if http_status >= 500 or http_status == 429 else CloudError
    what = "credentials expired" if code in EXPIRED else code
    text = message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "..."
    hint = _HINTS.get(code, "")
    if kind is AuthError and not hint:
        hint = "the IAM policy that deploy and teardown need is in docs/aws.md"
    return kind(f"AWS {operation}: {what}: {text}", hint=hint)


def _service_linked_role(code: str, message: str) -> bool:
    # The first RDS resource of an account makes AWS create a role; until it exists the answer is a plain
    # InvalidParameterValue, told from other ones by its text alone (facts, section 3).
    return code == "InvalidParameterValue" and "service linked role" in message.lower()
