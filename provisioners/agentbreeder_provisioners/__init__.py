"""How each cloud makes it, and the use-cases: `plan`, `deploy`, `teardown`, `status`, `environment`, `unlock`.

All of them block, are safe to call from several threads, print nothing and never exit the process. Every wait goes
through the `clock` they are given. They are imported when first asked for, so that a host pays only for what it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .deploying import deploy
    from .inspecting import environment, status, unlock
    from .planning import plan
    from .results import AgentStatus, Deployment, Environment, PlanResult, Teardown
    from .tearing_down import teardown

__all__ = [
    "AgentStatus",
    "Deployment",
    "Environment",
    "PlanResult",
    "Teardown",
    "deploy",
    "environment",
    "plan",
    "status",
    "teardown",
    "unlock",
]


def __getattr__(name: str) -> Any:
    if name == "plan":
        from .planning import plan

        return plan
    if name == "deploy":
        from .deploying import deploy

        return deploy
    if name == "teardown":
        from .tearing_down import teardown

        return teardown
    if name in ("environment", "status", "unlock"):
        from . import inspecting

        return {"environment": inspecting.environment, "status": inspecting.status, "unlock": inspecting.unlock}[name]
    if name in ("AgentStatus", "Deployment", "Environment", "PlanResult", "Teardown"):
        from . import results

        return vars(results)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
