"""The application: routes, their errors, health and metrics."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agentbreeder_core.errors import ConfigError
from agentbreeder_core.version import __version__
from substrate.connect.errors import StoreError, StoreRefused, StoreUnavailable

from .. import migrate
from ..configs import ConfigStore
from ..database import Database
from ..errors import ServiceError, Unavailable
from ..messages import MessageStore
from ..models import problems_of
from ..postgres_messages import PostgresMessages
from ..service import MemoryService
from ..settings import ServiceSettings
from ..sqlite_messages import SqliteMessages
from ..tokens import TokenChecker
from . import configs, messages
from .around import BodyLimit, Measured, Sheltered
from .envelope import Envelope, error, headers_of, refusal
from .wiring import Admission, Gate

_log = logging.getLogger("agentbreeder.service")


def make_app(settings: ServiceSettings) -> FastAPI:
    """Connects when it starts, and refuses to start on a database that is not at its revision."""
    database = Database(
        url=settings.database_url,
        read_url=settings.read_database_url,
        sqlite_path=settings.sqlite_path,
        pool_size=settings.pool_size,
    )
    store = message_store(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await migrate.check(database)
        await store.connect()
        yield
        await store.close()
        await database.close()

    app = FastAPI(title="AgentBreeder memory", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.service = MemoryService(ConfigStore(database), store)
    app.state.database, app.state.store = database, store
    # Directly, not as routers inside, which costs each request a fifth more; those first that are asked most.
    app.router.routes.extend([*messages.router.routes, *configs.router.routes])
    _operations(app)
    _errors(app)
    app.router.redirect_slashes = False  # a redirect has no envelope, and leads to whatever host the request names
    app.add_middleware(Sheltered)
    app.add_middleware(Admission, gate=Gate(TokenChecker(settings.tokens), settings.rate))
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(Measured)
    return app


def message_store(settings: ServiceSettings) -> MessageStore:
    """In the database of the settings."""
    if settings.sqlite_path is not None:
        return SqliteMessages(settings.sqlite_path)
    return PostgresMessages(settings.database_url, read_url=settings.read_database_url, pool_size=settings.pool_size)


def _operations(app: FastAPI) -> None:
    @app.get("/healthz", tags=["operations"], response_model=None)
    async def healthz() -> Envelope:
        """The process lives."""
        return Envelope({"status": "ok", "version": __version__})

    @app.get("/readyz", tags=["operations"], response_model=None)
    async def readyz(request: Request) -> Envelope:
        """The database answers and is at the revision."""
        try:
            await migrate.check(request.app.state.database)
        except (ConfigError, SQLAlchemyError, OSError) as e:
            _log.warning("not ready: %s", type(e).__name__)
            raise Unavailable("not_ready", "the database cannot be used now") from None
        return Envelope({"status": "ready"})

    @app.get("/metrics", tags=["operations"], response_model=None)
    async def metrics() -> Response:
        """For Prometheus; of all processes together."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(ServiceError)
    async def refused(request: Request, e: ServiceError) -> Response:
        return refusal(e.status, [error(e)], headers_of(e))

    @app.exception_handler(StoreUnavailable)
    async def away(request: Request, e: StoreUnavailable) -> Response:
        return refusal(503, [_problem("store_unavailable", "the store cannot be reached now")], {"Retry-After": "2"})

    @app.exception_handler(StoreRefused)
    async def not_taken(request: Request, e: StoreRefused) -> Response:
        if e.lasting:
            return refusal(422, [_problem("unstorable", "the database cannot hold this")])
        _log.error("the store refused: %s", e)
        return refusal(503, [_problem("store_refused", "the store does not take it now")], {"Retry-After": "10"})

    @app.exception_handler(StoreError)
    async def broken(request: Request, e: StoreError) -> Response:
        _log.error("the store refused: %s", type(e).__name__)
        return refusal(500, [_problem("store_error", "the store refused")])

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, e: RequestValidationError) -> Response:
        code = "invalid_json" if any(one["type"] == "json_invalid" for one in e.errors()) else "invalid"
        return refusal(422, [_problem(code, text, field or None) for field, text in problems_of(e.errors()).items()])

    @app.exception_handler(HTTPException)
    async def plain(request: Request, e: HTTPException) -> Response:
        code = {404: "not_found", 405: "method_not_allowed"}.get(e.status_code, "refused")
        return refusal(e.status_code, [_problem(code, str(e.detail))], dict(e.headers or {}))


def _problem(code: str, message: str, field: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "field": field}
