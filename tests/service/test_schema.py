"""Our own OpenAPI, and requests made from it: none is answered with a fault of ours, or with what is no envelope."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentbreeder_service.api.app import make_app
from agentbreeder_service.settings import ServiceSettings
from agentbreeder_service.upgrading import upgrade_now

from .conftest import BASE, TOKENS, token

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "0"))
"""How many random requests to make of each operation. Without it they are few, and the same ones in every run."""
ADMIN = {"Authorization": f"Bearer {token('payments', 'admin')}"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_request_that_the_schema_allows_is_answered_with_a_fault_of_ours(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    url = request.getfixturevalue("database_url") if kind == "postgresql" else ""
    path = None if url else tmp_path / "memory.db"
    upgrade_now(url, path)
    app = make_app(ServiceSettings(tokens=TOKENS, database_url=url, sqlite_path=path, rate=""))
    with TestClient(app, raise_server_exceptions=False) as client:
        client.post(BASE, json={"name": "known"}, headers=ADMIN)
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        operations = [found.ok() for found in schema.get_all_operations() if found.ok().path.startswith("/api/")]
        assert len(operations) == 13
        for operation in operations:
            _try(client, operation)


def _try(client: TestClient, operation: Any) -> None:
    names = st.sampled_from(["known", "unknown-name", "0" * 32])

    @given(case=operation.as_strategy(), name=names)
    @settings(
        max_examples=EXAMPLES or 25,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def once(case: Any, name: str) -> None:
        if "config" in (case.path_parameters or {}):
            case.path_parameters["config"] = name
        sent = case.as_transport_kwargs(base_url="http://testserver")
        sent["headers"] = {**dict(sent.get("headers") or {}), **ADMIN}
        sent.pop("cookies", None)
        answer = client.request(**sent)
        assert answer.status_code < 500, (sent, answer.text)
        assert set(answer.json()) == {"data", "meta", "errors"}

    once()
