"""`agentbreeder demo`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from ..mode import Mode
from ..options import common_options

EXIT_FAILED = 1
SPEED = 90.0


@click.command("demo")
@click.option(
    "--cloud", type=click.Choice(["aws"]), default="aws", show_default=True, help="Which cloud to stand in for."
)
@click.option("--keep", is_flag=True, help="Keep the folder with the agent files and the state.")
@common_options
@click.pass_obj
def command(mode: Mode, cloud: str, keep: bool) -> None:
    """See the whole story on a sandbox, in under a minute.

    Plan, deploy, env, deploy again, a kill in the middle and its repair, teardown; and what stands in the account before
    and after. Runs on this machine in a folder of its own and needs no account. Exit code 1 if anything is not as told.

    \b
    Example:
      agentbreeder demo --keep
    """
    from agentbreeder_core.clock import SystemClock

    from ..demo.chapters import play
    from ..demo.stage import Stage
    from ..in_sandbox import running
    from ..views import demo as view

    clock = SystemClock()
    begun = clock.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="agentbreeder-demo-"))
    try:
        with running(speed=SPEED) as sandbox:
            stage = Stage(mode=mode, folder=folder, sandbox=sandbox)
            play(stage)
    finally:
        if not keep:
            shutil.rmtree(folder)
    seconds, kept = clock.monotonic() - begun, str(folder) if keep else ""
    failed = [what for what, ok in stage.checks.items() if not ok]
    if mode.json:
        view.end_json(stage.checks, seconds, kept)
    else:
        view.end(failed, seconds, kept)
    if failed:
        raise click.exceptions.Exit(EXIT_FAILED)
