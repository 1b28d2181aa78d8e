"""What the service says no with: a code to match on, a message for people, the field where it is one's fault."""

from __future__ import annotations


class ServiceError(Exception):
    """`status` is the HTTP status it becomes. The message never holds a secret, nor the name of what may not be seen."""

    status = 400

    def __init__(self, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field


class Invalid(ServiceError):
    """The request is understood and cannot be done as it stands."""

    status = 422


class BadCursor(ServiceError):
    """A cursor that this service did not give."""

    status = 400


class Unauthorized(ServiceError):
    """No token, or one that does not count."""

    status = 401


class Forbidden(ServiceError, PermissionError):
    """The caller is known and may not."""

    status = 403

    def __init__(self, message: str = "this is not yours to do") -> None:
        super().__init__("forbidden", message)


class NotFound(ServiceError):
    """Not there, or not for the caller to know of."""

    status = 404

    def __init__(self, what: str) -> None:
        super().__init__("not_found", f"there is no such {what}")


class Conflict(ServiceError):
    """It is there already, or changed meanwhile."""

    status = 409


class TooMany(ServiceError):
    """More requests than this caller may send."""

    status = 429


class Unavailable(ServiceError):
    """The database cannot be reached now."""

    status = 503
