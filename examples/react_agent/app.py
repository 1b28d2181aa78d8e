"""The web application around it: stores are opened when it starts and closed when it ends, and live in `app.state`.

REDIS_URL=redis://localhost:6379/0 uvicorn examples.react_agent.app:app
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from substrate.capabilities.history import RedisHistoryProvider
from substrate.capabilities.memory import RedisSessionStore

from .agent import build_agent


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """A store that cannot be reached stops the start, not the first request."""
    url = os.environ["REDIS_URL"]
    async with (
        RedisHistoryProvider(redis_url=url, ttl=3600) as history,
        RedisSessionStore(redis_url=url, ttl=3600) as state,
    ):
        app.state.agent, app.state.sessions = build_agent(history, state), state
        yield


async def chat(request: Request) -> JSONResponse:
    """`{"text": ...}` in, `{"reply": ...}` out."""
    body = await request.json()
    reply = await request.app.state.agent.reply(request.path_params["session_id"], body["text"])
    return JSONResponse({"reply": reply})


async def session_state(request: Request) -> JSONResponse:
    """What is kept beside the conversation."""
    return JSONResponse(await request.app.state.sessions.get_state(request.path_params["session_id"]))


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/sessions/{session_id}", chat, methods=["POST"]),
        Route("/sessions/{session_id}", session_state, methods=["GET"]),
    ],
)
