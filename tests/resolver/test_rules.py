"""The rule table of docs/agent-yaml.md, one test per row, and the properties that hold for every input."""

from __future__ import annotations

import json
import os

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentbreeder_resolver import BackendUrl, BadUrl, agent_schema, plan_to_json
from agentbreeder_resolver.plan_types import KNOWN_AFTER_DEPLOY

from .conftest import Refused, Resolve, agent, said

AWS = "deploy: {cloud: aws, region: us-east-1}\n"


@pytest.mark.parametrize("scheme", ["redis", "rediss", "valkey", "valkeys", "redis+sentinel"])
def test_a_backend_url_is_never_provisioned_for_and_redis_is_inferred(resolved: Resolve, scheme: str) -> None:
    plan = resolved(agent(f"{scheme}://h.example.com/0"))
    assert (plan.memory_backend, plan.provisioned()) == ("redis", ())
    assert plan.env["MEMORY_BACKEND"] == "redis"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_a_backend_url_is_never_provisioned_for_and_postgresql_is_inferred(resolved: Resolve, scheme: str) -> None:
    plan = resolved(agent(f"{scheme}://h.example.com/m"))
    assert (plan.memory_backend, plan.provisioned()) == ("postgresql", ())


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
@pytest.mark.parametrize("backend", ["redis", "postgresql"])
def test_a_backend_without_url_on_a_managed_cloud_is_provisioned(resolved: Resolve, cloud: str, backend: str) -> None:
    plan = resolved(f"name: a\nmemory: {{backend: {backend}}}\ndeploy: {{cloud: {cloud}, region: r1}}\n")
    assert [(s.kind, s.provision, s.uses) for s in plan.stores] == [(backend, True, ("memory",))]


@pytest.mark.parametrize("cloud", ["local", "kubernetes", "claude-managed"])
def test_elsewhere_nothing_is_provisioned_and_the_plan_says_what_is_used(resolved: Resolve, cloud: str) -> None:
    plan = resolved(f"name: a\nmemory: {{backend: redis}}\ndeploy: {{cloud: {cloud}}}\n")
    assert plan.provisioned() == ()
    assert "REDIS_URL" in plan.stores[0].why
    assert plan.env == {"MEMORY_BACKEND": "redis"}


CONFIGS = "name: support\nbackend_type: postgresql\nttl_seconds: 3600\n---\nname: dev\nbackend: in_memory\n"


@pytest.mark.parametrize("asks", ["memory_config: support", "memory: {stores: [support]}"])
def test_a_named_config_gives_backend_and_ttl(resolved: Resolve, asks: str) -> None:
    plan = resolved(f"name: a\n{asks}\n{AWS}", configs=CONFIGS)
    assert plan.memory_backend == "postgresql"
    assert plan.env["MEMORY_TTL_SECONDS"] == "3600"


def test_an_unknown_memory_config_is_an_error_with_a_suggestion(refused: Refused) -> None:
    assert "support" in said(refused(f"name: a\nmemory_config: suport\n{AWS}", configs=CONFIGS))


