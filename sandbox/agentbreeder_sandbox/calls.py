"""One API call as a stand-in received it, and what may go wrong with it. The same for every cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One request as it came over the wire. `index` counts from 1 since the last reset; `read` changes nothing.

    `service` and `operation` are the cloud's own names. `params` is what the request said: flat for AWS's query
    protocols (`Tags.Tag.1.Key`), the JSON document (or nothing) for all others.
    """

    index: int
    service: str
    operation: str
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to a call instead of an answer.

    `drop_before`: the connection breaks and nothing was applied. `drop_after`: it was applied and the reply is lost.
    `hang`: nothing was applied and no answer comes, until the sandbox is reset or stopped.
    `reject`: refused with `code` and `message`, in the cloud's own error shape.
    """

    kind: Literal["drop_before", "drop_after", "hang", "reject"]
    code: str = "Throttling"
    message: str = "Rate exceeded"
    status: int = 400


Hook = Callable[[ApiCall], Fault | None]
