"""What Cloud SQL refuses, and how a create can end badly."""

from __future__ import annotations

from typing import Any

import pytest

PSA = "Incorrect Service Networking config for instance: sandbox-project:pg:"


def test_one_operation_at_a_time(project: Any) -> None:
    project.make_sql(wait=False)
    expected = (409, "operationInProgress", "Operation failed because another operation was already in progress.")
    assert project.sql_refused("DELETE", "/pg") == expected
    assert project.sql_refused("PATCH", "/pg", json={"settings": {"tier": "db-g1-small"}}) == expected
    project.pass_time(421)
    project.sql("POST", "/pg/databases", json={"name": "one"})
    assert project.sql_refused("POST", "/pg/databases", json={"name": "two"}) == expected
    assert project.sql_refused("POST", "/pg/users", json={"name": "agent", "password": "x"}) == expected
    project.pass_time(6)
    project.sql("POST", "/pg/databases", json={"name": "two"})


def test_a_name_that_is_taken(project: Any, body: Any) -> None:
    project.make_sql()
    assert project.sql_refused("POST", json=body())[:2] == (409, "instanceAlreadyExists")


def test_a_database_that_exists_is_a_400_in_postgresqls_words(project: Any) -> None:
    project.make_sql()
    status, reason, message = project.sql_refused("POST", "/pg/databases", json={"name": "postgres"})
    assert (status, reason) == (400, "invalid")
    assert 'database "postgres" already exists' in message


def test_a_shared_core_tier_without_an_edition_on_postgresql_17(project: Any, body: Any) -> None:
    wanted = body()
    del wanted["settings"]["edition"]
    status, _, message = project.sql_refused("POST", json=wanted)
    assert status == 400
    assert message == (
        "Invalid request: Invalid Tier (db-f1-micro) for (ENTERPRISE_PLUS) Edition. "
        "Use a predefined Tier like db-perf-optimized-N-* instead."
    )


@pytest.mark.parametrize(
    "tier", ["db-n1-standard-1", "db-custom-3-8192", "db-custom-2-1024", "db-perf-optimized-N-2", ""]
)
def test_a_tier_that_enterprise_does_not_have(project: Any, body: Any, tier: str) -> None:
    assert project.sql_refused("POST", json=body(tier=tier))[0] == 400


@pytest.mark.parametrize("name", ["Pg", "1pg", "pg-", "p_g", "p" * 90, ""])
def test_a_name_against_the_rules(project: Any, body: Any, name: str) -> None:
    assert project.sql_refused("POST", json=body(name))[0] == 400


@pytest.mark.parametrize(
    "labels", [{"Upper": "x"}, {"ok": "Not.ok"}, {"k" * 64: "x"}, {f"k{n}": "" for n in range(65)}]
)
def test_labels_against_the_rules(project: Any, body: Any, labels: dict[str, str]) -> None:
    status, _, message = project.sql_refused("POST", json=body(userLabels=labels))
    assert status == 400
    assert "label" in message


@pytest.mark.parametrize(
    "change",
    [
        {"databaseVersion": "POSTGRES_20"},
        {"databaseVersion": "MYSQL_8_4"},
        {"region": "nowhere"},
        {"settings": {}},
        {"project": "other-project"},
    ],
)
def test_a_body_that_cannot_be_made(project: Any, body: Any, change: dict[str, Any]) -> None:
    assert project.sql_refused("POST", json={**body(), **change})[0] == 400


@pytest.mark.parametrize(
    "settings",
    [
        {"dataDiskSizeGb": "9"},
        {"backupConfiguration": {"enabled": True, "transactionLogRetentionDays": 8}},
        {"backupConfiguration": {"enabled": True, "backupRetentionSettings": {"retainedBackups": 366}}},
        {"backupConfiguration": {"pointInTimeRecoveryEnabled": True}},
        {"ipConfiguration": {"ipv4Enabled": False}},
        {"ipConfiguration": {"ipv4Enabled": False, "privateNetwork": "default"}},
        {"edition": "DEVELOPER"},
    ],
)
def test_settings_that_cannot_be_made(project: Any, body: Any, settings: dict[str, Any]) -> None:
    assert project.sql_refused("POST", json=body(**settings))[0] == 400


def test_a_network_without_private_services_access(project: Any, body: Any) -> None:
    ip = {"ipv4Enabled": False, "privateNetwork": "projects/sandbox-project/global/networks/no-psa"}
    message = f"Invalid request: {PSA}NETWORK_NOT_PEERED."
    assert project.sql_refused("POST", json=body(ipConfiguration=ip)) == (400, "invalid", message)
    project.sandbox.remove_psa()
    assert project.sql_refused("POST", json=body()) == (400, "invalid", message)


