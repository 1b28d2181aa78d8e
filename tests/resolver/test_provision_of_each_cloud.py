"""What may be asked for on Google Cloud and Azure: their own sizes, and Azure's two Redis products."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentbreeder_core.errors import ConfigError
from agentbreeder_resolver import resolve_path
from agentbreeder_resolver.plan_types import MemoryPlan, RedisStore


def planned(folder: Path, cloud: str, memory: str, *, strict: bool = False) -> MemoryPlan:
    path = folder / "agent.yaml"
    path.write_text(f"name: a\nmemory: {{{memory}}}\ndeploy: {{cloud: {cloud}, region: r}}\n")
    return resolve_path(path, strict=strict)


def redis_of(plan: MemoryPlan) -> RedisStore:
    (store,) = plan.provisioned()
    assert isinstance(store, RedisStore)
    return store


def test_azure_redis_is_managed_unless_the_file_says_cache(tmp_path: Path) -> None:
    managed = redis_of(planned(tmp_path, "azure", "backend: redis"))
    assert (managed.azure_redis, managed.instance_class, managed.tls) == ("managed", "Balanced_B0", True)
    cache = redis_of(planned(tmp_path, "azure", "backend: redis, provision: {azure_redis: cache}"))
    assert (cache.azure_redis, cache.instance_class, cache.tls) == ("cache", "Basic_C0", True)


@pytest.mark.parametrize("product", ["managed", "cache"])
def test_an_azure_redis_url_holds_a_key_so_it_always_comes_from_the_vault(tmp_path: Path, product: str) -> None:
    plan = planned(tmp_path, "azure", f"backend: redis, provision: {{azure_redis: {product}}}")
    assert plan.secret_env["REDIS_URL"].origin == "store:redis"
    assert "REDIS_URL" not in plan.env


def test_a_google_redis_url_is_plain_without_tls_and_from_the_vault_with_it(tmp_path: Path) -> None:
    assert "REDIS_URL" in planned(tmp_path, "gcp", "backend: redis").env
    assert "REDIS_URL" in planned(tmp_path, "gcp", "backend: redis, provision: {tls: true}").secret_env


@pytest.mark.parametrize(
    ("cloud", "memory"),
    [
        ("gcp", "backend: postgresql, provision: {instance_class: db.t4g.micro}"),
        ("gcp", "backend: postgresql, provision: {instance_class: db-perf-optimized-N-2}"),
        ("gcp", "backend: redis, provision: {instance_class: cache.t4g.micro}"),
        ("gcp", "backend: redis, provision: {instance_class: BASIC_0GB}"),
        ("azure", "backend: postgresql, provision: {instance_class: B_Standard_B1ms}"),
        ("azure", "backend: redis, provision: {instance_class: Basic_C0}"),
        ("azure", "backend: redis, provision: {instance_class: Enterprise_E10}"),
        ("azure", "backend: redis, provision: {azure_redis: cache, instance_class: Balanced_B0}"),
        ("azure", "backend: redis, provision: {azure_redis: premium}"),
        ("aws", "backend: redis, provision: {azure_redis: managed}"),
        ("azure", "backend: postgresql, provision: {storage_gib: 20}"),
        ("gcp", "backend: postgresql, provision: {backup_days: 0}"),
    ],
)
def test_a_size_of_another_cloud_or_product_is_refused_with_its_place(tmp_path: Path, cloud: str, memory: str) -> None:
    with pytest.raises(ConfigError) as e:
        planned(tmp_path, cloud, memory)
    assert [p.code for p in e.value.problems] == ["PROVISION"]
    assert e.value.problems[0].where().startswith(str(tmp_path / "agent.yaml") + ":2:")


@pytest.mark.parametrize("backend", ["redis", "postgresql"])
def test_a_protection_that_a_cloud_does_not_have_is_refused_and_never_promised(tmp_path: Path, backend: str) -> None:
    memory = f"backend: {backend}, provision: {{deletion_protection: true}}"
    with pytest.raises(ConfigError) as e:
        planned(tmp_path, "azure", memory)
    assert "deletion_protection" in e.value.problems[0].message
    assert planned(tmp_path, "gcp", memory)


@pytest.mark.parametrize(
    ("cloud", "memory", "missing"),
    [
        ("gcp", "backend: redis", ["GOOGLE_CLOUD_PROJECT"]),
        ("azure", "backend: redis", ["AZURE_SUBSCRIPTION_ID", "AZURE_RESOURCE_GROUP"]),
        ("azure", "backend: postgresql", ["AZURE_SUBSCRIPTION_ID", "AZURE_RESOURCE_GROUP", "AZURE_DB_SUBNET_ID"]),
        ("gcp", "backend_url: 'redis://r.example.com'", []),
        ("azure", "backend_url: 'redis://:p@r.example.com'", []),
    ],
)
def test_a_network_variable_that_deploy_will_need_is_warned_about(
    tmp_path: Path, cloud: str, memory: str, missing: list[str]
) -> None:
    plan = planned(tmp_path, cloud, memory)
    warned = [f.message for f in plan.findings if f.code == "NETWORK_MISSING"]
    assert len(warned) == len(missing)
    assert all(any(name in message for message in warned) for name in missing)


@pytest.mark.parametrize(
    ("cloud", "variable"), [("aws", "AWS_REGION"), ("gcp", "GCP_REGION"), ("azure", "AZURE_LOCATION")]
)
def test_a_region_that_the_file_leaves_out_comes_from_the_shell_of_that_cloud(
    tmp_path: Path, cloud: str, variable: str
) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(f"name: a\nmemory: {{backend: redis}}\ndeploy: {{cloud: {cloud}}}\n")
    assert resolve_path(path, network_env={variable: "r9"}).region == "r9"
