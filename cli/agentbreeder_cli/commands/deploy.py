"""`agentbreeder deploy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..memory_configs import configs_for
from ..mode import Mode
from ..network import network_from_shell
from ..next_step import command_line, folder_of
from ..options import (
    common_options,
    file_argument,
    lock_wait_option,
    state_beside_file_option,
    strict_option,
    timeout_option,
    yes_option,
)

if TYPE_CHECKING:
    from agentbreeder_provisioners import PlanResult

    from ..views.progress import Progress


@click.command("deploy")
@file_argument
@click.option(
    "--sandbox",
    is_flag=True,
    help="Try it on a stand-in for the cloud inside this process; everything goes at the end.",
)
@click.option("--adopt", is_flag=True, help="Take over what another state of the same agent made (a lost state file).")
@click.option("--recreate-missing", is_flag=True, help="Make anew, empty, what somebody deleted in the cloud.")
@yes_option
@strict_option
@timeout_option
@lock_wait_option
@state_beside_file_option
@common_options
@click.pass_obj
def command(
    mode: Mode,
    path: Path,
    sandbox: bool,
    adopt: bool,
    recreate_missing: bool,
    yes: bool,
    strict: bool,
    timeout_s: float | None,
    lock_wait_s: float,
    project_dir: Path | None,
) -> None:
    """Make the stores an agent needs, and record them.

    PATH is an agent file, or a folder that holds agent.yaml. Every step is recorded before and after, so a deploy that
    was stopped, by Ctrl-C or a crash, goes on when run again; one that has nothing to do says "no changes". Network
    keys that the file leaves out (AWS_VPC_SUBNETS, GOOGLE_CLOUD_PROJECT, AZURE_SUBSCRIPTION_ID and their like) are
    taken from the shell.

    \b
    Example:
      agentbreeder deploy agents/support-bot --yes --timeout 3600
    """
    from agentbreeder_core.clock import SystemClock
    from agentbreeder_provisioners import deploy

    from ..views import deployment, out
    from ..views.progress import progress

    if sandbox:
        from ..in_sandbox import deploy_in_sandbox

        if adopt or recreate_missing or project_dir is not None:
            raise click.UsageError(
                "--sandbox keeps no state: --adopt, --recreate-missing and --project-dir do not fit it"
            )
        deploy_in_sandbox(mode, path, strict=strict, timeout_s=timeout_s)
        return
    from ..confirm import require_somebody

    require_somebody(mode, yes=yes, what="deploy")
    clock = SystemClock()
    with progress(mode, clock) as sink:
        done = deploy(
            path,
            on_event=sink,
            clock=clock,
            strict=strict,
            project_dir=project_dir,
            timeout_s=timeout_s,
            adopt=adopt,
            recreate_missing=recreate_missing,
            lock_wait_s=lock_wait_s,
            network_env=network_from_shell(),
            configs=configs_for(path, project_dir),
            approve=lambda planned: _approve(planned, mode, yes, sink),
        )
    if mode.json:
        out.document(done.to_json())
        return
    deployment.show(done, _next(done.planned, path, project_dir))


def _approve(planned: PlanResult, mode: Mode, yes: bool, progress: Progress) -> bool:
    from ..confirm import ask_yes
    from ..views.plan import changes_in_words, show_as_talk

    progress.pause()
    if not mode.json:
        show_as_talk(planned)
    return yes or ask_yes(f"Go on with {changes_in_words(planned)}?")


def _next(planned: PlanResult, path: Path, project_dir: Path | None) -> str:
    plan = planned.plan
    native = {"aws": "ecs", "gcp": "cloud-run", "azure": "container-apps"}.get(plan.cloud, "dotenv")
    return command_line("env", plan.agent, "--format", native, project_dir=folder_of(path, project_dir))
