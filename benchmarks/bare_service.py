"""The limit that the service is measured against: FastAPI routes that do one round trip of asyncpg, and nothing else."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson
from fastapi import FastAPI, Response
from pydantic import BaseModel

_SQL = """
CREATE TABLE IF NOT EXISTS bare_messages (
    session text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, payload text NOT NULL, PRIMARY KEY (session, seq)
)
"""


class Message(BaseModel):
    """As the service takes it."""

    session_id: str
    role: str
    content: str


def make() -> FastAPI:
    """POST /messages and GET /messages."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=1, max_size=10)
        await app.state.pool.execute(_SQL)
        yield
        await app.state.pool.close()

    app = FastAPI(lifespan=lifespan)

    @app.post("/messages", status_code=201, response_model=None)
    async def add(message: Message) -> Response:
        text = orjson.dumps(message.model_dump()).decode()
        statement = "INSERT INTO bare_messages (session, payload) VALUES ($1, $2) RETURNING seq"
        async with app.state.pool.acquire() as connection:
            seq = await connection.fetchval(statement, message.session_id, text)
        return Response(orjson.dumps({"seq": seq}), status_code=201, media_type="application/json")

    @app.get("/messages", response_model=None)
    async def read(session_id: str, limit: int = 50) -> Any:
        statement = "SELECT payload FROM bare_messages WHERE session = $1 ORDER BY seq DESC LIMIT $2"
        async with app.state.pool.acquire() as connection:
            rows = await connection.fetch(statement, session_id, limit)
        body = b"[" + b",".join(r[0].encode() for r in reversed(rows)) + b"]"
        return Response(body, media_type="application/json")

    return app
