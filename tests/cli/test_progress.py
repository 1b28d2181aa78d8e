"""Progress where nobody watches: few lines, whole lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentbreeder_cli.views.progress import PlainLines
from agentbreeder_core.events import (
    Event,
    Note,
    RunEnded,
    RunStarted,
    StepDone,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepWaiting,
)

START = datetime(2026, 12, 1, tzinfo=UTC)
GOLDEN = """\
deploy support: 2 steps
     0s  aws/postgres/instance        creating ab-x-pg
     0s  aws/redis/replication-group  going on ab-x-redis
    30s  aws/postgres/instance        waiting: creating
 1m 00s  aws/postgres/instance        waiting: backing-up
warning: something \\x1b[31mred
 1m 30s  aws/postgres/instance        created (1m 30s)
 1m 31s  aws/redis/replication-group  failed: ResourceFailed: create-failed
 1m 31s  aws/redis/url                not started: aws/redis/replication-group failed
deploy stopped after 1m 31s

"""


def test_a_waiting_step_speaks_at_most_every_thirty_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines()
    number = 0

    def say(at: float, event: type[Event], **fields: Any) -> None:
        nonlocal number
        number += 1
        lines(event(number=number, at=START + timedelta(seconds=at), **fields))

    pg: dict[str, Any] = {"step": "aws/postgres/instance", "name": "ab-x-pg"}
    redis: dict[str, Any] = {"step": "aws/redis/replication-group", "name": "ab-x-redis"}
    say(0, RunStarted, what="deploy", agent="support", steps=(pg["step"], redis["step"]))
    say(0, StepStarted, action="create", **pg)
    say(0, StepStarted, action="resume", **redis)
    for second in range(1, 62):
        note = "creating" if second < 40 else "waiting: backing-up"
        say(second, StepWaiting, elapsed_s=float(second), note=note, **pg)
    say(70, Note, level="warning", message="something \x1b[31mred")
    say(90, StepDone, outcome="created", elapsed_s=90.0, **pg)
    say(91, StepFailed, code="ResourceFailed", message="create-failed", **redis)
    say(91, StepSkipped, step="aws/redis/url", name="x", why="aws/redis/replication-group failed")
    say(91, RunEnded, what="deploy", agent="support", ok=False, elapsed_s=91.0)
    assert capsys.readouterr().err == GOLDEN
