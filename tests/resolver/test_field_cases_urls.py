"""Field cases A: parsing, inferring and classifying URLs."""

from __future__ import annotations

import pytest

from agentbreeder_core.secret import Secret
from agentbreeder_resolver import BackendUrl, BadUrl
from agentbreeder_resolver.url_build import make_postgres_url

from .conftest import Refused, Resolve, agent, said


def codes(plan: object) -> list[str]:
    return [f.code for f in plan.findings]  # type: ignore[attr-defined]


@pytest.mark.parametrize("raw", "#/?[")
def test_a01_a_raw_reserved_character_in_the_password_is_refused_without_showing_any_of_it(
    refused: Refused, raw: str
) -> None:
    error = refused(agent(f'"postgresql://app:Kx9{raw}tail@db.example.com:5432/mem"'))
    assert "memory.backend_url" in said(error)
    assert "percent-encode" in said(error)
    assert "Kx9" not in said(error)
    assert "tail" not in said(error)


@pytest.mark.parametrize("password", ["p%40ss", "p%2540ss"])
def test_a02_an_encoded_password_reaches_the_container_byte_for_byte(resolved: Resolve, password: str) -> None:
    url = f"postgresql://app:{password}@db.example.com/mem"
    plan = resolved(agent(url))
    assert plan.secret_urls[0].value.reveal() == url
    assert "DATABASE_URL" in plan.secret_env


def test_a02_a_bare_percent_is_a_clear_error(refused: Refused) -> None:
    error = refused(agent('"postgresql://app:p%w@db.example.com/mem"'))
    assert "%25" in said(error)
    assert "p%w" not in said(error)


def test_a03_postgres_is_postgresql_for_every_driver(resolved: Resolve) -> None:
    plan = resolved(agent("postgres://app@db.example.com/mem"))
    assert plan.memory_backend == "postgresql"
    assert plan.env["DATABASE_URL"] == "postgresql://app@db.example.com/mem"
    assert plan.provisioned() == ()


def test_a03_a_misspelt_scheme_gets_a_suggestion_and_buys_nothing(refused: Refused) -> None:
    assert "postgresql://" in said(refused(agent("posgresql://app@db.example.com/mem")))


def test_a03_a_backend_that_contradicts_the_scheme_names_both(refused: Refused) -> None:
    text = "name: a\nmemory: {backend: redis, backend_url: 'postgresql://db.example.com/m'}\n"
    error = said(refused(text))
    assert "redis" in error
    assert "postgresql" in error


@pytest.mark.parametrize(
    ("url", "injected", "family"),
    [
        ("POSTGRESQL://App:PwD@DB.Example.com/Mem", "postgresql://App:PwD@DB.Example.com/Mem", "postgresql"),
        ("Rediss://:T@cache.example.com:6380/0", "rediss://:T@cache.example.com:6380/0", "redis"),
    ],
)
def test_a05_the_scheme_is_read_in_any_case_and_nothing_else_is_touched(url: str, injected: str, family: str) -> None:
    parsed = BackendUrl.parse(url)
    assert (parsed.as_injected(), parsed.family) == (injected, family)


def test_a06_a_sentinel_url_is_redis_and_what_cannot_open_it_is_said(resolved: Resolve) -> None:
    plan = resolved(agent("redis+sentinel://:pw@s1.example.com:26379,s2.example.com:26379/mymaster/0"))
    assert plan.memory_backend == "redis"
    assert plan.provisioned() == ()
    assert "SENTINEL_URL" in codes(plan)


def test_a06_a_unix_socket_on_a_real_cloud_is_flagged_as_local(resolved: Resolve) -> None:
    assert "LOCAL_URL" in codes(resolved(agent("unix:///run/redis.sock")))


@pytest.mark.parametrize(("value", "warned"), [("required", False), ("CERT_REQUIRED", True)])
def test_a08_a_certificate_option_that_redis_refuses_is_warned_about_and_passed_on(
    resolved: Resolve, value: str, warned: bool
) -> None:
    url = f"rediss://cache.example.com:6380/0?ssl_cert_reqs={value}"
    plan = resolved(agent(url))
    assert plan.env["REDIS_URL"] == url
    assert ("TLS_OPTION" in codes(plan)) is warned


def test_a09_every_host_of_a_failover_url_is_judged(resolved: Resolve) -> None:
    url = "postgresql://u:p@localhost:6432,db.example.com:5432/mem"
    assert "LOCAL_URL" in codes(resolved(agent(url)))
    plan = resolved(agent("postgresql://u:p@h1.example.com:5432,h2.example.com:5432/mem"))
    assert "LOCAL_URL" not in codes(plan)
    assert plan.secret_urls[0].value.reveal() == "postgresql://u:p@h1.example.com:5432,h2.example.com:5432/mem"


@pytest.mark.parametrize(
    "written", ["|\n    redis://h.example.com/0\n", "'redis://h.example.com/0  '", "'  redis://h.example.com/0'"]
)
def test_a11_outer_blanks_are_trimmed_once_before_anything_looks_at_it(resolved: Resolve, written: str) -> None:
    assert resolved(agent(written)).env["REDIS_URL"] == "redis://h.example.com/0"


@pytest.mark.parametrize(
    "written", ['"redis://h.example.com\\n/0"', "'redis://h.exa mple.com/0'", '"redis://h\\t.example.com"']
)
def test_a11_inner_blanks_and_line_breaks_are_refused(refused: Refused, written: str) -> None:
    assert "memory.backend_url" in said(refused(agent(written)))


@pytest.mark.parametrize("written", ['""', "", "'   '", '"${UNSET:-}"'])
def test_a13_set_but_empty_is_an_error_and_never_a_purchase(refused: Refused, written: str) -> None:
    text = f"name: a\nmemory:\n  backend: postgresql\n  backend_url: {written}\ndeploy: {{cloud: aws, region: us-east-1}}\n"
    assert "memory.backend_url" in said(refused(text))