def test_in_memory_on_a_real_cloud_warns_that_history_is_lost(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nmemory_config: dev\n{AWS}", configs=CONFIGS)
    assert [f.code for f in plan.findings] == ["IN_MEMORY_ON_CLOUD"]
    assert plan.provisioned() == ()


def test_an_unknown_store_name_is_left_to_other_readers_with_a_warning(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nmemory: {{stores: [elsewhere]}}\n{AWS}")
    assert [f.code for f in plan.findings] == ["UNKNOWN_STORE"]
    assert plan.stores == ()


def test_a_knowledge_base_shares_the_memorys_postgres_as_one_instance(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nmemory: {{backend: postgresql}}\nknowledge_bases: [{{ref: x}}, {{ref: y}}]\n{AWS}")
    (store,) = plan.provisioned()
    assert store.uses == ("memory", "knowledge_base:x", "knowledge_base:y")
    assert set(plan.secret_env) == {"DATABASE_URL", "KB_PGVECTOR_DSN"}


def test_a_knowledge_base_beside_redis_memory_makes_two_stores(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nmemory: {{backend: redis}}\nknowledge_bases: [{{ref: x}}]\n{AWS}")
    assert [s.kind for s in plan.provisioned()] == ["redis", "postgresql"]
    assert plan.env["REDIS_URL"] == KNOWN_AFTER_DEPLOY


def test_a_knowledge_base_url_is_passed_through(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nknowledge_bases: [{{ref: x, backend_url: 'postgresql://h.example.com/kb'}}]\n{AWS}")
    assert plan.env == {"KB_PGVECTOR_DSN": "postgresql://h.example.com/kb"}


def test_a_knowledge_base_in_a_foreign_store_is_left_alone_with_a_note(resolved: Resolve) -> None:
    plan = resolved(f"name: a\nknowledge_bases: [{{ref: x, backend_url: 'qdrant://h.example.com'}}]\n{AWS}")
    assert (plan.stores, plan.env) == ((), {})
    assert [f.code for f in plan.findings] == ["KB_FOREIGN_STORE"]


def test_two_different_knowledge_base_urls_cannot_share_one_variable(refused: Refused) -> None:
    bases = (
        "[{ref: x, backend_url: 'postgresql://h.example.com/1'}, {ref: y, backend_url: 'postgresql://h.example.com/2'}]"
    )
    assert "KB_URL_CONFLICT" in said(refused(f"name: a\nknowledge_bases: {bases}\n{AWS}"))


def test_nothing_is_read_from_the_environment_of_this_machine(
    resolved: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "AWS_VPC_SUBNETS", "AWS_REGION", "KB_PGVECTOR_DSN"):
        monkeypatch.setenv(name, "redis://canary.example.com/0")
    plan = resolved(f"name: a\nmemory: {{backend: postgresql}}\n{AWS}")
    assert "canary" not in json.dumps(plan_to_json(plan))
    assert os.environ["REDIS_URL"]


@pytest.mark.parametrize(
    ("provision", "word"),
    [
        ("storage_gib: 5", "20 to 65536"),
        ("engine_version: '17.4'", "major"),
        ("engine_version: 9", "18"),
        ("instance_class: m5.large", "db.t4g.micro"),
        ("backup_days: 99", "35"),
        ("multi_az: 'yes'", "true or false"),
        ("tls: true", "does not apply"),
        ("azure_redis: cache", "azure"),
        ("network: {subnets: [x]}", "subnet_ids"),
    ],
)
def test_a_bad_provision_value_says_what_is_allowed(refused: Refused, provision: str, word: str) -> None:
    assert word in said(refused(f"name: a\nmemory:\n  backend: postgresql\n  provision: {{{provision}}}\n{AWS}"))


def test_a_network_override_wins_over_env_vars(resolved: Resolve) -> None:
    text = (
        "name: a\nmemory: {backend: redis, provision: {network: {subnet_ids: [subnet-z]}}}\n"
        "deploy: {cloud: aws, region: us-east-1, env_vars: {AWS_VPC_SUBNETS: 'subnet-a, subnet-b,,', AWS_SECURITY_GROUPS: sg-1}}\n"
    )
    network = resolved(text).network
    assert network == {"subnet_ids": ["subnet-z"], "security_group_ids": ["sg-1"], "vpc_id": ""}


SAMPLES = [
    ("name: a\n", True),
    ("name: a\nmemory: {backend: redis}\n", True),
    ("name: a\nmemory: {backend: redos}\n", False),
    ("name: a\nmemory: {nope: 1}\n", False),
    ("name: a\nmemory: {provision: {storage_gib: 20, network: {vpc_id: x}}}\n", True),
    ("name: a\nmemory: {provision: {storage_gib: big}}\n", False),
    ("name: a\nknowledge_bases: [kb/x, {ref: y}]\n", True),
    ("name: a\nknowledge_bases: [{url: y}]\n", False),
    ("name: a\ndeploy: {cloud: aws, region: r, env_vars: {A: 'x', B: 1}}\n", True),
    ("name: a\ndeploy: {cloud: mars}\n", False),
    ("name: a\ndeploy: {env_vars: {A: true}}\n", False),
    ("name: a\nanything: {else: [1, 2]}\n", True),
    ("team: x\n", False),
    ("name: '-x'\n", False),
]


@pytest.mark.parametrize(("text", "valid"), SAMPLES)
def test_the_schema_and_the_reader_agree(resolved: Resolve, refused: Refused, text: str, valid: bool) -> None:
    import yaml

    schema = agent_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(yaml.safe_load(text)) is valid
    if valid:
        resolved(text)
    else:
        refused(text)


words = st.text("abcdefghijklmnopqrstuvwxyz0123456789.-", min_size=1, max_size=12)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=20)


@given(
    scheme=st.sampled_from(["postgres", "POSTGRESQL", "postgresql+asyncpg", "redis", "rediss", "valkeys"]),
    user=words,
    password=secrets,
    host=st.sampled_from(["db.example.com", "10.0.0.1", "[2001:db8::1]", "x-1.internal"]),
    port=st.sampled_from(["", ":", ":6380"]),
    path=words,
)
@settings(max_examples=300, deadline=None)
def test_what_is_injected_parses_to_the_same_url(
    scheme: str, user: str, password: str, host: str, port: str, path: str
) -> None:
    from urllib.parse import quote

    password = "CANARY" + password  # else it may be a word that the URL shows anyway
    url = BackendUrl.parse(f"{scheme}://{user}:{quote(password, safe='')}@{host}{port}/{path}")
    assert BackendUrl.parse(url.as_injected()) == url
    assert url.password is not None
    assert url.password.reveal() == password
    assert quote(password, safe="") not in repr(url) + url.redacted()


@given(start=st.sampled_from(["postgresql://app:", "redis://:", "app:"]), password=secrets, rest=st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_no_error_ever_holds_a_piece_of_a_password(start: str, password: str, rest: str) -> None:
    canary = "CANARY" + password
    try:
        BackendUrl.parse(f"{start}{canary}{rest}@db.example.com:x/m")
    except BadUrl as e:
        assert "CANARY" not in str(e)


@given(
    backend=st.sampled_from(["redis", "postgresql", "in_memory", "none"]),
    cloud=st.sampled_from(["aws", "gcp", "azure", "local", "kubernetes", "claude-managed"]),
    bases=st.lists(words, max_size=3, unique=True),
)
@settings(max_examples=100, deadline=None)
def test_resolving_is_deterministic_and_makes_at_most_one_of_each(
    tmp_path_factory: pytest.TempPathFactory, backend: str, cloud: str, bases: list[str]
) -> None:
    from agentbreeder_resolver import resolve_path

    path = tmp_path_factory.mktemp("d") / "agent.yaml"
    refs = "".join(f"  - ref: '{b}'\n" for b in bases)
    knowledge = f"knowledge_bases:\n{refs}" if refs else ""
    path.write_text(f"name: a\nmemory: {{backend: {backend}}}\n{knowledge}deploy: {{cloud: {cloud}, region: r}}\n")
    first, second = resolve_path(path), resolve_path(path)
    assert json.dumps(plan_to_json(first)) == json.dumps(plan_to_json(second))
    kinds = [s.kind for s in first.provisioned()]
    assert len(kinds) == len(set(kinds))
