"""What every chapter of the demo uses: the sandbox, the folder, and a list of expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..mode import Mode
from ..views import demo as view

if TYPE_CHECKING:
    from agentbreeder_provisioners import Deployment, Teardown
    from agentbreeder_sandbox.servers.plane import DataPlane
    from agentbreeder_sandbox.standin import Sandbox

    from .scenes import Scene


@dataclass(slots=True, kw_only=True)
class Stage:
    """`checks` maps each expectation to whether it held. With `--json` nothing but events and the end is printed."""

    mode: Mode
    folder: Path
    sandbox: Sandbox
    scene: Scene
    plane: DataPlane
    checks: dict[str, bool] = field(default_factory=dict)
    chapters: int = 0

    @property
    def quiet(self) -> bool:
        return self.mode.json

    def chapter(self, text: str, *explanation: str) -> None:
        """Begin a numbered chapter."""
        self.chapters += 1
        if not self.quiet:
            view.heading(self.chapters, text)
            for sentence in explanation:
                view.explain(sentence)

    def say(self, text: str) -> None:
        """A sentence in between."""
        if not self.quiet:
            view.explain(text)

    def command(self, line: str) -> None:
        """Show the equivalent command."""
        if not self.quiet:
            view.command(line)

    def expect(self, what: str, ok: bool) -> None:
        """Note an expectation; the demo goes on and fails at its end."""
        self.checks[f"{self.scene.cloud}: {what}"] = ok
        if not self.quiet:
            view.verdict(what, ok)

    def inventory(self) -> dict[str, list[str]]:
        """What stands in the account, without what only waits out its recovery time."""
        return self.sandbox.standing()

    def waiting(self) -> Sequence[str]:
        """Deleted names that the cloud still holds."""
        found = self.sandbox.inventory()
        return [name for kind in self.scene.waiting for name in found.get(kind, ())]

    def show_inventory(self, found: Mapping[str, Sequence[str]]) -> None:
        """Print it."""
        if not self.quiet:
            view.inventory(found)

    def deploy(self, agent: str) -> Deployment:
        """Deploy one of the demo's agents in this process, with progress."""
        from agentbreeder_provisioners import deploy

        from ..views.progress import progress

        self.command(f"agentbreeder deploy {agent} --yes")
        with progress(self.mode, self.sandbox.clock) as sink:
            return deploy(
                self.folder / agent,
                on_event=sink,
                clock=self.sandbox.clock,
                network_env=self.sandbox.network_env(),
            )

    def say_to(self, agent: str, text: str, *, kill: bool = False) -> list[str]:
        """Say something to the agent in a process of its own, and show what it answered."""
        from .conversation import say

        self.command(f'agentbreeder run {agent} -- python -m agentbreeder_cli.demo.talk "{text}"')
        lines = say(agent, self.folder / agent, text, self.plane, kill=kill)
        for line in lines:
            self.say(line)
        return lines

    def teardown(self, agent: str) -> Teardown:
        """Tear one down, with progress."""
        from agentbreeder_provisioners import teardown

        from ..views.progress import progress

        self.command(f"agentbreeder teardown {agent} --yes --project-dir {agent}")
        with progress(self.mode, self.sandbox.clock) as sink:
            return teardown(agent, project_dir=self.folder / agent, on_event=sink, clock=self.sandbox.clock)
