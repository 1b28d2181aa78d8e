"""Every error a user can meet. Each class has a fixed summary (searchable in docs/errors.md) and an exit code.

`detail` says what happened, on which thing and where it was found; `hint` is one command to copy or one thing to do.
Neither ever holds a secret. The SDK's own exception travels as `__cause__`, never inside the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault in one file. `line` and `column` count from 1; 0 means the whole file. `key` is a dotted path."""

    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""

    def where(self) -> str:
        """`file:line:column`, shortened to what is known."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


class AgentBreederError(Exception):
    """Base of every error this product raises on purpose."""

    summary: ClassVar[str] = "agentbreeder failed"
    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str = "", *, hint: str = "") -> None:
        super().__init__(detail or self.summary)
        self.detail = detail
        self.hint = hint

    @property
    def code(self) -> str:
        """The stable name scripts may match on: the class name."""
        return type(self).__name__


class ConfigError(AgentBreederError):
    """A file or an option the user wrote is wrong. Nothing was made or changed."""

    summary = "the configuration is not valid"
    exit_code = 2

    def __init__(self, detail: str = "", *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(detail, hint=hint)
        self.problems = tuple(problems)


class ConfirmationNeeded(ConfigError):
    """A change needs a yes, and nobody is there to give it."""

    summary = "this needs confirmation"


class MemoryConfigRefused(ConfigError):
    """A named memory config is not there, may not be changed, or the memory service cannot be asked."""

    summary = "the memory config cannot be had"


class CloudError(AgentBreederError):
    """The cloud refused or failed. State is kept; a rerun resumes."""

    summary = "the cloud refused or failed"
    exit_code = 1


class AuthError(CloudError):
    """Credentials are missing, expired, for another account, or not allowed to do this."""

    summary = "the cloud did not accept the credentials"
    exit_code = 3


class QuotaError(CloudError):
    """A limit, a capacity shortage or throttling that outlasted every retry."""

    summary = "a cloud limit was reached"


class NameTaken(CloudError):
    """A resource of the name we would use exists and is not this agent's."""

    summary = "a resource with this name exists and is not ours"


class ResourceFailed(CloudError):
    """The cloud accepted the resource and then reported that it failed."""

    summary = "the cloud reports that the resource failed"


class Drifted(CloudError):
    """The cloud differs from the record, or the request differs from what was made."""

    summary = "the cloud differs from what is recorded"


class StepTimeout(CloudError):
    """A step took longer than its limit. What exists is recorded; a rerun goes on waiting."""

    summary = "a step took too long"


class PreflightFailed(CloudError):
    """Read-only checks found problems. Nothing was created."""

    summary = "checks before the first change found problems"
    exit_code = 4

    def __init__(self, detail: str = "", *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(detail, hint=hint)
        self.problems = tuple(problems)


class TeardownIncomplete(CloudError):
    """Teardown went as far as it could; something remains, recorded."""

    summary = "teardown is not complete"


class ProtectionOn(CloudError):
    """Deletion protection is on. Nothing was deleted."""

    summary = "deletion protection is on"


class StateError(AgentBreederError):
    """The state file cannot be read, trusted or written. It was not overwritten."""

    summary = "the state file cannot be used"
    exit_code = 5


class StateMissing(StateError):
    """There is no record where one is needed."""

    summary = "there is no state"


class LockHeld(StateError):
    """Another process is working on the same agent or file."""

    summary = "another run holds the lock"


class StateConflict(StateError):
    """The state changed under us, or belongs to another lineage."""

    summary = "the state file changed since it was read"


class StateTooNew(StateError):
    """A newer version of the product wrote this state."""

    summary = "the state file is from a newer version"


class MissingExtra(AgentBreederError):
    """An optional dependency is needed and not installed."""

    summary = "an optional package is not installed"
    exit_code = 6


class Interrupted(AgentBreederError):
    """The run was stopped by a signal. State is saved; a rerun resumes."""

    summary = "the run was interrupted"
    exit_code = 130
