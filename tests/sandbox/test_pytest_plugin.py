"""The fixtures as users have them, and the page that shows them: what docs/ci.md says is run as it stands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from agentbreeder_core.errors import AgentBreederError, ResourceFailed
from agentbreeder_provisioners.results import Deployment
from agentbreeder_sandbox.aws.server import AwsSandbox
from agentbreeder_sandbox.calls import Fault

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
AGENT = "name: support\nmemory: {backend: postgresql}\ndeploy: {cloud: aws, region: us-east-1}\n"
Deploy = Callable[..., Deployment]


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def run_pytest(folder: Path, test: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A user's test file in a process of its own, with nothing of this project's configuration."""
    (folder / "test_agents.py").write_text(test, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(folder)]
    paths = os.pathsep.join(p for p in sys.path if p)
    environ = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


def test_the_tests_on_the_page_pass_as_they_stand(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "support" / "agent.yaml"
    agent.parent.mkdir(parents=True)
    agent.write_text(AGENT, encoding="utf-8")
    done = run_pytest(tmp_path, block("python"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (agent.parent / ".agentbreeder").exists()


def test_a_machine_that_is_set_up_for_a_real_account_and_a_proxy_does_no_harm(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        f"def test_it(deploy_agent):\n    assert deploy_agent({AGENT!r}).changed\n",
        AWS_PROFILE="production",
        AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true",
        AWS_ENDPOINT_URL_RDS="http://127.0.0.1:9",
        AWS_CONFIG_FILE="/nowhere",
        HTTP_PROXY="http://127.0.0.1:9",
        http_proxy="http://127.0.0.1:9",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_test_left_in_the_account_by_itself_fails_it(tmp_path: Path) -> None:
    test = (
        "import boto3\n"
        "def test_it(aws_sandbox, deploy_agent):\n"
        "    vpc = aws_sandbox.vpc_id\n"
        "    boto3.client('ec2').create_security_group(GroupName='left', Description='d', VpcId=vpc)\n"
    )
    done = run_pytest(tmp_path, test)
    assert "teardown left something in the stand-in" in done.stdout
    assert done.returncode == 1


def test_the_workflow_on_the_page_is_the_one_in_fixtures() -> None:
    text = block("yaml")
    assert text == (ROOT / "fixtures" / "ci" / "github-workflow.yml").read_text(encoding="utf-8")
    workflow: dict[Any, Any] = yaml.safe_load(text)
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert [shlex.split(c)[0] for c in commands] == ["pip", "agentbreeder", "pytest"]


def test_a_second_deploy_of_the_same_agent_makes_nothing(deploy_agent: Deploy) -> None:
    assert deploy_agent(AGENT).changed
    assert not deploy_agent(AGENT).changed


def test_a_file_keeps_its_folder_clean(deploy_agent: Deploy, tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT, encoding="utf-8")
    assert deploy_agent(file).changed
    assert not deploy_agent(str(file)).changed
    assert not (tmp_path / ".agentbreeder").exists()


def test_what_a_failed_deploy_left_is_cleaned_up_too(aws_sandbox: AwsSandbox, deploy_agent: Deploy) -> None:
    aws_sandbox.fail_next_create("rds", "incompatible-network")
    with pytest.raises(ResourceFailed):
        deploy_agent(AGENT)
    assert aws_sandbox.inventory()["db_instances"]


def test_a_deploy_that_was_refused_early_leaves_nothing_to_clean_up(deploy_agent: Deploy) -> None:
    with pytest.raises(AgentBreederError):
        deploy_agent(AGENT.replace("aws", "nowhere"))


def test_faults_and_protection_do_not_stand_in_the_way_of_cleaning_up(
    aws_sandbox: AwsSandbox, deploy_agent: Deploy
) -> None:
    deploy_agent(AGENT.replace("postgresql}", "postgresql, provision: {deletion_protection: true}}"))
    (found,) = boto3.client("rds").describe_db_instances()["DBInstances"]
    assert found["DeletionProtection"] is True
    aws_sandbox.on_call(lambda call: Fault(kind="reject", code="AccessDenied", status=403))
