"""What Google Cloud really does (facts, sections 1 and 4), each trap with a deploy or a teardown that gets through it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from agentbreeder_core.errors import (
    AuthError,
    ConfigError,
    NameTaken,
    PreflightFailed,
    ProtectionOn,
    QuotaError,
    ResourceFailed,
    TeardownIncomplete,
)
from agentbreeder_provisioners import environment, plan, status
from agentbreeder_provisioners.gcp.kinds.sql_instance import _private_address
from agentbreeder_sandbox.calls import ApiCall, Fault
from agentbreeder_sandbox.gcp.server import GcpSandbox
from support.agents import SCENARIOS, write_agent
from support.cloud import do_deploy, do_teardown, state_of

TLS = "memory: {backend: redis, provision: {tls: true}}"


def agent(folder: Path, body: str, **env: str) -> Path:
    return write_agent(folder, body, cloud="gcp", env=env)


def calls(sandbox: GcpSandbox, operation: str) -> list[ApiCall]:
    return [c for c in sandbox.calls if c.operation == operation]


class Once:
    """One fault at the first call of an operation."""

    def __init__(self, operation: str, fault: Fault) -> None:
        self._operation, self._fault, self.count = operation, fault, 0

    def __call__(self, call: ApiCall) -> Fault | None:
        if call.operation != self._operation:
            return None
        self.count += 1
        return self._fault if self.count == 1 else None


def test_an_operation_that_ends_with_an_error_does_not_matter_when_the_instance_comes_up(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.fail_next_create("sql", "done-with-error-but-comes-up")
    done = do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    assert all(r.phase == "ready" for r in done.resources)


def test_operations_that_cannot_be_read_do_not_matter_while_the_create_goes_on(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.lose_operations(404)
    before = gcp_sandbox.standing()
    done = do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["both"]))
    assert all(r.phase == "ready" for r in done.resources)
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()
    assert gcp_sandbox.standing() == before


@pytest.mark.parametrize(("how", "word"), [("stockout", "sufficient resources"), ("failed", "")])
def test_a_database_that_google_gives_up_on_is_reported_recorded_and_torn_down(
    gcp_sandbox: GcpSandbox, tmp_path: Path, how: str, word: str
) -> None:
    gcp_sandbox.fail_next_create("sql", how)
    before = gcp_sandbox.standing()
    with pytest.raises(ResourceFailed) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    assert word in str(e.value)
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()
    assert gcp_sandbox.standing() == before


def test_a_redis_that_met_a_quota_says_so_and_leaves_nothing(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    gcp_sandbox.fail_next_create("redis", "quota")
    with pytest.raises(QuotaError, match="limit"):
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"]))
    do_teardown(gcp_sandbox, tmp_path)
    assert not any(gcp_sandbox.standing().values())


def test_an_answer_the_library_cannot_parse_after_the_server_accepted_makes_no_second_redis(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.unknown_metadata = True
    done = do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"]))
    assert done.env["REDIS_URL"].startswith("redis://")
    assert len(gcp_sandbox.standing()["redis_instances"]) == 1
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()
    assert not any(gcp_sandbox.standing().values())


def test_a_name_that_a_deleted_instance_holds_gives_the_next_generation_and_it_is_recorded_before_it_is_asked_for(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    path = agent(tmp_path, SCENARIOS["postgres"])
    do_deploy(gcp_sandbox, path)
    (first,) = gcp_sandbox.standing()["sql_instances"]
    do_teardown(gcp_sandbox, tmp_path)
    recorded: list[str] = []

    def note_intent(call: ApiCall) -> None:
        if call.operation == "sql.instances.insert":
            resources = state_of(tmp_path)["agents"]["support"]["resources"]
            recorded.extend(r["name"] for r in resources if r["kind"] == "gcp.sql_instance")

    gcp_sandbox.on_call(note_intent)
    do_deploy(gcp_sandbox, path)
    assert gcp_sandbox.standing()["sql_instances"] == [f"{first}-g2"]
    assert recorded == [first, f"{first}-g2"]
    assert do_deploy(gcp_sandbox, path).changed is False
    do_teardown(gcp_sandbox, tmp_path)
    do_deploy(gcp_sandbox, path)
    assert gcp_sandbox.standing()["sql_instances"] == [f"{first}-g3"]
    do_teardown(gcp_sandbox, tmp_path)


def test_sizes_go_out_as_strings_where_google_says_int64_and_compare_as_numbers(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    (insert,) = calls(gcp_sandbox, "sql.instances.insert")
    assert insert.params["settings"]["dataDiskSizeGb"] == "10"
    (one,) = status("support", project_dir=tmp_path, refresh=True, clock=gcp_sandbox.clock)
    assert [r.note for r in one.resources] == [""] * len(one.resources)


def test_the_instance_is_private_encrypted_labelled_and_of_the_cheap_edition(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    settings = calls(gcp_sandbox, "sql.instances.insert")[0].params["settings"]
    network = settings["ipConfiguration"]
    assert (settings["edition"], settings["tier"]) == ("ENTERPRISE", "db-g1-small")
    assert (network["ipv4Enabled"], network["sslMode"]) == (False, "ENCRYPTED_ONLY")
    assert settings["userLabels"]["managed-by"] == "agentbreeder"


def test_the_private_address_is_chosen_by_its_type_never_by_its_place() -> None:
    listed = [
        {"type": "PRIMARY", "ipAddress": "34.1.2.3"},
        {"type": "OUTGOING", "ipAddress": "34.1.2.4"},
        {"type": "PRIVATE", "ipAddress": "10.0.0.3"},
    ]
    assert _private_address({"ipAddresses": listed}) == "10.0.0.3"
    assert _private_address({"ipAddresses": listed[:2]}) == ""


@pytest.mark.parametrize(
    "operation",
    ["secretmanager.projects.secrets.versions.access", "sql.users.insert", "redis.projects.locations.instances.get"],
)
def test_too_many_requests_is_asked_again_although_the_libraries_do_not(
    gcp_sandbox: GcpSandbox, tmp_path: Path, operation: str
) -> None:
    hook = Once(operation, Fault(kind="reject", code="RESOURCE_EXHAUSTED", message="Quota exceeded", status=429))
    gcp_sandbox.on_call(hook)
    assert do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["both"])).changed
    assert hook.count > 1


def test_a_secret_of_somebody_elses_under_our_name_stops_the_deploy_before_anything_is_made(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    path = agent(tmp_path, SCENARIOS["postgres"])
    name = next(s.name for s in plan(path, network_env=gcp_sandbox.network_env()).steps if s.kind == "gcp.secret")
    _secrets().create_secret(
        request={
            "parent": "projects/sandbox-project",
            "secret_id": name,
            "secret": {"replication": {"automatic": {}}},
        }
    )
    before = gcp_sandbox.standing()
    with pytest.raises((PreflightFailed, NameTaken)) as e:
        do_deploy(gcp_sandbox, path)
    assert "NAME_TAKEN" in str([p.code for p in getattr(e.value, "problems", ())])
    assert gcp_sandbox.standing() == before


def _secrets() -> Any:
    import os

    from google.auth.credentials import AnonymousCredentials
    from google.cloud.secretmanager_v1 import SecretManagerServiceClient

    endpoint = os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"].rstrip("/")
    return SecretManagerServiceClient(
        credentials=AnonymousCredentials(), transport="rest", client_options={"api_endpoint": endpoint}
    )


def test_deletion_protection_stops_the_teardown_before_the_first_delete_and_says_how_to_lift_it(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    body = "memory: {backend: postgresql, provision: {deletion_protection: true}}"
    do_deploy(gcp_sandbox, agent(tmp_path, body))
    before = gcp_sandbox.standing()
    with pytest.raises(ProtectionOn, match=r"gcloud sql instances patch .* --no-deletion-protection"):
        do_teardown(gcp_sandbox, tmp_path)
    assert gcp_sandbox.standing() == before
    gcp_sandbox.lift_protection()
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()


def test_a_disabled_api_is_told_by_preflight_with_the_command_that_enables_it(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.disable_api("sqladmin.googleapis.com")
    with pytest.raises(PreflightFailed) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    (problem,) = e.value.problems
    assert "gcloud services enable sqladmin.googleapis.com --project sandbox-project" in problem.message


def test_a_disabled_api_that_preflight_could_not_see_is_told_from_its_refusal(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.disable_api("serviceusage.googleapis.com")
    gcp_sandbox.disable_api("redis.googleapis.com")
    with pytest.raises(AuthError) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"]))
    assert "gcloud services enable redis.googleapis.com" in e.value.hint
    assert not any(gcp_sandbox.standing().values())


def test_missing_private_services_access_stops_a_database_and_prints_the_two_commands(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.remove_psa()
    with pytest.raises(PreflightFailed) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    (problem,) = e.value.problems
    assert "gcloud compute addresses create" in problem.message
    assert "gcloud services vpc-peerings connect" in problem.message
    assert not any(gcp_sandbox.standing().values())


def test_a_full_range_of_private_services_access_is_seen_before_the_first_change(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    gcp_sandbox.psa_range_full()
    with pytest.raises(PreflightFailed) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    assert [p.code for p in e.value.problems] == ["PRIVATE_SERVICES_RANGE_FULL"]
    assert not any(gcp_sandbox.standing().values())


@pytest.mark.parametrize(("network", "mode"), [("default", "PRIVATE_SERVICE_ACCESS"), ("no-psa", "DIRECT_PEERING")])
def test_redis_is_connected_as_the_network_allows_and_the_plan_says_which_and_why(
    gcp_sandbox: GcpSandbox, tmp_path: Path, network: str, mode: str
) -> None:
    path = agent(tmp_path, SCENARIOS["redis"], GCP_VPC_NETWORK=network)
    shown = plan(path, preflight=True, clock=gcp_sandbox.clock, network_env=gcp_sandbox.network_env())
    (note,) = [f.message for f in shown.findings if f.code == "REDIS_CONNECT_MODE"]
    assert mode in note
    assert network in note
    do_deploy(gcp_sandbox, path)
    (create,) = calls(gcp_sandbox, "redis.projects.locations.instances.create")
    assert create.params["connectMode"] in (mode, {"DIRECT_PEERING": 1, "PRIVATE_SERVICE_ACCESS": 2}[mode])


def test_a_network_that_is_not_there_is_told_by_name(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    with pytest.raises(PreflightFailed) as e:
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"], GCP_VPC_NETWORK="missing"))
    assert [p.code for p in e.value.problems] == ["NETWORK_NOT_FOUND"]


def test_a_project_that_cannot_be_reached_is_an_auth_error(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    with pytest.raises(AuthError, match="nowhere"):
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"], GOOGLE_CLOUD_PROJECT="nowhere"))


def test_another_project_than_the_recorded_one_is_refused_before_any_change(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"]))
    seen = len(gcp_sandbox.calls)
    with pytest.raises(ConfigError, match="made with project 'sandbox-project', the file now asks for 'other'"):
        do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"], GOOGLE_CLOUD_PROJECT="other"))
    assert all(c.read for c in gcp_sandbox.calls[seen:])


def test_a_web_page_instead_of_an_answer_is_asked_again(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    gcp_sandbox.answer_html_once()
    assert do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"])).changed


def test_the_runtime_account_is_added_to_the_secrets_policy_beside_others_and_only_it_is_removed(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    account = "run@sandbox-project.iam.gserviceaccount.com"
    path = agent(tmp_path, SCENARIOS["postgres"], GCP_RUNTIME_SERVICE_ACCOUNT=account)
    do_deploy(gcp_sandbox, path)
    (policy,) = calls(gcp_sandbox, "secretmanager.projects.secrets.setIamPolicy")
    assert policy.params["policy"]["etag"]
    bindings = [line for line in gcp_sandbox.standing()["secrets"] if account in line]
    assert len(bindings) == 1
    assert "secretAccessor" in bindings[0]


def test_a_policy_that_somebody_changed_meanwhile_is_read_again(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    account = "run@sandbox-project.iam.gserviceaccount.com"
    hook = Once(
        "secretmanager.projects.secrets.setIamPolicy",
        Fault(kind="reject", code="ABORTED", message="concurrent policy changes", status=409),
    )
    gcp_sandbox.on_call(hook)
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"], GCP_RUNTIME_SERVICE_ACCOUNT=account))
    assert hook.count == 2
    assert len(calls(gcp_sandbox, "secretmanager.projects.secrets.getIamPolicy")) == 2


def test_tls_redis_has_its_auth_string_in_the_vault_and_its_authorities_in_a_plain_variable(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    import base64

    done = do_deploy(gcp_sandbox, agent(tmp_path, TLS))
    assert "BEGIN CERTIFICATE" in base64.b64decode(done.env["REDIS_CA_PEM_BASE64"]).decode()
    assert done.secret_env["REDIS_URL"]["ref"].endswith("/versions/1")
    url = environment("support", project_dir=tmp_path, reveal=True).revealed["REDIS_URL"].reveal()
    assert url.startswith("rediss://:")
    assert ":6378/" in url
    auth = url.partition("://:")[2].partition("@")[0]
    written = "".join(f.read_text() for f in (tmp_path / ".agentbreeder").iterdir() if f.is_file())
    assert auth not in written


def test_a_final_backup_is_asked_for_by_name_and_reported(gcp_sandbox: GcpSandbox, tmp_path: Path) -> None:
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["postgres"]))
    gone = do_teardown(gcp_sandbox, tmp_path, final_snapshot=True)
    assert len(gone.kept) == 1
    assert len(gcp_sandbox.standing()["sql_final_backups"]) == 1


def test_a_resource_whose_labels_were_taken_away_is_neither_deleted_nor_forgotten(
    gcp_sandbox: GcpSandbox, tmp_path: Path
) -> None:
    do_deploy(gcp_sandbox, agent(tmp_path, SCENARIOS["redis"]))
    gcp_sandbox.clock.wait(threading.Event(), 3600.0)
    gcp_sandbox.hide_tags(100_000.0)
    with pytest.raises(TeardownIncomplete, match="no tags"):
        do_teardown(gcp_sandbox, tmp_path)
    assert len(gcp_sandbox.standing()["redis_instances"]) == 1
    gcp_sandbox.hide_tags(0.0)
    assert do_teardown(gcp_sandbox, tmp_path).remaining == ()