def test_a13_an_absent_url_may_provision(resolved: Resolve) -> None:
    plan = resolved("name: a\nmemory: {backend: postgresql}\ndeploy: {cloud: aws, region: us-east-1}\n")
    assert [s.kind for s in plan.provisioned()] == ["postgresql"]


def test_a14_placeholders_nobody_filled_in_are_listed_by_name(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "canary-from-the-environment")
    text = (
        "name: a\nmemory: {backend_url: 'postgresql://u:${DB_PASSWORD}@${DB_HOST}:5432/mem'}\n"
        "knowledge_bases: [{ref: kb, backend_url: 'postgresql://${KB_HOST}/kb'}]\n"
        "deploy: {cloud: aws, region: '${REGION}'}\n"
    )
    error = said(refused(text))
    for name in ("DB_PASSWORD", "DB_HOST", "KB_HOST", "REGION"):
        assert name in error
    assert "canary" not in error


def test_a14_an_escaped_placeholder_is_a_literal(resolved: Resolve) -> None:
    url = "postgresql://u:a$${b}c@db.example.com/m"
    assert resolved(agent(f"'{url}'")).secret_urls[0].value.reveal() == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost.evil.example/m",
        "redis://mylocalhost.internal/0",
        "redis://127.example.com/0",
        "postgresql://localhost:localhost@db.example.com/localhost?application_name=localhost",
    ],
)
def test_a15_only_the_parsed_host_decides_what_is_local(resolved: Resolve, url: str) -> None:
    assert "LOCAL_URL" not in codes(resolved(agent(url)))


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1",
        "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "127.255.255.254",
    ],
)  # fmt: skip
def test_a15_this_machine_is_recognised_in_all_its_spellings(resolved: Resolve, host: str) -> None:
    assert "LOCAL_URL" in codes(resolved(agent(f"'redis://{host}:6379/0'")))


@pytest.mark.parametrize("host", ["host.docker.internal", "gateway.docker.internal"])
def test_a17_a_developers_machine_is_flagged(resolved: Resolve, host: str) -> None:
    assert "LOCAL_URL" in codes(resolved(agent(f"postgresql://{host}/m", cloud="gcp")))


def test_a17_a_single_word_host_is_a_warning_and_no_hard_stop(resolved: Resolve) -> None:
    assert codes(resolved(agent("postgresql://postgres/m"))) == ["SINGLE_LABEL_HOST"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@/mem?host=/cloudsql/proj:us-central1:inst",
        "postgresql://u:p@%2Fcloudsql%2Fproj%3Aus-central1%3Ainst/mem",
    ],
)
def test_a18_a_cloud_sql_socket_is_accepted_on_google_and_warned_about_elsewhere(resolved: Resolve, url: str) -> None:
    plan = resolved(agent(f"'{url}'", cloud="gcp"))
    assert codes(plan) == []
    assert plan.secret_urls[0].value.reveal() == url
    assert codes(resolved(agent(f"'{url}'"))) == ["SOCKET_NOT_THERE"]


def test_a20_an_endpoint_that_carries_its_port_ends_up_with_exactly_one() -> None:
    url = make_postgres_url("u", Secret("p"), "x.rds.example.com:5432", 5432, "m").reveal()
    assert url.count(":5432") == 1


@pytest.mark.parametrize("port", [":5432:5432", ":abc", ":99999", ":0"])
def test_a20_a_bad_port_is_a_config_error_that_names_the_key(refused: Refused, port: str) -> None:
    error = said(refused(agent(f"'postgresql://u:Hunter2x@db.example.com{port}/m'")))
    assert "memory.backend_url" in error
    assert "db.example.com" in error
    assert "Hunter2x" not in error


@pytest.mark.parametrize("port", [":", ""])
def test_a20_a_missing_port_is_the_default(port: str) -> None:
    assert BackendUrl.parse(f"postgresql://db.example.com{port}/m").hosts[0].port is None


@pytest.mark.parametrize(
    "broken",
    [
        "postgresql://admin:Hunter2x@db.example.com:5432:5432/mem", "postgresql://admin:Hunter2x#@h/m",
        "postgresql://admin:Hunter2x@@h/m", "postgresql://admin:Hunter2x/h", "redis://:Hunter2x@h:x",
        "redis://:Hunter2x@a,b", "http://admin:Hunter2x@h", "postgresql://admin:Hunter2x@[::1", "Hunter2x",
        "postgresql://admin:Hunter2x@h\x00", "postgresql://admin:Hunter2x", "postgresql:/admin:Hunter2x@h",
    ],
)  # fmt: skip
def test_f03_no_broken_url_is_ever_quoted(broken: str) -> None:
    try:
        parsed = BackendUrl.parse(broken)
    except BadUrl as e:
        assert "Hunter2x" not in str(e)
        assert e.__cause__ is None
    else:
        assert "Hunter2x" not in repr(parsed) + str(parsed)


def test_f04_the_local_url_warning_shows_key_scheme_and_host_only(resolved: Resolve) -> None:
    (finding,) = resolved(agent("'redis://:Hunter2x@localhost:6379?x=Hunter2x'")).findings
    assert "memory.backend_url" in finding.message
    assert "localhost" in finding.message
    assert "Hunter2x" not in str(finding)


def test_a_local_url_is_an_error_under_strict(refused: Refused) -> None:
    assert refused(agent("redis://localhost/0"), strict=True).problems[0].code == "LOCAL_URL"


def test_a_local_url_is_fine_on_this_machine(resolved: Resolve) -> None:
    assert codes(resolved(agent("redis://localhost/0", cloud="local"))) == []
