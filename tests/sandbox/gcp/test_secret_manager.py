"""Secret Manager through Google's own client: secrets, versions, consistency, policies, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.cloud import secretmanager_v1 as sm

from agentbreeder_sandbox.gcp.crc32c import crc32c

ROLE, MEMBER = "roles/secretmanager.secretAccessor", "serviceAccount:agent@sandbox-project.iam.gserviceaccount.com"
NAME = "projects/123456789012/secrets/url"


def test_answers_name_the_project_by_its_number(project: Any) -> None:
    secret = project.make_secret()
    assert secret.name == NAME
    version = project.add("projects/sandbox-project/secrets/url")
    assert version.name == f"{NAME}/versions/1"
    assert project.vault.get_secret(name=NAME) == secret
    assert [s.name for s in project.vault.list_secrets(parent="projects/sandbox-project")] == [NAME]


def test_a_payload_comes_back_with_the_checksum_of_castagnoli(project: Any) -> None:
    assert crc32c(b"123456789") == 0xE3069283
    project.make_secret()
    version = project.add(NAME, b"p\x00ss", data_crc32c=crc32c(b"p\x00ss"))
    assert version.client_specified_payload_checksum
    answer = project.vault.access_secret_version(name=version.name)
    assert (answer.payload.data, answer.payload.data_crc32c) == (b"p\x00ss", crc32c(b"p\x00ss"))


def test_a_wrong_checksum_an_empty_payload_and_one_of_more_than_64_kib_are_refused(project: Any, refused: Any) -> None:
    project.make_secret()
    for payload in ({"data": b"x", "data_crc32c": 1}, {"data": b""}, {"data": b"x" * 65537}):
        request = {"parent": NAME, "payload": payload}
        assert refused(project.vault.add_secret_version, request=request)[:2] == (400, "INVALID_ARGUMENT")
    project.add(NAME, b"x" * 65536)


def test_versions_are_disabled_enabled_and_destroyed_for_ever(project: Any, refused: Any) -> None:
    project.make_secret()
    version = project.add(NAME).name
    assert project.vault.disable_secret_version(name=version).state == sm.SecretVersion.State.DISABLED
    expected = (400, "FAILED_PRECONDITION", f"Secret Version [{version}] is in DISABLED state.")
    assert refused(project.vault.access_secret_version, name=version) == expected
    assert project.vault.enable_secret_version(name=version).state == sm.SecretVersion.State.ENABLED
    destroyed = project.vault.destroy_secret_version(name=version)
    assert destroyed.state == sm.SecretVersion.State.DESTROYED
    assert destroyed.destroy_time
    expected = (400, "FAILED_PRECONDITION", f"Secret Version [{version}] is in DESTROYED state.")
    assert refused(project.vault.access_secret_version, name=version) == expected
    assert refused(project.vault.access_secret_version, name=f"{NAME}/versions/latest") == expected
    assert refused(project.vault.enable_secret_version, name=version) == expected
    assert project.vault.get_secret_version(name=version).state == sm.SecretVersion.State.DESTROYED


def test_versions_are_listed_newest_first_and_by_state(project: Any) -> None:
    project.make_secret()
    names = [project.add(NAME).name for _ in range(3)]
    project.vault.disable_secret_version(name=names[1])
    assert [v.name for v in project.vault.list_secret_versions(parent=NAME)] == names[::-1]
    request = {"parent": NAME, "filter": "state:ENABLED", "page_size": 1}
    assert [v.name for v in project.vault.list_secret_versions(request=request)] == [names[2], names[0]]


def test_a_version_is_there_by_number_at_once_and_by_latest_and_in_lists_later(project: Any, refused: Any) -> None:
    project.sandbox.reset(durations=replace(project.sandbox.world.durations, latest_lag_s=60.0))
    project.make_secret()
    first = project.add(NAME, b"one")
    assert project.vault.access_secret_version(name=first.name).payload.data == b"one"
    latest = f"{NAME}/versions/latest"
    assert refused(project.vault.access_secret_version, name=latest)[:2] == (404, "NOT_FOUND")
    assert list(project.vault.list_secret_versions(parent=NAME)) == []
    project.pass_time(60)
    project.add(NAME, b"two")
    assert project.vault.access_secret_version(name=latest).payload.data == b"one"
    project.pass_time(60)
    assert project.vault.access_secret_version(name=latest).payload.data == b"two"


def test_a_secret_that_is_there_and_one_that_is_not(project: Any, refused: Any) -> None:
    call = {"parent": "projects/sandbox-project", "secret_id": "url", "secret": {"replication": {"automatic": {}}}}
    assert refused(project.vault.get_secret, name=NAME) == (404, "NOT_FOUND", f"Secret [{NAME}] not found.")
    project.make_secret()
    assert refused(project.vault.create_secret, **call) == (409, "ALREADY_EXISTS", f"Secret [{NAME}] already exists.")
    assert refused(project.vault.get_secret_version, name=f"{NAME}/versions/7")[0] == 404
    project.vault.delete_secret(name=NAME)
    assert refused(project.vault.delete_secret, name=NAME)[0] == 404
    project.make_secret()


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("url", {}),
        ("no.dots", {"replication": {"automatic": {}}}),
        ("u" * 256, {"replication": {"automatic": {}}}),
        ("url", {"replication": {"automatic": {}}, "labels": {"Upper": "x"}}),
    ],
)
def test_a_secret_that_cannot_be_made(project: Any, refused: Any, name: str, secret: dict[str, Any]) -> None:
    call = {"parent": "projects/sandbox-project", "secret_id": name, "secret": secret}
    assert refused(project.vault.create_secret, **call)[:2] == (400, "INVALID_ARGUMENT")


def test_what_the_stand_in_does_not_keep_is_said_openly(project: Any, refused: Any) -> None:
    secret = {"replication": {"automatic": {}}, "ttl": "3600s"}
    call = {"parent": "projects/sandbox-project", "secret_id": "url", "secret": secret}
    assert refused(project.vault.create_secret, **call)[:2] == (501, "UNIMPLEMENTED")


def test_labels_can_be_changed_and_an_old_etag_is_refused(project: Any, refused: Any) -> None:
    secret = project.make_secret()
    mask = {"paths": ["labels"]}
    changed = project.vault.update_secret(secret={"name": NAME, "labels": {"a": "b"}}, update_mask=mask)
    assert dict(changed.labels) == {"a": "b"}
    assert changed.etag != secret.etag
    stale = {"name": NAME, "labels": {"c": "d"}, "etag": secret.etag}
    assert refused(project.vault.update_secret, secret=stale, update_mask=mask)[:2] == (400, "FAILED_PRECONDITION")
    assert refused(project.vault.update_secret, secret=stale, update_mask={"paths": ["replication"]})[0] == 400


def test_secrets_are_listed_by_label(project: Any) -> None:
    project.make_secret("ours")
    project.make_secret("theirs", labels={"managed-by": "else"})
    request = {"parent": "projects/sandbox-project", "filter": "labels.managed-by=agentbreeder"}
    assert [s.name.rpartition("/")[2] for s in project.vault.list_secrets(request=request)] == ["ours"]


def test_a_policy_is_read_changed_and_written_with_its_etag(project: Any, refused: Any) -> None:
    project.make_secret()
    policy = project.vault.get_iam_policy(request={"resource": NAME, "options": {"requested_policy_version": 3}})
    assert policy.etag == b"\x00 \x01"
    policy.bindings.add(role=ROLE, members=[MEMBER])
    written = project.vault.set_iam_policy(request={"resource": NAME, "policy": policy})
    assert written.etag != policy.etag
    assert project.vault.get_iam_policy(request={"resource": NAME}) == written
    assert f"url/{ROLE} {MEMBER}" in project.sandbox.inventory()["secrets"]
    policy.bindings.add(role=ROLE, members=["user:late@example.com"])
    status, word, message = refused(project.vault.set_iam_policy, request={"resource": NAME, "policy": policy})
    assert (status, word) == (409, "ABORTED")
    assert message.startswith("There were concurrent policy changes.")


def test_without_an_etag_a_policy_is_overwritten(project: Any) -> None:
    project.make_secret()
    for member in (MEMBER, "user:other@example.com"):
        policy = {"bindings": [{"role": ROLE, "members": [member]}]}
        project.ok("POST", f"/v1/{NAME}:setIamPolicy", json={"policy": policy})
    assert project.ok("GET", f"/v1/{NAME}:getIamPolicy")["bindings"][0]["members"] == ["user:other@example.com"]


@pytest.mark.parametrize(("role", "member"), [("reader", MEMBER), (ROLE, "agent@example.com")])
def test_a_role_or_a_member_that_cannot_be(project: Any, refused: Any, role: str, member: str) -> None:
    project.make_secret()
    policy = {"bindings": [{"role": role, "members": [member]}]}
    assert refused(project.vault.set_iam_policy, request={"resource": NAME, "policy": policy})[0] == 400


def test_the_caller_may_do_everything(project: Any) -> None:
    project.make_secret()
    asked = ["secretmanager.versions.add"]
    request = {"resource": NAME, "permissions": asked}
    assert list(project.vault.test_iam_permissions(request=request).permissions) == asked
