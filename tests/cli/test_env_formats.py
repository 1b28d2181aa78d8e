"""The writers, byte for byte through real readers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentbreeder_core.errors import ConfigError
from agentbreeder_core.secret import Secret
from agentbreeder_provisioners.env_formats import FORMATS, render
from agentbreeder_provisioners.results import Environment

ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:agentbreeder/ab-x/postgres-AbCdEf"
F10_VALUES = ["abc$def", "a$$b", "a#b", " a b ", '"q"', "'q'", "a\\b", "${X}"]
MORE_VALUES = [
    "",
    "plain",
    "a`id`b",
    "a'b\"c$d",
    "$(id)",
    "a\\",
    "x=y",
    "ünï",
    "a;b&c|d",
    "*",
    "~",
    "\ta",
    "'",
    "''",
    "!x",
    "a\\\\b",
    "a'\\",
]
SHELL_ONLY = "a'b\"c$d"


def environment(cloud: str = "aws", **more: object) -> Environment:
    values: dict[str, object] = {
        "agent": "support",
        "cloud": cloud,
        "region": "us-east-1",
        "env": {"MEMORY_BACKEND": "postgresql"},
        "secret_env": {"DATABASE_URL": {"ref": ARN, "key": "url"}},
        **more,
    }
    return Environment(**values)  # type: ignore[arg-type]


def test_ecs_gets_plain_values_and_references_into_the_secrets_json_key() -> None:
    assert json.loads(render(environment(), "ecs")) == {
        "environment": [{"name": "MEMORY_BACKEND", "value": "postgresql"}],
        "secrets": [{"name": "DATABASE_URL", "valueFrom": f"{ARN}:url::"}],
    }


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"ref": "ab-x-pg", "key": "url", "version": "3"}, {"name": "ab-x-pg", "key": "3"}),
        ({"ref": "projects/p/secrets/ab-x-pg/versions/7", "key": ""}, {"name": "ab-x-pg", "key": "7"}),
        ({"ref": "projects/p/secrets/ab-x-pg", "key": "url"}, {"name": "ab-x-pg", "key": "latest"}),
    ],
)
def test_cloud_run_gets_a_secret_and_its_version(reference: dict[str, str], expected: dict[str, str]) -> None:
    text = render(environment("gcp", secret_env={"DATABASE_URL": reference}), "cloud-run")
    assert json.loads(text)["env"] == [
        {"name": "MEMORY_BACKEND", "value": "postgresql"},
        {"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": expected}},
    ]


def test_container_apps_get_a_vault_url_and_a_reference_to_it() -> None:
    url = "https://ab-x.vault.azure.net/secrets/postgres"
    text = render(
        environment("azure", secret_env={"DATABASE_URL": {"ref": url, "identity": "/id/1"}}), "container-apps"
    )
    assert json.loads(text) == {
        "secrets": [{"name": "database-url", "keyVaultUrl": url, "identity": "/id/1"}],
        "env": [
            {"name": "MEMORY_BACKEND", "value": "postgresql"},
            {"name": "DATABASE_URL", "secretRef": "database-url"},
        ],
    }


@pytest.mark.parametrize(("name", "cloud"), [("ecs", "gcp"), ("cloud-run", "aws"), ("container-apps", "local")])
def test_a_format_for_another_cloud_is_refused_with_the_one_that_fits(name: str, cloud: str) -> None:
    with pytest.raises(ConfigError, match=f"this agent is on {cloud}") as caught:
        render(environment(cloud), name)
    assert "use --format" in caught.value.hint


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"json", "dotenv"}))
def test_formats_for_task_definitions_never_hold_a_revealed_secret(name: str) -> None:
    cloud = {"ecs": "aws", "cloud-run": "gcp", "container-apps": "azure"}[name]
    with pytest.raises(ConfigError, match="references only"):
        render(environment(cloud, revealed={"DATABASE_URL": Secret("x")}), name)


def test_dotenv_says_where_an_unrevealed_secret_is() -> None:
    assert render(environment(), "dotenv").splitlines() == [
        "MEMORY_BACKEND=postgresql",
        f"# DATABASE_URL: from {ARN} (key url)",
    ]


def test_a_connection_url_stands_bare_so_that_every_reader_agrees() -> None:
    url = "postgresql://agentbreeder:Abc123@db.example.com:5432/agentbreeder?sslmode=require"
    text = render(environment(revealed={"DATABASE_URL": Secret(url)}), "dotenv")
    assert f"DATABASE_URL={url}" in text.splitlines()


@pytest.mark.parametrize("value", ["a\nMEMORY_BACKEND=redis", "a\rb", "a\0b"])
def test_f09_a_value_that_would_make_another_line_is_refused_by_name(value: str) -> None:
    with pytest.raises(ConfigError, match="NOTE") as caught:
        render(environment(env={"NOTE": value}), "dotenv")
    assert value not in str(caught.value)
    assert json.loads(render(environment(env={"NOTE": value}), "ecs"))["environment"] == [
        {"name": "NOTE", "value": value}
    ]


@pytest.mark.parametrize("name", ["A=B", "", "A B", "A;id", "1A", "A\n"])
def test_f09_a_name_no_shell_accepts_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        render(environment(env={name: "x"}), "dotenv")


def _through_sh(file: Path, name: str) -> bytes:
    script = 'set -a; . "$1"; exec printenv "$2"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(file), name], env={"PATH": os.environ["PATH"]}, capture_output=True
    )
    return done.stdout.removesuffix(b"\n")


@pytest.mark.skipif(not shutil.which("printenv"), reason="needs a POSIX shell with printenv")
@pytest.mark.parametrize("value", [*F10_VALUES, *MORE_VALUES, "x" * 40_000, "a$b'c" * 4_000])
def test_f10_a_shell_reads_back_the_same_bytes(tmp_path: Path, value: str) -> None:
    file = tmp_path / "x.env"
    file.write_text(render(environment(env={"VALUE": value}), "dotenv") + "\n", encoding="utf-8")
    assert _through_sh(file, "VALUE") == value.encode()


@pytest.mark.parametrize("value", [v for v in [*F10_VALUES, *MORE_VALUES] if v != SHELL_ONLY])
def test_f10_python_dotenv_reads_back_the_same_text(tmp_path: Path, value: str) -> None:
    dotenv = pytest.importorskip("dotenv")
    file = tmp_path / "x.env"
    file.write_text(render(environment(env={"VALUE": value}), "dotenv") + "\n", encoding="utf-8")
    assert dotenv.dotenv_values(file, interpolate=False)["VALUE"] == value


@pytest.mark.parametrize("value", F10_VALUES)
def test_f10_json_and_ecs_keep_the_same_text(value: str) -> None:
    plain = environment(env={"VALUE": value}, secret_env={})
    assert json.loads(render(plain, "json"))["env"]["VALUE"] == value
    assert json.loads(render(plain, "ecs"))["environment"][0]["value"] == value
