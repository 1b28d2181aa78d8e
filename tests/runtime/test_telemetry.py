"""What is told about calls, and what never is: content, sessions, credentials."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentbreeder_memory import MemoryManager, MemorySettings, StoreError, StoreMisconfigured, StoreUnavailable
from agentbreeder_sandbox.servers.postgres import PostgresServer
from agentbreeder_sandbox.servers.redis import RedisServer

CONTENT, SESSION = "the-words-of-a-user", "the-session-of-a-user"


@pytest.fixture(scope="module")
def exporters() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """Once per process, because OpenTelemetry takes no second provider."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    return spans, reader


@pytest.fixture
def told(exporters: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> Any:
    exporters[0].clear()
    return exporters


@pytest.fixture(params=["redis", "postgresql"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Any]]:
    if request.param == "redis":
        with RedisServer(password="a-secret-password") as redis:
            yield "redis", redis.url, redis
    else:
        with PostgresServer(options=("fsync=off",)) as postgres:
            yield "postgresql", postgres.url(), postgres


async def test_each_call_is_a_span_with_its_kind_of_error_and_nothing_a_user_said(
    server: tuple[str, str, Any], told: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    backend, url, process = server
    password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    async with MemoryManager(MemorySettings(backend=backend, agent="a", url=url, telemetry=True)) as memory:  # type: ignore[arg-type]
        message = {"role": "user", "content": CONTENT}
        await memory.append(SESSION, [message, message])
        await memory.turn(SESSION, message)
        await memory.replace(SESSION, message)
        await memory.load(SESSION)
        await memory.pop(SESSION)
        await memory.clear(SESSION)
        process.kill()
        with pytest.raises(StoreUnavailable):
            await memory.load(SESSION)
    spans = told[0].get_finished_spans()
    calls = ["connect", "append", "turn", "replace", "load", "pop", "clear", "load"]
    assert [s.name for s in spans] == [f"memory {c}" for c in calls]
    assert [s.attributes.get("error.type") for s in spans] == [None] * 7 + ["StoreUnavailable"]
    assert spans[1].attributes == {
        "db.system.name": backend,
        "db.operation.name": "append",
        "db.operation.batch.size": 2,
        "gen_ai.agent.name": "a",
    }
    everything = "".join(s.to_json() for s in spans) + told[1].get_metrics_data().to_json() + caplog.text
    assert password
    for kept in (CONTENT, SESSION, password):
        assert kept not in everything


async def test_durations_and_messages_are_counted(told: Any) -> None:
    settings = MemorySettings(backend="in_memory", agent="counted", telemetry=True)
    async with MemoryManager(settings) as memory:
        await memory.append("s", [{"content": n} for n in range(3)])
        await memory.load("s")
    data = told[1].get_metrics_data()
    found = {m.name: m.data.data_points for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    ours = {
        name: [p for p in points if p.attributes.get("gen_ai.agent.name") == "counted"]
        for name, points in found.items()
    }
    assert [p.value for p in ours["agentbreeder.memory.messages"]] == [3]
    durations = ours["agentbreeder.memory.operation.duration"]
    assert {p.attributes["db.operation.name"]: p.count for p in durations} == {"connect": 1, "append": 1, "load": 1}


async def test_no_error_and_no_log_line_of_the_runtime_holds_content_or_a_password(
    server: tuple[str, str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    backend, url, process = server
    password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    settings = MemorySettings(backend=backend, agent="a", url=url, on_outage="continue")  # type: ignore[arg-type]
    async with MemoryManager(settings) as memory:
        await memory.append(SESSION, {"content": CONTENT})
        with pytest.raises(ValueError, match="JSON") as refused:
            await memory.append(SESSION, {"content": {CONTENT}})
        process.kill()
        await memory.append(SESSION, {"content": CONTENT})
        process.start()
        said = [str(refused.value), repr(await memory.health()), repr(settings), repr(memory)]
    wrong = MemorySettings(backend=backend, agent="a", url=url.replace(password, f"{password}-wrong"))  # type: ignore[arg-type]
    with pytest.raises(StoreError) as unwelcome:
        await MemoryManager(wrong).connect()
    everything = "".join([*said, str(unwelcome.value), repr(unwelcome.value), caplog.text])
    for kept in (CONTENT, password):
        assert kept not in everything


def test_telemetry_that_nobody_knows_is_refused() -> None:
    environ = {"MEMORY_BACKEND": "in_memory", "MEMORY_TELEMETRY": "datadog"}
    with pytest.raises(StoreMisconfigured, match="none, opentelemetry"):
        MemorySettings.from_environ(environ)
