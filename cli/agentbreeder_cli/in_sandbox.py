"""Running against the stand-in for AWS inside this process, with no way to reach a real account."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentbreeder_core.errors import ConfigError

from .mode import Mode
from .network import NETWORK_VARIABLES

if TYPE_CHECKING:
    from agentbreeder_provisioners import PlanResult
    from agentbreeder_sandbox.aws.server import AwsSandbox

SPEED = 60.0
DEFAULT_REGION = "us-east-1"


@contextmanager
def running(speed: float = SPEED, region: str = DEFAULT_REGION) -> Iterator[AwsSandbox]:
    """A started sandbox, its clock `speed` times as fast as real time; this process's environment points to it."""
    from agentbreeder_sandbox.aws.server import AwsSandbox
    from agentbreeder_sandbox.clocks import ScaledClock

    with AwsSandbox(clock=ScaledClock(speed=speed), region=region) as sandbox, isolated(sandbox.env()):
        yield sandbox


@contextmanager
def isolated(variables: dict[str, str]) -> Iterator[None]:
    """Replace every AWS setting of this process, so that no profile, config file or endpoint leads to a real account."""
    before = dict(os.environ)
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(variables)
    os.environ.update(AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def deploy_in_sandbox(mode: Mode, path: Path, *, strict: bool, timeout_s: float | None) -> None:
    """`deploy --sandbox`: deploy, show, tear down. The state lives in a folder that goes with the process."""
    from agentbreeder_provisioners import deploy, teardown
    from agentbreeder_resolver import resolve_path

    from .views import deployment, out, sandbox
    from .views.progress import progress
    from .views.teardown import show as show_teardown

    plan = resolve_path(path, strict=strict)
    if plan.cloud != "aws":
        raise ConfigError(f"the sandbox stands in for aws, and this agent is for {plan.cloud}")
    with tempfile.TemporaryDirectory(prefix="agentbreeder-") as folder:
        copy = _copy_without_network(path, Path(folder))
        with running(region=plan.region or DEFAULT_REGION) as aws:
            if not mode.json:
                sandbox.show_begin(aws.endpoint_url, SPEED)
            with progress(mode, aws.clock) as sink:
                done = deploy(
                    copy,
                    on_event=sink,
                    clock=aws.clock,
                    timeout_s=timeout_s,
                    network_env=aws.network_env(),
                    approve=lambda planned: _approve(planned, mode),
                )
            if not mode.json:
                deployment.show(done, "")
                sandbox.show_end()
            with progress(mode, aws.clock) as sink:
                gone = teardown(plan.agent, project_dir=folder, on_event=sink, clock=aws.clock)
    if mode.json:
        out.document({**done.to_json(), "teardown": gone.to_json()})
    else:
        show_teardown(gone)


def _approve(planned: PlanResult, mode: Mode) -> bool:
    """Nothing can be lost in a sandbox, so nobody is asked."""
    from .views.plan import show_as_talk

    if not mode.json:
        show_as_talk(planned)
    return True


def _copy_without_network(path: Path, folder: Path) -> Path:
    """A private copy of the agent file that leaves its network to the sandbox: the ids it names exist only in AWS."""
    import yaml

    file = path / "agent.yaml" if path.is_dir() else path
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    deploy = document.get("deploy") or {}
    variables = deploy.get("env_vars") or {}
    deploy["env_vars"] = {k: v for k, v in variables.items() if k not in NETWORK_VARIABLES}
    provision = (document.get("memory") or {}).get("provision") or {}
    provision.pop("network", None)
    copy = folder / "agent.yaml"
    copy.touch(mode=0o600)
    copy.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    configs = file.parent / "memory.yaml"
    if configs.exists():
        shutil.copyfile(configs, folder / "memory.yaml")
    return copy
