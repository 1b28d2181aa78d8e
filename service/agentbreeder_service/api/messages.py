"""Routes of messages, sessions, search and stats."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request
from pydantic import BeforeValidator
from starlette.convertors import Convertor, register_url_convertor

from ..messages import Hit, message_json, messages_json
from ..models import BatchIn, IdempotencyKey, MessageIn
from .envelope import Envelope, from_cursor, to_cursor, when
from .wiring import asked, nothing


class _Any(Convertor[str]):
    """Any text, also with a newline, which `:path` leaves out."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Any())
router = APIRouter(prefix="/api/v1/memory", tags=["messages"])
Limit = Annotated[int | None, BeforeValidator(nothing), Query(ge=1, le=1000)]
Text = Annotated[str, Query(max_length=256)]
Session = Annotated[str, Query(min_length=1, max_length=256)]
Key = Annotated[IdempotencyKey | None, Header(alias="Idempotency-Key")]


@router.post("/configs/{config}/messages", status_code=201, response_model=None)
async def add(config: str, message: MessageIn, request: Request, key: Key = None) -> Envelope:
    """Keep one message. With an idempotency key, in the body or as the header, a repeated request stores it once."""
    service, who = asked(request)
    if key and not message.idempotency_key:
        message = message.model_copy(update={"idempotency_key": key})
    kept = await service.append(config, [message], **who)
    return Envelope(raw=message_json(kept[0]), status=201)


@router.post("/configs/{config}/messages:batch", status_code=201, response_model=None)
async def add_many(config: str, batch: BatchIn, request: Request, key: Key = None) -> Envelope:
    """Keep messages of one session, user and agent, all or none, in this order. An idempotency key as the header counts for
    each that has none of its own, by its place."""
    service, who = asked(request)
    given = [
        m if m.idempotency_key or not key else m.model_copy(update={"idempotency_key": f"{key}:{n}"})
        for n, m in enumerate(batch.messages)
    ]
    kept = await service.append(config, given, **who)
    return Envelope(raw=messages_json(kept), status=201)


@router.get("/configs/{config}/messages", response_model=None)
async def read(
    config: str,
    request: Request,
    session_id: Session,
    agent_id: Text = "",
    user_id: Text = "",
    limit: Limit = None,
    before: Annotated[int | None, BeforeValidator(nothing), Query(ge=0, le=2**62)] = None,
) -> Envelope:
    """The newest messages of a session, 50 when not told, oldest first; `before` is the `next_before` of the answer before."""
    service, who = asked(request)
    limit = limit or 50
    given = (config, session_id, agent_id, user_id, before, limit)
    found = await service.page(*given, **who)
    more = found.first if found.messages == limit and found.first > 1 else None
    return Envelope(raw=found.body, meta={"next_before": more})


@router.get("/configs/{config}/sessions", response_model=None)
async def sessions(
    config: str, request: Request, limit: Limit = None, cursor: Annotated[str, Query(max_length=4000)] = ""
) -> Envelope:
    """The sessions that the caller may read, 100 when not told."""
    service, who = asked(request)
    limit = limit or 100
    found = await service.sessions(config, from_cursor(cursor), limit + 1, **who)
    more = to_cursor(found[limit - 1][1].namespace) if len(found) > limit else None
    data: list[dict[str, Any]] = [
        {
            **values,
            "message_count": row.messages,
            "created_at": when(row.created_at),
            "last_message_at": when(row.last_at),
        }
        for values, row in found[:limit]
    ]
    return Envelope(data, meta={"next_cursor": more})


@router.delete("/configs/{config}/sessions/{session_id:any}", response_model=None)
async def delete_session(
    config: str, session_id: str, request: Request, agent_id: Text = "", user_id: Text = ""
) -> Envelope:
    """Forget one session."""
    service, who = asked(request)
    await service.delete_session(config, session_id, agent_id, user_id, **who)
    return Envelope({"deleted": True})


@router.get("/configs/{config}/search", response_model=None)
async def search(
    config: str,
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=1000)],
    limit: Annotated[int | None, BeforeValidator(nothing), Query(ge=1, le=100)] = None,
) -> Envelope:
    """Messages with these words, the best first, across sessions. Quotes make a phrase, `or` joins, `-word` excludes."""
    service, who = asked(request)
    found = await service.search(config, q, limit or 20, **who)
    hits = [_hit(values, hit) for values, hit in found]
    return Envelope(raw=b"[" + b",".join(hits) + b"]", meta={"count": len(hits)})


@router.get("/configs/{config}/stats", response_model=None)
async def stats(config: str, request: Request) -> Envelope:
    """How many sessions and messages there are."""
    service, who = asked(request)
    found, counted = await service.stats(config, **who)
    average = counted.messages / counted.sessions if counted.sessions else 0.0
    return Envelope(
        {
            "config_id": found.id,
            "total_sessions": counted.sessions,
            "total_messages": counted.messages,
            "avg_messages_per_session": round(average, 2),
            "backend_type": found.backend_type,
            "memory_type": found.memory_type,
        }
    )


@router.delete("/users/{user_id:any}", response_model=None)
async def forget(user_id: str, request: Request) -> Envelope:
    """Delete a user's messages everywhere the caller may write."""
    service, who = asked(request)
    return Envelope({"deleted_messages": await service.forget_user(user_id, **who)})


def _hit(values: dict[str, str], hit: Hit) -> bytes:
    head = orjson.dumps({"score": hit.score, "highlight": hit.highlight, "session": values})
    return head[:-1] + b',"message":' + message_json(hit.message) + b"}"
