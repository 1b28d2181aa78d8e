"""Cloud SQL as a deploy meets it: instance, database, user, change, delete."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509


def test_a_private_instance_comes_up_and_goes_as_the_recordings_show_it(project: Any) -> None:
    operation = project.make_sql(wait=False)
    assert (operation["status"], operation["operationType"]) == ("PENDING", "CREATE")
    assert "ipAddresses" not in project.sql("GET", "/pg")
    assert project.sql("GET", "/pg")["state"] == "PENDING_CREATE"
    project.pass_time(60)
    assert project.operation(operation["name"])["status"] == "RUNNING"
    project.pass_time(361)
    done = project.operation(operation["name"])
    assert done["status"] == "DONE"
    assert "error" not in done
    made = project.sql("GET", "/pg")
    assert made["state"] == "RUNNABLE"
    assert [a["type"] for a in made["ipAddresses"]] == ["PRIVATE"]
    assert made["ipAddresses"][0]["ipAddress"].startswith("10.36.0.")
    assert made["settings"]["userLabels"] == {"managed-by": "agentbreeder"}
    project.sql("DELETE", "/pg")
    assert project.sql("GET", "/pg")["state"] == "PENDING_DELETE"
    project.pass_time(91)
    assert project.sql_refused("GET", "/pg")[:2] == (404, "instanceDoesNotExist")


def test_a_public_instance_has_addresses_of_which_the_private_one_is_not_the_first(project: Any, body: Any) -> None:
    public = body(
        "public",
        ipConfiguration={
            "ipv4Enabled": True,
            "privateNetwork": body()["settings"]["ipConfiguration"]["privateNetwork"],
        },
    )
    project.sql("POST", json=public)
    project.pass_time(421)
    kinds = [a["type"] for a in project.sql("GET", "/public")["ipAddresses"]]
    assert kinds == ["PRIMARY", "OUTGOING", "PRIVATE"]


def test_the_network_comes_back_as_a_path_whatever_url_was_sent(project: Any) -> None:
    url = "https://www.googleapis.com/compute/v1/projects/123456789012/global/networks/default"
    project.make_sql(ipConfiguration={"ipv4Enabled": False, "privateNetwork": url})
    ip = project.sql("GET", "/pg")["settings"]["ipConfiguration"]
    assert ip["privateNetwork"] == "projects/sandbox-project/global/networks/default"


def test_the_certificate_authority_is_a_real_one_and_each_instance_has_its_own(project: Any) -> None:
    project.make_sql("one")
    project.make_sql("two")
    certificates = [project.sql("GET", f"/{n}")["serverCaCert"]["cert"] for n in ("one", "two")]
    read = [x509.load_pem_x509_certificate(c.encode()) for c in certificates]
    assert read[0].serial_number != read[1].serial_number
    assert all(c.extensions.get_extension_for_class(x509.BasicConstraints).value.ca for c in read)


def test_sixty_four_bit_integers_are_strings_and_the_root_password_is_never_shown(project: Any, body: Any) -> None:
    project.sql("POST", json={**body(dataDiskSizeGb=20), "rootPassword": "tops3cret"})
    project.pass_time(421)
    made = project.sql("GET", "/pg")
    assert made["settings"]["dataDiskSizeGb"] == "20"
    assert made["settings"]["settingsVersion"] == "1"
    assert "tops3cret" not in str(made)


def test_without_an_edition_postgresql_15_becomes_enterprise_and_16_the_dear_one(project: Any, body: Any) -> None:
    old = {**body("old"), "databaseVersion": "POSTGRES_15"}
    del old["settings"]["edition"]
    project.sql("POST", json=old)
    assert project.sql("GET", "/old")["settings"]["edition"] == "ENTERPRISE"
    new = body("new", tier="db-perf-optimized-N-2")
    del new["settings"]["edition"]
    project.sql("POST", json=new)
    assert project.sql("GET", "/new")["settings"]["edition"] == "ENTERPRISE_PLUS"


def test_a_database_is_there_when_its_operation_is_done_and_not_before(project: Any) -> None:
    project.make_sql()
    operation = project.sql("POST", "/pg/databases", json={"name": "memory"})
    assert (operation["status"], operation["operationType"]) == ("PENDING", "CREATE_DATABASE")
    assert project.sql_refused("GET", "/pg/databases/memory")[:2] == (404, "notFound")
    project.pass_time(6)
    assert project.operation(operation["name"])["status"] == "DONE"
    assert project.sql("GET", "/pg/databases/memory")["charset"] == "UTF8"
    assert [d["name"] for d in project.sql("GET", "/pg/databases")["items"]] == ["postgres", "memory"]


def test_a_user_is_there_when_the_create_answers_and_its_password_is_never_shown(project: Any) -> None:
    project.make_sql()
    operation = project.sql("POST", "/pg/users", json={"name": "agent", "password": "tops3cret"})
    assert (operation["status"], operation["operationType"]) == ("DONE", "CREATE_USER")
    users = project.sql("GET", "/pg/users")
    assert [u["name"] for u in users["items"]] == ["postgres", "agent"]
    assert "tops3cret" not in str(users)
    assert project.sql("GET", "/pg/users/agent")["host"] == ""
    assert project.sql("PUT", "/pg/users", params={"name": "agent"}, json={"password": "other"})["status"] == "DONE"
    assert project.sql("DELETE", "/pg/users", params={"name": "agent"})["operationType"] == "DELETE_USER"


def test_a_list_of_users_without_any_has_no_items(project: Any) -> None:
    project.make_sql()
    project.sql("DELETE", "/pg/users", params={"name": "postgres", "host": ""})
    assert project.sql("GET", "/pg/users") == {"kind": "sql#usersList"}


def test_an_existing_users_name_takes_the_new_password_as_terraform_uses_it(project: Any) -> None:
    project.make_sql()
    before = project.sql("GET", "/pg/users/postgres")["etag"]
    project.sql("POST", "/pg/users", json={"name": "postgres", "password": "n3w"})
    assert [u["name"] for u in project.sql("GET", "/pg/users")["items"]] == ["postgres"]
    assert project.sql("GET", "/pg/users/postgres")["etag"] != before


def test_a_patch_changes_what_it_names_and_shows_it_once_it_is_done(project: Any) -> None:
    project.make_sql(deletionProtectionEnabled=True)
    project.sql("PATCH", "/pg", json={"settings": {"deletionProtectionEnabled": False}})
    assert project.sql("GET", "/pg")["settings"]["deletionProtectionEnabled"] is True
    project.pass_time(31)
    settings = project.sql("GET", "/pg")["settings"]
    assert (settings["deletionProtectionEnabled"], settings["settingsVersion"]) == (False, "2")
    assert settings["tier"] == "db-f1-micro"


def test_an_update_replaces_the_settings(project: Any, body: Any) -> None:
    project.make_sql()
    settings = {**body()["settings"], "userLabels": {"other": "label"}}
    project.sql("PUT", "/pg", json={"settings": settings})
    project.pass_time(31)
    assert project.sql("GET", "/pg")["settings"]["userLabels"] == {"other": "label"}


def test_settings_of_another_version_than_the_current_one_are_refused(project: Any) -> None:
    project.make_sql()
    stale = {"settings": {"settingsVersion": "7", "dataDiskSizeGb": "20"}}
    assert project.sql_refused("PATCH", "/pg", json=stale)[:2] == (412, "conditionNotMet")


def test_a_deleted_name_stays_taken_for_a_week_and_is_not_standing(project: Any) -> None:
    before = project.sandbox.standing()
    project.make_sql()
    project.sql("DELETE", "/pg")
    project.pass_time(91)
    assert project.sandbox.inventory()["sql_names_reserved"] == ["pg"]
    assert project.sandbox.standing() == before
    project.pass_time(6 * 24 * 3600)
    status, reason, message = project.sql_refused("POST", json={"name": "pg", **_rest()})
    assert (status, reason) == (409, "instanceAlreadyExists")
    assert "one week" in message
    project.pass_time(24 * 3600)
    project.sql("POST", json={"name": "pg", **_rest()})


def test_a_final_backup_stays_in_the_inventory(project: Any) -> None:
    project.make_sql()
    params = {"enableFinalBackup": "true", "finalBackupTtlDays": 30, "finalBackupDescription": "pg-final"}
    project.sql("DELETE", "/pg", params=params)
    project.pass_time(91)
    assert project.sandbox.standing()["sql_final_backups"] == ["pg pg-final"]


def test_instances_are_listed_in_pages_and_by_label(project: Any) -> None:
    assert project.sql("GET") == {"kind": "sql#instancesList"}
    for name in ("one", "two", "three"):
        project.make_sql(name, wait=False, userLabels={"agent": name})
    first = project.sql("GET", params={"maxResults": 2})
    rest = project.sql("GET", params={"maxResults": 2, "pageToken": first["nextPageToken"]})
    assert [i["name"] for i in first["items"] + rest["items"]] == ["one", "two", "three"]
    found = project.sql("GET", params={"filter": "settings.userLabels.agent:two"})
    assert [i["name"] for i in found["items"]] == ["two"]


def test_operations_are_listed_newest_first(project: Any) -> None:
    project.make_sql()
    project.sql("POST", "/pg/databases", json={"name": "memory"})
    found = project.ok("GET", "/v1/projects/sandbox-project/operations", params={"instance": "pg"})
    assert [o["operationType"] for o in found["items"]] == ["CREATE_DATABASE", "CREATE"]


@pytest.mark.parametrize("root", ["/v1", "/sql/v1beta4"])
def test_both_versions_of_the_api_see_the_same_and_link_to_themselves(project: Any, root: str) -> None:
    project.make_sql()
    found = project.sql("GET", "/pg", root=root)
    assert found["selfLink"] == f"https://sqladmin.googleapis.com{root}/projects/sandbox-project/instances/pg"


def test_labels_may_be_readable_late(project: Any) -> None:
    project.sandbox.label_lag_s = 60.0
    project.make_sql(wait=False)
    assert "userLabels" not in project.sql("GET", "/pg")["settings"]
    project.pass_time(60)
    assert project.sql("GET", "/pg")["settings"]["userLabels"] == {"managed-by": "agentbreeder"}
    project.sandbox.hide_tags(30.0)
    assert "userLabels" not in project.sql("GET", "/pg")["settings"]


def _rest() -> dict[str, Any]:
    return {
        "region": "us-central1",
        "databaseVersion": "POSTGRES_17",
        "settings": {"tier": "db-f1-micro", "edition": "ENTERPRISE"},
    }
