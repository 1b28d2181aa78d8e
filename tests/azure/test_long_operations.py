"""What ARM's long operations really do (facts, sections 3 and 4): each trap with a deploy that gets through it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agentbreeder_core.errors import CloudError, ResourceFailed
from agentbreeder_provisioners import environment, status
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.azure.world import Durations
from agentbreeder_sandbox.calls import Fault
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, state_of

from .conftest import CACHE, Agent, Once, calls


@pytest.mark.parametrize("store", ["pg", "amr_db", "cache", "amr"])
def test_an_operation_that_failed_with_status_200_is_a_failure_that_is_recorded_and_torn_down(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, store: str
) -> None:
    azure_sandbox.tenant_may_create_cache = True
    body = {"pg": SCENARIOS["postgres"], "cache": CACHE}.get(store, SCENARIOS["redis"])
    azure_sandbox.fail_next_create(store, "async-failed")  # type: ignore[arg-type]
    before = azure_sandbox.standing()
    with pytest.raises(ResourceFailed):
        do_deploy(azure_sandbox, agent(body))
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


@pytest.mark.parametrize("store", ["pg", "amr", "cache"])
def test_a_failed_create_that_keeps_the_name_is_torn_down_and_the_next_deploy_works(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, store: str
) -> None:
    azure_sandbox.tenant_may_create_cache = True
    path = agent({"pg": SCENARIOS["postgres"], "cache": CACHE}.get(store, SCENARIOS["redis"]))
    azure_sandbox.fail_next_create(store, "create-failed")  # type: ignore[arg-type]
    before = azure_sandbox.standing()
    with pytest.raises(ResourceFailed):
        do_deploy(azure_sandbox, path)
    assert azure_sandbox.standing() != before
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before
    assert all(r.phase == "ready" for r in do_deploy(azure_sandbox, path).resources)


def test_a_retry_after_of_zero_does_not_turn_into_half_a_minute(azure_sandbox: AzureSandbox, tmp_path: Path) -> None:
    took = {}
    for header in (None, "0"):
        azure_sandbox.reset(durations=Durations())
        azure_sandbox.retry_after = header
        start = azure_sandbox.clock.now()
        do_deploy(azure_sandbox, write_agent(tmp_path / str(header), SCENARIOS["redis"], cloud="azure"))
        took[header] = (azure_sandbox.clock.now() - start).total_seconds()
    assert took["0"] <= took[None]


def test_an_operation_that_is_over_before_the_redis_runs_is_waited_beyond(
    azure_sandbox: AzureSandbox, agent: Agent
) -> None:
    azure_sandbox.reset(durations=Durations(amr_running_lag_s=400.0))
    start = azure_sandbox.clock.now()
    do_deploy(azure_sandbox, agent(SCENARIOS["redis"]))
    needed = Durations().amr_create_s + Durations().amr_db_s + 2 * 400.0
    assert (azure_sandbox.clock.now() - start).total_seconds() >= needed


@pytest.mark.parametrize("scenario", ["both", "cache"])
def test_poll_urls_are_followed_to_the_letter_and_neither_they_nor_keys_are_logged_or_stored(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path, caplog: pytest.LogCaptureFixture, scenario: str
) -> None:
    azure_sandbox.tenant_may_create_cache = True
    path = agent(SCENARIOS.get(scenario, CACHE))
    events: list[str] = []
    with caplog.at_level(logging.DEBUG):
        do_deploy(azure_sandbox, path, on_event=lambda e: events.append(repr(e)))
    # The stand-in refuses a poll whose signature is not exactly what it handed out.
    polls = calls(azure_sandbox, "GET operation")
    assert polls
    secret = environment("support", project_dir=tmp_path, reveal=True).revealed
    keys = [v.reveal().partition("://")[2].partition("@")[0].rpartition(":")[2] for v in secret.values()]
    kept = "".join(f.read_text() for f in (tmp_path / ".agentbreeder").iterdir() if f.is_file())
    said = "\n".join([caplog.text, kept, *events])
    assert "GET /subscriptions/" in said
    assert not [word for word in ("&c=", "&s=", "?t=", *keys) if word in said]


def test_a_role_on_the_resource_group_alone_is_enough_although_polls_are_denied(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    azure_sandbox.deny_location_actions()
    before = azure_sandbox.standing()
    done = do_deploy(azure_sandbox, agent(SCENARIOS["both"]))
    assert all(r.phase == "ready" for r in done.resources)
    assert do_teardown(azure_sandbox, tmp_path).remaining == ()
    assert azure_sandbox.standing() == before


def test_a_web_page_instead_of_an_answer_is_asked_again(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    azure_sandbox.html_once(3)
    assert do_deploy(azure_sandbox, agent(SCENARIOS["redis"])).changed


def test_nothing_but_web_pages_ends_in_one_clear_error(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    azure_sandbox.html_once(1000)
    with pytest.raises(CloudError) as e:
        do_deploy(azure_sandbox, agent(SCENARIOS["redis"]))
    assert "<" not in str(e.value)


@pytest.mark.parametrize("operation", ["PUT redisEnterprise", "POST listKeys", "GET secrets", "PUT secrets"])
def test_too_many_requests_is_asked_again(azure_sandbox: AzureSandbox, agent: Agent, operation: str) -> None:
    hook = Once(operation, Fault(kind="reject", code="TooManyRequests", message="slow down", status=429), times=2)
    azure_sandbox.on_call(hook)
    assert do_deploy(azure_sandbox, agent(SCENARIOS["redis"])).changed
    assert hook.count > 2


def test_a_location_that_comes_back_as_a_display_name_is_no_change(
    azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path
) -> None:
    path = agent(SCENARIOS["both"])
    do_deploy(azure_sandbox, path)
    assert do_deploy(azure_sandbox, path).changed is False
    (one,) = status("support", project_dir=tmp_path, refresh=True, clock=azure_sandbox.clock)
    assert [r.note for r in one.resources] == [""] * len(one.resources)


def test_ids_in_another_case_are_the_same_ids(azure_sandbox: AzureSandbox, agent: Agent, tmp_path: Path) -> None:
    azure_sandbox.tenant_may_create_cache = True
    path = agent(CACHE, AZURE_RESOURCE_GROUP="SANDBOX-RG")
    before = azure_sandbox.standing()
    do_deploy(azure_sandbox, path)
    recorded = {r["kind"]: r["physical_id"] for r in state_of(tmp_path)["agents"]["support"]["resources"]}
    assert "/resourceGroups/SANDBOX-RG/" in recorded["azure.redis_cache"]
    assert do_deploy(azure_sandbox, path).changed is False
    do_teardown(azure_sandbox, tmp_path)
    assert azure_sandbox.standing() == before


@pytest.mark.parametrize("code", ["ServerIsBusy", "ServerBusy", "ServerIsNotReady"])
def test_a_server_that_is_busy_is_waited_for(azure_sandbox: AzureSandbox, agent: Agent, code: str) -> None:
    fault = Fault(kind="reject", code=code, message="is busy processing another operation", status=409)
    hook = Once("PUT databases", fault, times=20)
    azure_sandbox.on_call(hook)
    assert do_deploy(azure_sandbox, agent(SCENARIOS["shared"])).changed
    assert hook.count == 21


def test_a_create_that_the_busy_service_refuses_is_asked_again(azure_sandbox: AzureSandbox, agent: Agent) -> None:
    azure_sandbox.fail_next_create("pg", "server-is-busy")
    assert do_deploy(azure_sandbox, agent(SCENARIOS["postgres"])).changed
