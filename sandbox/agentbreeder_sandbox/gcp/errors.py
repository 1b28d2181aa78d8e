"""Google's error bodies. Two shapes: the common one with a `status` word, and the older one with a list of `errors`.

Cloud SQL and Compute send the older shape, often without `status` (facts, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..front import Answer

LISTING = frozenset({"sqladmin", "compute"})
"""APIs that answer with the list of `errors`."""
WORDS: dict[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ALL_WORDS = frozenset(WORDS.values()) | {"ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNKNOWN"}
_TYPE = "type.googleapis.com/google.rpc."
Details = Iterable[Mapping[str, Any]]


class Refused(Exception):
    """A call was refused; `answer` says it in Google's words."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body)
        self.answer = answer


def plain(status: int, word: str, message: str, details: Details = ()) -> Refused:
    """The common shape. Memorystore adds a line of its server's own to a failed precondition (facts, recordings)."""
    error: dict[str, Any] = {"code": status, "message": message, "status": word or WORDS.get(status, "UNKNOWN")}
    if details:
        error["details"] = list(details)
    return Refused(Answer(status=status, body={"error": error}))


def listed(
    status: int,
    reason: str,
    message: str,
    *,
    word: str = "",
    domain: str = "global",
    details: Details = (),
    **more: str,
) -> Refused:
    """The older shape; the word is left out when it is empty. `more` goes into the listed error."""
    first = {"domain": domain, "message": message, "reason": reason, **more}
    error: dict[str, Any] = {"code": status, "errors": [first], "message": message}
    if word:
        error["status"] = word
    if details:
        error["details"] = list(details)
    return Refused(Answer(status=status, body={"error": error}))


def invalid(api: str, violations: Iterable[tuple[str, str]]) -> Refused:
    """400 for a request that does not fit its description: (field, what is wrong) each."""
    found = list(violations)
    message = "\n".join(text for _, text in found)
    fields = [{"description": text, **({"field": name} if name else {})} for name, text in found]
    details = [{"@type": f"{_TYPE}BadRequest", "fieldViolations": fields}]
    if api in LISTING:
        return listed(400, "invalid", message, word="INVALID_ARGUMENT", details=details)
    return plain(400, "INVALID_ARGUMENT", message, details)


def unserved(api: str, what: str) -> Refused:
    """501 for what Google has and this stand-in has not: said openly, never answered with something made up."""
    message = f"the sandbox does not serve {what}"
    return listed(501, "notImplemented", message) if api in LISTING else plain(501, "UNIMPLEMENTED", message)


def service_disabled(api: str, host: str, title: str, number: str) -> Refused:
    """403 for an API that is not enabled (facts, section 4.5)."""
    url = f"https://console.developers.google.com/apis/api/{host}/overview?project={number}"
    message = (
        f"{title} has not been used in project {number} before or it is disabled. Enable it by visiting {url} then retry. "
        "If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
    )
    details: list[dict[str, Any]] = [
        {
            "@type": f"{_TYPE}ErrorInfo",
            "reason": "SERVICE_DISABLED",
            "domain": "googleapis.com",
            "metadata": {
                "service": host,
                "serviceTitle": title,
                "consumer": f"projects/{number}",
                "containerInfo": number,
                "activationUrl": url,
            },
        },
        {"@type": f"{_TYPE}LocalizedMessage", "locale": "en-US", "message": message},
        {"@type": f"{_TYPE}Help", "links": [{"description": "Google developers console API activation", "url": url}]},
    ]
    if api in LISTING:
        return listed(
            403,
            "accessNotConfigured",
            message,
            word="PERMISSION_DENIED",
            domain="usageLimits",
            details=details,
            extendedHelp="https://console.developers.google.com",
        )
    return plain(403, "PERMISSION_DENIED", message, details)


def unknown_project(api: str, host: str, project: str) -> Refused:
    """What each API says of a project that does not exist or may not be seen; only Compute says 404."""
    if api == "compute":
        return listed(404, "notFound", f"The resource 'projects/{project}' was not found")
    if api == "sqladmin":
        return listed(403, "notAuthorized", "The client is not authorized to make this request.")
    if api == "cloudresourcemanager":
        return plain(403, "PERMISSION_DENIED", "The caller does not have permission")
    info = {
        "@type": f"{_TYPE}ErrorInfo",
        "reason": "CONSUMER_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": host, "consumer": f"projects/{project}"},
    }
    return plain(403, "PERMISSION_DENIED", f"Permission denied on resource project {project}.", [info])


def injected(api: str, code: str, message: str, status: int) -> Answer:
    """A fault in the API's own shape: `code` is its status word, or the reason of the older shape."""
    if api in LISTING:
        return listed(status, code, message, word=WORDS.get(status, "")).answer
    if code in _ALL_WORDS:
        return plain(status, code, message).answer
    info = {"@type": f"{_TYPE}ErrorInfo", "reason": code, "domain": "googleapis.com"}
    return plain(status, "", message, [info]).answer


def web_page(status: int, title: str) -> Answer:
    """What Google's front end says when no API has answered: a page, not JSON."""
    page = (
        f"<!DOCTYPE html>\n<html lang=en>\n  <title>Error {status} ({title})!!1</title>\n"
        f"  <p><b>{status}.</b> <ins>That\u2019s an error.</ins>\n</html>\n"
    )
    return Answer(status=status, body=page.encode(), headers={"Content-Type": "text/html; charset=UTF-8"})
