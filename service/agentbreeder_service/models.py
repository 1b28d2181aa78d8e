"""What comes in and goes out: memory configs and messages, with their rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from agentbreeder_memory.settings import DEFAULT_PATTERN, MAX_TTL_S, MAX_WINDOW, checked_pattern
from substrate.connect.errors import StoreMisconfigured

SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$"
MAX_MESSAGE, MAX_BATCH, MAX_LINKED = 1_048_576, 500, 200  # bytes of a message's JSON; messages; agents
Name = Annotated[str, StringConstraints(pattern=SLUG)]
_ID = r"^[A-Za-z0-9_.@-]{1,128}$"
AgentId = Annotated[str, StringConstraints(pattern=_ID)]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Team = Annotated[str, StringConstraints(pattern=_ID)]
Backend = Literal["in_memory", "postgresql", "redis"]
MemoryType = Literal["buffer_window", "buffer"]
Scope = Literal["agent", "team", "global"]


_ROLE = r"^[a-z_]{1,32}$"
_RULES = {
    SLUG: "2 to 63 lower-case letters, digits and hyphens, with no hyphen at either end",
    _ID: "1 to 128 letters, digits and any of _ . @ -",
    _ROLE: "1 to 32 lower-case letters and _",
}


def problems_of(errors: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What pydantic found, by field ("" for all of it), in words for people and without what was sent."""
    found: dict[str, str] = {}
    for one in errors:
        place = [str(p) for p in one["loc"] if p not in ("body", "query", "path", "header")]
        text = str(one["msg"]).removeprefix("Value error, ")
        if one["type"] == "string_pattern_mismatch":
            text = f"this must be {_RULES[one['ctx']['pattern']]}"
        if one["type"] == "model_attributes_type":
            text = "the body is a JSON object, with the header Content-Type: application/json"
        if "content" in place:  # each kind that it may be says its own
            del place[place.index("content") + 1 :]
            text = text if one["type"] == "missing" else "this must be a text, a list or an object"
        found.setdefault(".".join(place), text)
    return found


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("an idempotency key is 1 to 190 printable characters")
    return value


IdempotencyKey = Annotated[str, StringConstraints(min_length=1, max_length=190), AfterValidator(_printable)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ConfigIn(_Strict):
    """A new memory config."""

    name: Name
    backend_type: Backend = "in_memory"
    memory_type: MemoryType = "buffer_window"
    max_messages: int = Field(default=100, ge=1, le=MAX_WINDOW)
    ttl_seconds: int | None = Field(default=None, ge=1, le=MAX_TTL_S)
    namespace_pattern: str = Field(default=DEFAULT_PATTERN, max_length=200)
    scope: Scope = "agent"
    linked_agents: list[AgentId] = Field(default_factory=list, max_length=MAX_LINKED)
    team: Team | None = None

    @field_validator("namespace_pattern")
    @classmethod
    def _pattern(cls, value: str) -> str:
        return _checked(value)

    @field_validator("name")
    @classmethod
    def _no_id(cls, value: str) -> str:
        if re.fullmatch(r"[0-9a-f]{32}", value):
            raise ValueError("a name does not have the form of an id, 32 hexadecimal digits")
        return value

    @model_validator(mode="after")
    def _buffer_keeps_all(self) -> ConfigIn:
        if self.memory_type == "buffer" and "max_messages" in self.model_fields_set:
            raise ValueError("max_messages is for buffer_window; buffer keeps all messages")
        return self


class ConfigPatch(_Strict):
    """Changes to one; what is left out stays. Name, team and namespace pattern never change: they say where messages are."""

    backend_type: Backend | None = None
    memory_type: MemoryType | None = None
    max_messages: int | None = Field(default=None, ge=1, le=MAX_WINDOW)
    ttl_seconds: int | None = Field(default=None, ge=1, le=MAX_TTL_S)
    scope: Scope | None = None
    linked_agents: list[AgentId] | None = Field(default=None, max_length=MAX_LINKED)


class Config(BaseModel):
    """A memory config as it is kept."""

    id: str
    team: str
    name: str
    backend_type: Backend = "in_memory"
    memory_type: MemoryType = "buffer_window"
    max_messages: int = 100
    ttl_seconds: int | None = None
    namespace_pattern: str = DEFAULT_PATTERN
    scope: Scope = "agent"
    linked_agents: list[str] = Field(default_factory=list)
    created_at: datetime
    updated_at: datetime

    @property
    def window(self) -> int:
        """How many messages of a session are kept; 0 for all."""
        return self.max_messages if self.memory_type == "buffer_window" else 0


class MessageIn(_Strict):
    """One message to keep."""

    session_id: SessionId
    role: Annotated[str, StringConstraints(pattern=_ROLE)]
    content: str | list[Any] | dict[str, Any]
    agent_id: AgentId | None = None
    user_id: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None
    run_id: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None
    metadata: dict[str, Any] | None = None
    idempotency_key: IdempotencyKey | None = None


class BatchIn(_Strict):
    """Messages of one session, kept all or none, in this order."""

    messages: list[MessageIn] = Field(min_length=1, max_length=MAX_BATCH)


def _checked(pattern: str) -> str:
    try:
        checked_pattern(pattern)
    except StoreMisconfigured as e:
        raise ValueError(str(e)) from None
    names = re.findall(r"\{(\w+)\}", pattern)
    if len(set(names)) != len(names) or not pattern.isprintable():
        raise ValueError("each placeholder stands once in a namespace pattern, which is printable")
    return pattern


def is_slug(text: str) -> bool:
    """Whether it could be a config's name."""
    return re.fullmatch(SLUG, text) is not None


def is_team(text: str) -> bool:
    """Whether it could be a team's or an agent's name."""
    return re.fullmatch(_ID, text) is not None
