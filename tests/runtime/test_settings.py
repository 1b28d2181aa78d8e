"""The variables of the container: used as they are, or refused in one line. Never a guess."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentbreeder_memory import MemorySettings, StoreMisconfigured

REDIS = {"MEMORY_BACKEND": "redis", "REDIS_URL": "redis://h:6379/0", "AGENT_NAME": "support"}
POSTGRES = {"MEMORY_BACKEND": "postgresql", "DATABASE_URL": "postgresql://h/d", "AGENT_NAME": "support"}


def test_what_deploy_injects_is_taken() -> None:
    found = MemorySettings.from_environ({**REDIS, "MEMORY_TTL_SECONDS": "3600", "OTHER": "x"})
    assert (found.backend, found.url, found.ttl_s, found.agent) == ("redis", "redis://h:6379/0", 3600, "support")
    assert (found.memory_type, found.max_messages, found.on_outage) == ("buffer_window", 100, "raise")
    assert MemorySettings.from_environ({**POSTGRES, "MEMORY_TYPE": "buffer"}).max_messages == 0
    assert "6379" not in repr(found)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "MEMORY_BACKEND is not set"),
        ({"MEMORY_BACKEND": "mysql"}, "must be one of"),
        ({"MEMORY_BACKEND": "redis", "AGENT_NAME": "a"}, "REDIS_URL is not set"),
        ({**REDIS, "REDIS_URL": " ", "DATABASE_URL": "postgresql://h"}, "although DATABASE_URL is"),
        ({**POSTGRES, "DATABASE_URL": ""}, "DATABASE_URL is not set"),
        ({k: v for k, v in REDIS.items() if k != "AGENT_NAME"}, "AGENT_NAME is not set"),
        ({**REDIS, "MEMORY_TTL_SECONDS": "1h"}, "MEMORY_TTL_SECONDS"),
        ({**REDIS, "MEMORY_TTL_SECONDS": "-1"}, "MEMORY_TTL_SECONDS"),
        ({**REDIS, "MEMORY_MAX_MESSAGES": "0"}, "MEMORY_MAX_MESSAGES"),
        ({**REDIS, "MEMORY_TYPE": "buffer", "MEMORY_MAX_MESSAGES": "5"}, "buffer keeps all"),
        ({**REDIS, "MEMORY_NAMESPACE_PATTERN": "{agent_id}:{password}"}, "must hold placeholders"),
        ({**REDIS, "MEMORY_NAMESPACE_PATTERN": "fixed"}, "must hold placeholders"),
        ({**REDIS, "MEMORY_NAMESPACE_PATTERN": "{team}:{session_id}"}, "AGENT_TEAM is not set"),
        ({**REDIS, "MEMORY_ON_OUTAGE": "ignore"}, "MEMORY_ON_OUTAGE"),
        ({**REDIS, "REDIS_CA_PEM_BASE64": "nonsense"}, "REDIS_CA_PEM_BASE64"),
        ({**REDIS, "REDIS_CA_PEM_BASE64": "aGVsbG8="}, "REDIS_CA_PEM_BASE64"),
    ],
)
def test_what_is_missing_or_contradictory_is_told_in_one_line(environ: dict[str, str], said: str) -> None:
    with pytest.raises(StoreMisconfigured, match=said) as e:
        MemorySettings.from_environ(environ)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {**REDIS, "REDIS_URL": "postgresql://u:hunter2@h/d"},
        {**REDIS, "MEMORY_BACKEND": "redis://u:hunter2@h"},
    ],
)
def test_a_container_with_wrong_variables_stops_at_once_and_shows_no_secret(environ: dict[str, str]) -> None:
    program = "import asyncio\nfrom agentbreeder_memory import MemoryManager\nasyncio.run(MemoryManager().connect())\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "StoreMisconfigured" in done.stderr.splitlines()[-1]
    assert "hunter2" not in done.stderr
