"""What is said about the stand-in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from . import out


def show_begin(title: str, endpoint_url: str, speed: float) -> None:
    """Before a deploy inside the sandbox."""
    out.talk(f"Sandbox: a stand-in for {title} at {endpoint_url}, its clock runs {speed:.0f} times as fast.")
    out.talk("Its state is kept in a throw-away folder; no real account can be reached.\n")


def show_end() -> None:
    """Between the deploy and its teardown."""
    out.talk("\nThe sandbox ends with this command, so everything is torn down again:\n")


def show_exports(title: str, variables: Mapping[str, str]) -> None:
    """Lines for a shell, on stdout; how to use them, on stderr."""
    for name, value in variables.items():
        out.data(f"export {name}={shlex.quote(value)}")
    out.flush()
    out.talk(
        f"\nA stand-in for {title} is running. Paste these lines into another terminal, then use deploy and teardown there."
    )
    out.talk("Ctrl-C ends it, and everything in it is gone.")


def show_exports_json(_title: str, variables: Mapping[str, str]) -> None:
    """The same as one document."""
    out.document({"env": dict(variables)})
    out.flush()
