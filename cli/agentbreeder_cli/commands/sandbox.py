"""`agentbreeder sandbox`."""

from __future__ import annotations

import socket
import threading

import click

from ..mode import Mode
from ..options import common_options

_AN_HOUR_S = 3600.0


@click.command("sandbox")
@click.option(
    "--cloud",
    type=click.Choice(["aws", "gcp", "azure"]),
    default="aws",
    show_default=True,
    help="Which cloud to stand in for.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen here.  [default: any free port]"
)
@common_options
@click.pass_obj
def command(mode: Mode, cloud: str, port: int) -> None:
    """Run a stand-in for a cloud on this machine.

    It speaks the real wire protocol on 127.0.0.1, has a ready network, and prints the export lines that point deploy and
    teardown to it from another terminal. Stores take some seconds to be made, and real servers answer at their addresses
    (on Linux). Runs until Ctrl-C.

    \b
    Example:
      agentbreeder sandbox --cloud aws > sandbox.env &
      . ./sandbox.env && agentbreeder deploy agents/support-bot --yes
    """
    from agentbreeder_core.clock import SystemClock
    from agentbreeder_sandbox.servers.plane import DataPlane
    from agentbreeder_sandbox.standin import STAND_INS, sandbox_of

    from ..views.sandbox import show_exports, show_exports_json

    _refuse_taken(port)
    clock = SystemClock()
    with DataPlane() as plane, sandbox_of(cloud, clock, fast=True, port=port) as sandbox:
        sandbox.attach(plane)
        try:
            show = show_exports_json if mode.json else show_exports
            show(STAND_INS[cloud].title, sandbox.env())
            for_ever = threading.Event()
            while not clock.wait(for_ever, _AN_HOUR_S):
                pass
        except KeyboardInterrupt:
            return  # how it is meant to end


def _refuse_taken(port: int) -> None:
    """The server's own answer to a taken port is to exit; ours is an error."""
    from agentbreeder_core.errors import ConfigError

    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as e:
        raise ConfigError(f"cannot listen on 127.0.0.1:{port}: {e.strerror}", hint="choose another --port") from e
