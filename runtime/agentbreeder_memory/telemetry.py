"""Spans and metrics of OpenTelemetry for each call of a log. Nothing in them is content, a session's name or a credential."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from substrate.connect.errors import driver_missing

from .log import SessionLog

SCOPE = "agentbreeder.memory"
DURATION, MESSAGES = "agentbreeder.memory.operation.duration", "agentbreeder.memory.messages"


class TracedLog:
    """Another `SessionLog`, with one client span per call and two metrics: how long it took in seconds, by operation and
    kind of error, and how many messages were appended.

    The attributes are those of the semantic conventions for databases and agents: `db.system.name`, `db.operation.name`,
    `gen_ai.agent.name`, `error.type`. Where they go is the program's own set-up of the SDK; without one it costs some
    microseconds and goes nowhere.
    """

    def __init__(self, log: SessionLog, *, backend: str, agent: str) -> None:
        """Raises `DriverMissing` without the extra `otel`."""
        try:
            from opentelemetry import metrics, trace
        except ImportError as missing:
            raise driver_missing(missing.name, "otel") from missing
        self._log = log
        self._tracer = trace.get_tracer(SCOPE)
        meter = metrics.get_meter(SCOPE)
        self._duration = meter.create_histogram(DURATION, unit="s", description="How long a call of the store took")
        self._messages = meter.create_counter(MESSAGES, unit="{message}", description="Messages that were appended")
        self._kind, self._failed = trace.SpanKind.CLIENT, trace.StatusCode.ERROR
        self._attributes = {"db.system.name": backend, "gen_ai.agent.name": agent}

    def unbounded(self) -> TracedLog:
        """See `SessionLog`."""
        made = copy.copy(self)
        made._log = self._log.unbounded()
        return made

    async def connect(self) -> None:
        """See `SessionLog`."""
        with self._span("connect"):
            await self._log.connect()

    async def close(self) -> None:
        """See `SessionLog`."""
        await self._log.close()

    async def load(self, session: str, limit: int) -> bytes:
        """See `SessionLog`."""
        with self._span("load"):
            return await self._log.load(session, limit)

    async def append(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """See `SessionLog`."""
        with self._span("append", len(ids)):
            await self._log.append(session, ids, messages)

    async def append_and_load(self, session: str, ids: Sequence[str], messages: Sequence[bytes], limit: int) -> bytes:
        """See `SessionLog`."""
        with self._span("turn", len(ids)):
            return await self._log.append_and_load(session, ids, messages, limit)

    async def replace(self, session: str, ids: Sequence[str], messages: Sequence[bytes]) -> None:
        """See `SessionLog`."""
        with self._span("replace", len(ids)):
            await self._log.replace(session, ids, messages)

    async def pop(self, session: str) -> bytes | None:
        """See `SessionLog`."""
        with self._span("pop"):
            return await self._log.pop(session)

    async def clear(self, session: str) -> None:
        """See `SessionLog`."""
        with self._span("clear"):
            await self._log.clear(session)

    @contextmanager
    def _span(self, operation: str, messages: int = 0) -> Iterator[None]:
        counted: dict[str, Any] = {**self._attributes, "db.operation.name": operation}
        batch = {"db.operation.batch.size": messages} if messages > 1 else {}
        began = time.perf_counter()
        # An exception's own text and trace stay out of the span: they belong to the caller.
        span = self._tracer.start_as_current_span(
            f"memory {operation}",
            kind=self._kind,
            attributes={**counted, **batch},
            record_exception=False,
            set_status_on_exception=False,
        )
        with span as current:
            try:
                yield
            except BaseException as e:
                counted["error.type"] = type(e).__name__
                current.set_attribute("error.type", type(e).__name__)
                current.set_status(self._failed)
                raise
            finally:
                self._duration.record(time.perf_counter() - began, counted)
        if messages:
            self._messages.add(messages, self._attributes)
