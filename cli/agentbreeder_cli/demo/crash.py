"""A deploy in a process of its own, killed at the worst moment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentbreeder_sandbox.calls import ApiCall, Fault
    from agentbreeder_sandbox.standin import Sandbox

_LONGEST_S = 60.0


def deploy_and_kill(sandbox: Sandbox, agent_folder: Path, *, operation: str) -> int:
    """Run `agentbreeder deploy` and kill it (SIGKILL) once the cloud got the call `operation`, before the answer is out.

    The call is carried out, so the cloud then holds a resource whose id nobody has recorded. Returns the exit code.
    Blocks until the process is dead; raises `subprocess.TimeoutExpired` after a minute.
    """
    from agentbreeder_sandbox.calls import Fault

    # The hook may run before Popen has returned, so it waits for the process it is to kill.
    started = threading.Event()
    processes: list[subprocess.Popen[bytes]] = []

    def hook(call: ApiCall) -> Fault | None:
        if call.operation != operation:
            return None
        started.wait()
        processes[0].kill()
        processes[0].wait()
        return Fault(kind="drop_after")

    sandbox.on_call(hook)
    command = [sys.executable, "-m", "agentbreeder_cli", "deploy", str(agent_folder), "--yes", "--json"]
    variables = {**os.environ, **sandbox.network_env(), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    processes.append(process)
    started.set()
    try:
        return process.wait(_LONGEST_S)
    finally:
        process.kill()
        process.wait()
        sandbox.on_call(None)
