"""`agentbreeder teardown`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..mode import Mode
from ..options import agent_argument, common_options, lock_wait_option, state_here_option, timeout_option, yes_option

if TYPE_CHECKING:
    from agentbreeder_provisioners import Teardown

    from ..views.progress import Progress


@click.command("teardown")
@agent_argument()
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@click.option("--unused", is_flag=True, help="Delete only what the agent file stopped asking for.")
@click.option(
    "--final-snapshot",
    is_flag=True,
    help="Keep a last snapshot of each database. It is never deleted for you. Refused on Azure, which keeps none.",
)
@click.option(
    "--purge",
    is_flag=True,
    help="Azure: also give up the recovery time of a vault that deploy made, so that its name is free at once.",
)
@yes_option
@timeout_option
@lock_wait_option
@state_here_option
@common_options
@click.pass_obj
def command(
    mode: Mode,
    agent: str,
    dry_run: bool,
    unused: bool,
    final_snapshot: bool,
    purge: bool,
    yes: bool,
    timeout_s: float | None,
    lock_wait_s: float,
    project_dir: Path | None,
) -> None:
    """Delete everything that deploy made for an agent.

    Works from the state file alone; agent.yaml is not read. Data is lost unless --final-snapshot is given. Asks for the
    agent's name unless --yes. Goes on past failures; what remains stays recorded, and the exit code says so.

    \b
    Example:
      agentbreeder teardown support-bot --final-snapshot
    """
    from agentbreeder_core.clock import SystemClock
    from agentbreeder_provisioners import teardown

    from ..confirm import require_somebody
    from ..views import out
    from ..views.progress import progress
    from ..views.teardown import show

    if not dry_run:
        require_somebody(mode, yes=yes, what="teardown")
    clock = SystemClock()
    with progress(mode, clock) as sink:
        done = teardown(
            agent,
            project_dir=project_dir,
            on_event=sink,
            clock=clock,
            timeout_s=timeout_s,
            final_snapshot=final_snapshot,
            purge=purge,
            unused_only=unused,
            dry_run=dry_run,
            lock_wait_s=lock_wait_s,
            approve=None if yes else lambda planned: _approve(planned, sink),
        )
    if mode.json:
        out.document(done.to_json())
    else:
        show(done)


def _approve(planned: Teardown, progress: Progress) -> bool:
    from ..confirm import ask_to_type
    from ..views.teardown import show_before

    progress.pause()
    show_before(planned)
    return ask_to_type("This cannot be undone. Type the agent's name to delete it: ", planned.agent)
