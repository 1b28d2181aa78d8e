"""`agentbreeder demo`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..mode import Mode
from ..options import common_options

if TYPE_CHECKING:
    from ..demo.scenes import Scene

EXIT_FAILED = 1
SPEED = 90.0


@click.command("demo")
@click.option(
    "--cloud",
    type=click.Choice(["aws", "gcp", "azure", "all"]),
    default="all",
    show_default=True,
    help="Which cloud to stand in for; all: one after the other.",
)
@click.option("--keep", is_flag=True, help="Keep the folder with the agent files and the state.")
@common_options
@click.pass_obj
def command(mode: Mode, cloud: str, keep: bool) -> None:
    """See the whole story on a sandbox, cloud by cloud.

    Plan, deploy, env, deploy again, a kill in the middle and its repair, teardown; and what stands in the account before
    and after. Runs on this machine in a folder of its own and needs no account. Exit code 1 if anything is not as told.

    \b
    Example:
      agentbreeder demo --cloud gcp --keep
    """
    from agentbreeder_core.clock import SystemClock

    from ..demo.scenes import SCENES
    from ..views import demo as view

    clock = SystemClock()
    begun = clock.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="agentbreeder-demo-"))
    checks: dict[str, bool] = {}
    try:
        for scene in SCENES.values() if cloud == "all" else [SCENES[cloud]]:
            checks |= _play(mode, folder, scene)
    finally:
        if not keep:
            shutil.rmtree(folder)
    seconds, kept = clock.monotonic() - begun, str(folder) if keep else ""
    failed = [what for what, ok in checks.items() if not ok]
    if mode.json:
        view.end_json(checks, seconds, kept)
    else:
        view.end(failed, seconds, kept)
    if failed:
        raise click.exceptions.Exit(EXIT_FAILED)


def _play(mode: Mode, folder: Path, scene: Scene) -> dict[str, bool]:
    """One cloud's story; its expectations and whether they held."""
    from agentbreeder_sandbox.servers.plane import DataPlane

    from ..demo.chapters import play
    from ..demo.stage import Stage
    from ..in_sandbox import running
    from ..views import demo as view

    own = folder / scene.cloud
    own.mkdir()
    if not mode.json:
        view.title(scene.title)
    with DataPlane() as plane, running(scene.cloud, speed=SPEED, region=scene.region) as sandbox:
        sandbox.attach(plane)
        stage = Stage(mode=mode, folder=own, sandbox=sandbox, scene=scene, plane=plane)
        play(stage)
    return stage.checks
