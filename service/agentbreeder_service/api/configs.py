"""Routes of memory configs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator

from ..models import Config, ConfigIn, ConfigPatch
from .envelope import Envelope, from_cursor, to_cursor
from .wiring import asked, nothing

router = APIRouter(prefix="/api/v1/memory/configs", tags=["memory configs"])
PAGE = 100


def shown(config: Config) -> dict[str, Any]:
    """As it goes out; `max_messages` is nothing where all are kept."""
    found = config.model_dump(mode="json")
    if config.memory_type == "buffer":
        found["max_messages"] = None
    return found


@router.post("", status_code=201, response_model=None)
async def create(given: ConfigIn, request: Request) -> Envelope:
    """Make a memory config in the caller's team."""
    service, who = asked(request)
    return Envelope(shown(await service.create_config(given, **who)), status=201)


@router.get("", response_model=None)
async def list_configs(
    request: Request,
    limit: Annotated[int | None, BeforeValidator(nothing), Query(ge=1, le=1000)] = None,
    cursor: Annotated[str, Query(max_length=400)] = "",
) -> Envelope:
    """The team's own memory configs and the global ones, 100 when not told."""
    service, who = asked(request)
    limit = limit or PAGE
    found = await service.configs(from_cursor(cursor), limit + 1, **who)
    more = to_cursor(found[limit - 1].id) if len(found) > limit else None
    return Envelope([shown(c) for c in found[:limit]], meta={"next_cursor": more})


@router.get("/{config}", response_model=None)
async def show(config: str, request: Request) -> Envelope:
    """One memory config, by name or id."""
    service, who = asked(request)
    return Envelope(shown(await service.config(config, **who)))


@router.patch("/{config}", response_model=None)
async def change(config: str, patch: ConfigPatch, request: Request) -> Envelope:
    """Change what is named; the rest stays."""
    service, who = asked(request)
    return Envelope(shown(await service.change_config(config, patch, **who)))


@router.delete("/{config}", response_model=None)
async def delete(config: str, request: Request) -> Envelope:
    """Delete it with all its messages."""
    service, who = asked(request)
    return Envelope({"deleted_messages": await service.delete_config(config, **who)})
