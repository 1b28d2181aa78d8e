"""AgentBreeder 2.7.3's memory API on the same PostgreSQL, without its check of the token: that is in its favour."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI


def make() -> FastAPI:
    """Its own router and tables, made anew."""
    from api.auth import get_current_user
    from api.database import engine
    from api.models import schemas
    from api.models.database import Base

    # As released, every POST and GET of messages answers 500: the answer's model wants an agent_id that nothing gives.
    schemas.MemoryMessageResponse.model_fields["agent_id"].default = None
    schemas.MemoryMessageResponse.model_rebuild(force=True)
    from api.routes import memory

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tables: list[Any] = [t for name, t in Base.metadata.tables.items() if name.startswith("memory_")]
        async with engine.begin() as connection:
            await connection.run_sync(lambda c: Base.metadata.create_all(c, tables=tables))
        yield

    user = SimpleNamespace(id="u", email="u@example.com", team="t", role="admin", is_active=True)
    app = FastAPI(lifespan=lifespan)
    app.include_router(memory.router)
    app.dependency_overrides[get_current_user] = lambda: user
    return app