def test_a_network_that_is_not_there_a_range_that_is_not_reserved_and_an_api_that_is_off(
    project: Any, body: Any
) -> None:
    network = "projects/sandbox-project/global/networks/"
    ip = {"ipv4Enabled": False, "privateNetwork": f"{network}gone"}
    assert project.sql_refused("POST", json=body(ipConfiguration=ip))[2].endswith(":NETWORK_NOT_FOUND.")
    ip = {"ipv4Enabled": False, "privateNetwork": f"{network}default", "allocatedIpRange": "other"}
    assert project.sql_refused("POST", json=body(ipConfiguration=ip))[2].endswith(":RANGES_NOT_RESERVED.")
    project.sandbox.disable_api("servicenetworking.googleapis.com")
    assert project.sql_refused("POST", json=body())[2].endswith(":SERVICE_NETWORKING_NOT_ENABLED.")


def test_a_range_that_is_full_is_told_by_the_operation(project: Any) -> None:
    project.sandbox.psa_range_full()
    operation = project.make_sql()
    error = project.operation(operation["name"])["error"]
    assert error["kind"] == "sql#operationErrors"
    assert "Couldn't find free blocks in allocated IP ranges" in error["errors"][0]["message"]
    assert project.sql("GET", "/pg")["state"] == "FAILED"


def test_a_protected_instance_is_not_deleted(project: Any) -> None:
    project.make_sql(deletionProtectionEnabled=True)
    status, _, message = project.sql_refused("DELETE", "/pg")
    assert status == 400
    assert message.startswith("The instance is protected.")
    project.sandbox.lift_protection()
    project.sql("DELETE", "/pg")


def test_a_user_that_owns_objects_is_not_deleted_until_the_database_is_gone(project: Any) -> None:
    project.make_sql()
    project.sql("POST", "/pg/databases", json={"name": "memory"})
    project.pass_time(6)
    project.sql("POST", "/pg/users", json={"name": "agent", "password": "x"})
    project.sandbox.give_objects("pg", "agent", "memory", 12)
    status, reason, message = project.sql_refused("DELETE", "/pg/users", params={"name": "agent"})
    assert (status, reason) == (400, "invalid")
    assert 'role "agent" cannot be dropped because some objects depend on it' in message
    project.sql("DELETE", "/pg/databases/memory")
    project.pass_time(6)
    project.sql("DELETE", "/pg/users", params={"name": "agent"})


def test_an_instance_that_does_not_run_lists_neither_users_nor_databases(project: Any) -> None:
    project.make_sql(wait=False)
    expected = (400, "invalid", "Invalid request: Invalid request since instance is not running.")
    for path in ("/pg/users", "/pg/databases", "/pg/databases/postgres"):
        assert project.sql_refused("GET", path) == expected


def test_a_private_network_is_for_ever(project: Any) -> None:
    project.make_sql()
    ip = {"ipv4Enabled": True}
    changed = {"settings": {"edition": "ENTERPRISE", "tier": "db-f1-micro", "ipConfiguration": ip}}
    assert project.sql_refused("PUT", "/pg", json=changed)[0] == 400


@pytest.mark.parametrize(("how", "code"), [("stockout", "ERROR_GCE_STOCKOUT"), ("failed", "UNKNOWN")])
def test_a_create_that_ends_badly_leaves_a_failed_instance(project: Any, how: str, code: str) -> None:
    project.sandbox.fail_next_create("sql", how)
    operation = project.make_sql()
    done = project.operation(operation["name"])
    assert done["status"] == "DONE"
    assert done["error"]["errors"][0]["code"] == code
    assert ("message" in done["error"]["errors"][0]) == (how == "stockout")
    assert project.sql("GET", "/pg")["state"] == "FAILED"
    project.sql("DELETE", "/pg")


def test_an_operation_may_end_with_an_error_while_the_instance_comes_up_all_the_same(project: Any) -> None:
    project.sandbox.fail_next_create("sql", "done-with-error-but-comes-up")
    operation = project.make_sql(wait=False)
    project.pass_time(211)
    done = project.operation(operation["name"])
    assert done["error"]["errors"] == [{"kind": "sql#operationError", "code": "INTERNAL_ERROR"}]
    assert project.sql("GET", "/pg")["state"] == "PENDING_CREATE"
    assert project.sql_refused("DELETE", "/pg")[1] == "operationInProgress"
    project.pass_time(211)
    assert project.sql("GET", "/pg")["state"] == "RUNNABLE"


@pytest.mark.parametrize("status", [404, 500])
def test_operations_that_cannot_be_read_go_on(project: Any, status: int) -> None:
    project.sandbox.lose_operations(status)
    operation = project.make_sql()
    assert project.call("GET", f"/v1/projects/sandbox-project/operations/{operation['name']}")[0] == status
    assert project.sql("GET", "/pg")["state"] == "RUNNABLE"
    project.sandbox.lose_operations(0)
    assert project.operation(operation["name"])["status"] == "DONE"


def test_only_known_ways_to_fail_can_be_asked_for(project: Any) -> None:
    with pytest.raises(ValueError, match="no way 'typo'"):
        project.sandbox.fail_next_create("sql", "typo")
