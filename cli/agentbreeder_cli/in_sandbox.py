"""Running against a stand-in for a cloud inside this process, with no way to reach a real account."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentbreeder_core.errors import ConfigError
from agentbreeder_resolver.network import NETWORK_VARIABLES

from .mode import Mode

if TYPE_CHECKING:
    from agentbreeder_provisioners import PlanResult
    from agentbreeder_sandbox.standin import Sandbox, StandIn

SPEED = 60.0


@contextmanager
def running(cloud: str, speed: float = SPEED, region: str = "") -> Iterator[Sandbox]:
    """A started sandbox, its clock `speed` times as fast as real time; this process's environment points to it."""
    from agentbreeder_sandbox.clocks import ScaledClock
    from agentbreeder_sandbox.standin import STAND_INS, sandbox_of

    clock = ScaledClock(speed=speed)
    with sandbox_of(cloud, clock, region=region) as sandbox, isolated(STAND_INS[cloud], sandbox.env()):
        yield sandbox


@contextmanager
def isolated(stand_in: StandIn, variables: dict[str, str]) -> Iterator[None]:
    """Replace every setting of that cloud in this process, so that no profile or endpoint leads to a real account."""
    before = dict(os.environ)
    for name in [n for n in os.environ if n.startswith(stand_in.prefixes)]:
        del os.environ[name]
    os.environ.update(variables)
    os.environ.update(stand_in.shut)
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
    from agentbreeder_sandbox.standin import STAND_INS

    from .views import deployment, out, sandbox
    from .views.progress import progress
    from .views.teardown import show as show_teardown

    plan = resolve_path(path, strict=strict)
    if plan.cloud not in STAND_INS:
        raise ConfigError(f"the sandbox stands in for {', '.join(STAND_INS)}, and this agent is for {plan.cloud}")
    with tempfile.TemporaryDirectory(prefix="agentbreeder-") as folder:
        copy = _copy_without_network(path, Path(folder))
        with running(plan.cloud, region=plan.region) as cloud:
            if not mode.json:
                sandbox.show_begin(STAND_INS[plan.cloud].title, cloud.endpoint_url, SPEED)
            with progress(mode, cloud.clock) as sink:
                done = deploy(
                    copy,
                    on_event=sink,
                    clock=cloud.clock,
                    timeout_s=timeout_s,
                    network_env=cloud.network_env(),
                    approve=lambda planned: _approve(planned, mode),
                )
            if not mode.json:
                deployment.show(done, "")
                sandbox.show_end()
            with progress(mode, cloud.clock) as sink:
                gone = teardown(plan.agent, project_dir=folder, on_event=sink, clock=cloud.clock)
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
    """A private copy of the agent file that leaves its network to the sandbox: the ids it names exist only in the real cloud."""
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
