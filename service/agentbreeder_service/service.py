"""`MemoryService`: everything the service does, each method with its own check of who asks. Routes only translate."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from pydantic import ValidationError

from substrate.kernel.codec import dumps, new_id

from . import permissions as may
from .configs import ConfigStore
from .errors import BadCursor, Conflict, Forbidden, Invalid, NotFound
from .messages import Hit, MessageStore, Page, SessionRow, Stats, Stored
from .models import MAX_MESSAGE, Config, ConfigIn, ConfigPatch, MessageIn, is_slug
from .namespaces import all_of, around_agent, namespace, part_of, read_back
from .principals import ADMIN, Requesting

_REMEMBERED_S = 1.0
"""A change of a config made by another process counts from then on at the latest."""
Values = Mapping[str, str]


class MemoryService:
    """Configs and messages of every team. Each method takes who asks as `requesting_team`, `requesting_agent` and
    `requesting_roles`; one that is called for a team's config without a team raises `PermissionError`.

    Methods raise `ServiceError`s, and `StoreUnavailable` while the store cannot be reached.
    """

    def __init__(self, configs: ConfigStore, messages: MessageStore) -> None:
        self._configs, self._messages = configs, messages
        self._known: dict[tuple[str | None, str], tuple[float, Config]] = {}

    async def create_config(self, given: ConfigIn, **who: Unpack[Requesting]) -> Config:
        """In the caller's team. Raises `Conflict` for a name that it has already."""
        team = who["requesting_team"]
        if not team or who["requesting_agent"] or (given.team and given.team != team):
            raise Forbidden
        if given.scope == "global" and ADMIN not in who["requesting_roles"]:
            raise Forbidden
        return await self._configs.create(given, team)

    async def config(self, name_or_id: str, **who: Unpack[Requesting]) -> Config:
        """By name the team's own first; what is no business of the caller is not there."""
        team = who["requesting_team"]
        known = self._known.get((team, name_or_id))
        if known is not None and known[0] > time.monotonic():
            found = known[1]
        else:
            found = await self._find(name_or_id, team)
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[team, name_or_id] = (time.monotonic() + _REMEMBERED_S, found)
        may.check_visible(found, team, who["requesting_roles"])
        return found

    async def configs(self, after: str, limit: int, **who: Unpack[Requesting]) -> list[Config]:
        """The team's own and the global ones, by id."""
        team = who["requesting_team"]
        if not team:
            raise Forbidden
        return await self._configs.list_visible(team, after, limit)

    async def change_config(self, name_or_id: str, patch: ConfigPatch, **who: Unpack[Requesting]) -> Config:
        """What the patch names. Raises `Conflict` for messages that would be hidden by another scope."""
        config = await self._for_change(name_or_id, who)
        changes = patch.model_dump(exclude_unset=True)
        if changes.get("scope") == "global" and ADMIN not in who["requesting_roles"]:
            raise Forbidden
        try:
            ConfigIn(**_checked(config, changes))
        except ValidationError as e:
            first = e.errors()[0]
            raise Invalid("invalid", str(first["msg"]).removeprefix("Value error, ")) from None
        if changes.get("scope", config.scope) != config.scope and (await self._count(config)).sessions:
            raise Conflict(
                "not_empty",
                "the scope says where messages are: make another config, or delete them first",
                field="scope",
            )
        if config.window and changes.keys() & {"max_messages", "memory_type"}:
            await self._messages.trim(all_of(config), config.window)
        changed = await self._configs.change(config, changes) if changes else config
        self._known.clear()
        if changed is None:
            raise NotFound(may.WHAT)
        return changed

    async def delete_config(self, name_or_id: str, **who: Unpack[Requesting]) -> int:
        """With all its messages; how many these were."""
        config = await self._for_change(name_or_id, who)
        gone = await self._messages.delete_part(all_of(config))
        await self._configs.delete(config)
        self._known.clear()
        return gone

    async def append(self, name_or_id: str, messages: Sequence[MessageIn], **who: Unpack[Requesting]) -> list[Stored]:
        """Messages of one session, all or none, in this order; those of a known idempotency key stay as they were, and
        come back so."""
        config = await self.config(name_or_id, **who)
        first = messages[0]
        if any(
            (m.session_id, m.agent_id, m.user_id) != (first.session_id, first.agent_id, first.user_id) for m in messages
        ):
            raise Invalid("several_sessions", "the messages of one batch are of one session, agent and user")
        values = await self._place(config, first.session_id, first.agent_id or "", first.user_id or "", who)
        may.check_write(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"], values)
        where = namespace(config, values)
        if who["requesting_agent"] and config.scope != "agent" and ADMIN not in who["requesting_roles"]:
            values["agent_id"] = who["requesting_agent"]  # whoever it says it is
        ids, payloads = _encoded(config, messages, values)
        kept = await self._messages.append(where, ids, payloads, config.ttl_seconds or 0, config.window)
        order = {message_id: n for n, message_id in enumerate(ids)}
        return sorted(kept, key=lambda m: order[m.id])

    async def page(
        self,
        name_or_id: str,
        session_id: str,
        agent_id: str,
        user_id: str,
        before: int | None,
        limit: int,
        **who: Unpack[Requesting],
    ) -> Page:
        """The newest before a number, oldest first."""
        config = await self.config(name_or_id, **who)
        values = await self._place(config, session_id, agent_id, user_id, who)
        may.check_read(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"], values)
        return await self._messages.page(namespace(config, values), before, limit, config.window)

    async def sessions(
        self, name_or_id: str, after: str, limit: int, **who: Unpack[Requesting]
    ) -> list[tuple[dict[str, str], SessionRow]]:
        """With what each session's namespace was made of. Raises `BadCursor`."""
        config = await self.config(name_or_id, **who)
        part = may.readable(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"])
        if after and not after.startswith(part.prefix):
            raise BadCursor("bad_cursor", "this cursor is of another list", field="cursor")
        rows = await self._messages.sessions(part, after or part.prefix, limit, config.window)
        return [(read_back(config, row.namespace), row) for row in rows]

    async def delete_session(
        self, name_or_id: str, session_id: str, agent_id: str, user_id: str, **who: Unpack[Requesting]
    ) -> None:
        """Raises `NotFound` when there is none."""
        config = await self.config(name_or_id, **who)
        values = await self._place(config, session_id, agent_id, user_id, who)
        may.check_write(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"], values)
        if not await self._messages.delete_session(namespace(config, values)):
            raise NotFound("session")

    async def search(
        self, name_or_id: str, query: str, limit: int, **who: Unpack[Requesting]
    ) -> list[tuple[dict[str, str], Hit]]:
        """The best first, across the sessions that the caller may read."""
        config = await self.config(name_or_id, **who)
        part = may.readable(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"])
        hits = await self._messages.search(part, query.replace("\x00", " "), limit, config.window)
        return [(read_back(config, hit.namespace), hit) for hit in hits]

    async def stats(self, name_or_id: str, **who: Unpack[Requesting]) -> tuple[Config, Stats]:
        """Of the sessions that the caller may read."""
        config = await self.config(name_or_id, **who)
        part = may.readable(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"])
        return config, await self._messages.stats(part, config.window)

    async def forget_user(self, user_id: str, **who: Unpack[Requesting]) -> int:
        """Every message of a user, in every config that the caller may write; how many. For an agent that is its own."""
        team, agent, roles = who["requesting_team"], who["requesting_agent"], who["requesting_roles"]
        if not team:
            raise Forbidden
        gone, after = 0, ""
        while page := await self._configs.list_visible(team, after, 100):
            for config in page:
                values = {"agent_id": agent} if agent else {}
                try:
                    may.check_write(config, team, agent, roles, values)
                except Forbidden:
                    continue
                own = values if config.scope == "agent" and not may.is_admin(config, team, roles) else {}
                if "{user_id}" in config.namespace_pattern:
                    gone += await self._messages.delete_part(part_of(config, {**own, "user_id": user_id}))
                gone += await self._messages.forget(part_of(config, own), user_id, config.window)
            after = page[-1].id
        return gone

    async def _for_change(self, name_or_id: str, who: Requesting) -> Config:
        config = await self.config(name_or_id, **who)
        may.check_change(config, who["requesting_team"], who["requesting_agent"], who["requesting_roles"])
        return config

    async def _count(self, config: Config) -> Stats:
        return await self._messages.stats(all_of(config), 0, primary=True)

    async def _find(self, name_or_id: str, team: str | None) -> Config:
        if not is_slug(name_or_id):
            raise NotFound(may.WHAT)  # an id has the form of a name too
        named = await self._configs.by_name(name_or_id)
        own = [c for c in named if c.team == team]
        shared = [c for c in named if c.scope == "global"] + [c for c in named if c.scope == "team"]
        # An id before the name of somebody else's: a name may have the form of an id.
        found = next(iter(own), None) or await self._configs.by_id(name_or_id) or next(iter(shared), None)
        if found is None:
            raise NotFound(may.WHAT)
        return found

    async def _place(self, config: Config, session: str, agent: str, user: str, who: Requesting) -> dict[str, str]:
        """What the namespace is made of. An agent speaks for itself unless it says otherwise; for a person who does not say
        which agent, it is the one that has this session, or else the config's own name."""
        values = {"session_id": session, "user_id": user, "agent_id": agent or who["requesting_agent"]}
        if values["agent_id"] or config.scope != "agent" or "{agent_id}" not in config.namespace_pattern:
            return {k: v for k, v in values.items() if v}
        given = {k: v for k, v in values.items() if v}
        found = await self._messages.ending(*around_agent(config, given), 2)
        if len(found) > 1:
            raise Invalid("ambiguous", "several agents have this session: give agent_id", field="agent_id")
        owner = read_back(config, found[0]).get("agent_id", "") if found else ""
        return {**given, "agent_id": owner or config.name}


def _checked(config: Config, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The config as it would be, for the rules of a new one; a buffer has no number of messages."""
    whole = {k: v for k, v in config.model_dump().items() if k in ConfigIn.model_fields} | dict(changes)
    if whole["memory_type"] == "buffer" and "max_messages" not in changes:
        del whole["max_messages"]
    return whole


def _encoded(config: Config, messages: Sequence[MessageIn], values: Values) -> tuple[list[str], list[str]]:
    ids, payloads = [], []
    for message in messages:
        message_id = f"key:{message.idempotency_key}" if message.idempotency_key else new_id()
        kept = {"id": message_id, **message.model_dump(exclude={"idempotency_key"}, exclude_none=True)}
        if "agent_id" in values:
            kept["agent_id"] = values["agent_id"]
        try:
            payloads.append(dumps(kept).decode())
        except ValueError as e:
            raise Invalid("unstorable", str(e), field="content") from None
        if len(payloads[-1].encode()) > MAX_MESSAGE:
            raise Invalid("too_long", f"a message has at most {MAX_MESSAGE} bytes of JSON", field="content")
        ids.append(message_id)
    if len(set(ids)) != len(ids):
        raise Invalid("duplicate_key", "an idempotency key stands twice in one batch", field="idempotency_key")
    return ids, payloads
