"""The server itself: faults as the clients meet them, the record of calls, the inventory, and its variables."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest
import requests
from google.api_core.exceptions import Conflict, Forbidden, ServiceUnavailable, TooManyRequests

from agentbreeder_core.errors import MissingExtra
from agentbreeder_sandbox.calls import ApiCall, Fault
from agentbreeder_sandbox.clocks import VirtualClock
from agentbreeder_sandbox.gcp import discovery
from agentbreeder_sandbox.gcp.server import GcpSandbox
from agentbreeder_sandbox.gcp.world import Durations

SQL = "/v1/projects/sandbox-project/instances"


def test_calls_are_recorded_by_api_and_method_id(project: Any) -> None:
    project.make_sql(wait=False)
    project.make_secret()
    project.call("GET", "/nowhere")
    named = [(c.service, c.operation, c.read) for c in project.sandbox.calls]
    assert named == [
        ("sqladmin", "sql.instances.insert", False),
        ("secretmanager", "secretmanager.projects.secrets.create", False),
        ("", "GET /nowhere", True),
    ]
    assert [c.index for c in project.sandbox.calls] == [1, 2, 3]
    assert project.sandbox.calls[0].params["name"] == "pg"
    project.sandbox.reset()
    assert project.sandbox.calls == []


def test_a_lost_reply_was_applied_and_a_lost_request_was_not(project: Any) -> None:
    for kind, there in (("drop_before", False), ("drop_after", True)):
        project.sandbox.on_call(lambda call, k=kind: Fault(kind=k))
        with pytest.raises(requests.exceptions.ConnectionError):
            project.make_secret()
        project.sandbox.on_call(None)
        assert bool(project.sandbox.standing()["secrets"]) is there


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("RESOURCE_EXHAUSTED", 429, TooManyRequests),
        ("UNAVAILABLE", 503, ServiceUnavailable),
        ("ABORTED", 409, Conflict),
        ("RATE_LIMIT_EXCEEDED", 403, Forbidden),
    ],
)
def test_an_injected_refusal_has_the_shape_of_the_api_that_was_called(
    project: Any, code: str, status: int, error: type[Exception]
) -> None:
    project.sandbox.on_call(lambda call: Fault(kind="reject", code=code, message="not now", status=status))
    with pytest.raises(error, match="not now"):
        project.make_secret()
    got, answer = project.call("POST", SQL, json={})
    assert got == status
    assert answer["error"]["errors"][0]["reason"] == code
    assert not any(project.sandbox.standing().values())


def test_a_web_page_comes_once_and_nothing_was_applied(project: Any) -> None:
    project.sandbox.answer_html_once()
    status, page = project.call("POST", SQL, json={"name": "pg"})
    assert (status, page.startswith("<!DOCTYPE html>")) == (502, True)
    assert project.ok("GET", SQL) == {"kind": "sql#instancesList"}
    project.sandbox.answer_html_once(200)
    assert project.call("GET", SQL)[1].startswith("<!DOCTYPE html>")


def test_the_hook_sees_every_call_before_it_is_applied(project: Any) -> None:
    seen: list[ApiCall] = []

    def note(call: ApiCall) -> None:
        seen.append(call)
        assert project.sandbox.standing()["secrets"] == []

    project.sandbox.on_call(note)
    project.make_secret()
    assert len(seen) == 1


def test_the_inventory_is_the_same_before_and_after_everything_is_gone(project: Any) -> None:
    before = project.sandbox.inventory()
    assert not any(before.values())
    project.make_sql()
    project.sql("POST", "/pg/databases", json={"name": "memory"})
    project.pass_time(6)
    project.sql("POST", "/pg/users", json={"name": "agent", "password": "x"})
    project.make_redis()
    secret = project.make_secret()
    assert project.sandbox.standing() == {
        "sql_instances": ["pg"],
        "sql_databases": ["pg/memory", "pg/postgres"],
        "sql_users": ["pg/agent", "pg/postgres"],
        "sql_final_backups": [],
        "redis_instances": ["us-central1/instances/cache"],
        "secrets": ["url"],
    }
    project.sql("DELETE", "/pg")
    project.redis.delete_instance(name="projects/sandbox-project/locations/us-central1/instances/cache")
    project.vault.delete_secret(name=secret.name)
    project.pass_time(161)
    assert project.sandbox.standing() == {k: v for k, v in before.items() if k != "sql_names_reserved"}


def test_with_instant_durations_everything_is_over_at_the_next_look_and_names_are_free(project: Any) -> None:
    project.sandbox.reset(durations=Durations.instant())
    for _ in range(2):
        project.make_sql(wait=False)
        assert project.sql("GET", "/pg")["state"] == "RUNNABLE"
        project.sql("DELETE", "/pg")
        assert project.sql_refused("GET", "/pg")[0] == 404


def test_a_reset_forgets_everything_and_every_switch(project: Any) -> None:
    sandbox = project.sandbox
    project.make_sql(wait=False)
    sandbox.disable_api("sqladmin.googleapis.com")
    sandbox.remove_psa()
    sandbox.lose_operations()
    sandbox.unknown_metadata = True
    sandbox.fail_next_create("redis", "quota")
    sandbox.hide_tags(1000)
    sandbox.answer_html_once()
    sandbox.reset(clock=VirtualClock())
    assert not any(sandbox.inventory().values())
    project.make_redis().result(timeout=5)
    project.make_sql()
    assert project.sql("GET", "/pg")["settings"]["userLabels"]


def test_the_variables_lead_every_api_here_and_name_the_network(gcp_sandbox: GcpSandbox) -> None:
    variables = gcp_sandbox.env()
    overrides = {k: v for k, v in variables.items() if k.startswith("CLOUDSDK_API_ENDPOINT_OVERRIDES_")}
    assert len(overrides) == 7
    assert set(overrides.values()) == {f"{gcp_sandbox.endpoint_url}/"}
    assert variables["NO_GCE_CHECK"] == "true"
    assert gcp_sandbox.network_env().items() <= variables.items()
    assert gcp_sandbox.network_env() == {
        "GOOGLE_CLOUD_PROJECT": "sandbox-project",
        "GCP_REGION": "us-central1",
        "GCP_VPC_NETWORK": "default",
    }


def test_a_proxy_of_the_machine_gets_an_exception(gcp_sandbox: GcpSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    monkeypatch.setenv("no_proxy", "intranet")
    assert gcp_sandbox.env()["NO_PROXY"] == "intranet,127.0.0.1"


def test_a_port_that_is_taken_is_an_error_and_the_same_sandbox_starts_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        GcpSandbox(port=taken.getsockname()[1]).start()
    sandbox = GcpSandbox(VirtualClock(), region="europe-west1")
    for _ in range(2):
        with sandbox:
            assert requests.get(f"{sandbox.endpoint_url}{SQL}", timeout=10).status_code == 200
    assert sandbox.network_env()["GCP_REGION"] == "europe-west1"


def test_googles_discovery_client_works_against_it_too(project: Any, body: Any) -> None:
    from google.auth.credentials import AnonymousCredentials
    from googleapiclient.discovery import build
    from googleapiclient.errors import HttpError

    options = {"api_endpoint": f"{project.sandbox.endpoint_url}/"}
    with build("sqladmin", "v1", credentials=AnonymousCredentials(), client_options=options) as sql:
        made = sql.instances().insert(project="sandbox-project", body=body()).execute()
        assert made["status"] == "PENDING"
        with pytest.raises(HttpError) as caught:
            sql.instances().delete(project="sandbox-project", instance="pg").execute()
    assert caught.value.resp.status == 409
    assert caught.value.error_details[0]["reason"] == "operationInProgress"


def test_without_the_descriptions_it_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "googleapiclient.discovery_cache", None)
    discovery.document.cache_clear()
    discovery._index.cache_clear()
    with pytest.raises(MissingExtra) as caught:
        GcpSandbox().start()
    assert "agentbreeder-memory[sandbox]" in str(caught.value.hint)
