"""One shape for every answer: `{"data": ..., "meta": {...}, "errors": [...]}`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson
from starlette.responses import Response

from ..errors import BadCursor, ServiceError

_RETRY_AFTER_S = {429: 1, 503: 2}


class Envelope(Response):
    """`data` as JSON; `raw` in its place is JSON already."""

    media_type = "application/json"

    def __init__(self, data: Any = None, *, status: int = 200, raw: bytes | None = None, meta: Any = None) -> None:
        body = orjson.dumps(data) if raw is None else raw
        super().__init__(
            b'{"data":' + body + b',"meta":' + orjson.dumps(meta or {}) + b',"errors":[]}', status_code=status
        )


def refusal(status: int, errors: Iterable[dict[str, Any]], headers: dict[str, str] | None = None) -> Response:
    """An answer that says no."""
    body = orjson.dumps({"data": None, "meta": {}, "errors": list(errors)})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def error(e: ServiceError) -> dict[str, Any]:
    """One entry of `errors`."""
    return {"code": e.code, "message": e.message, "field": e.field}


def headers_of(e: ServiceError) -> dict[str, str] | None:
    """What tells a client what to do about it."""
    if e.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(_RETRY_AFTER_S[e.status])} if e.status in _RETRY_AFTER_S else None


def to_cursor(text: str) -> str:
    """What a client hands back to go on."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def from_cursor(cursor: str) -> str:
    """Raises `BadCursor` for one that this service did not give."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = "\x00"
    if text and not text.isprintable():
        raise BadCursor("bad_cursor", "this cursor was not given by this service", field="cursor")
    return text


def when(moment: datetime | None) -> str | None:
    """ISO 8601 with its zone."""
    return moment.isoformat() if moment else None
