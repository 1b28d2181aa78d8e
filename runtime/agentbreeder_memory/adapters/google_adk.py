"""A `BaseSessionService` for Google ADK: `Runner(..., session_service=AgentBreederSessionService(memory))`.

Events are messages of the manager's log, in its order and with its window; state is kept beside it, per session, user and
app, so that an event that leaves the window does not take state with it. Appending needs no version of the session, so two
writers never get a `StaleSessionError`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from agentbreeder_core.namespaces import escape
from substrate.kernel.codec import new_id

from ..manager import MemoryManager
from ..state import FieldStore, state_store

_APP, _USER, _TEMP = State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX
# Fields of a session's record; what the agent itself keeps there begins with "=".
_CREATED, _CHANGED, _APPLIED, _LISTED, _LOG = "created", "changed", "applied", "listed", "log"
_RELIST = 0.25  # of the TTL: a session in use is listed anew that often, so that the list lives as long as it does


class AgentBreederSessionService(BaseSessionService):  # type: ignore[misc]
    """Sessions in the store of `memory`. Its own connection for state is made at the first call; `close` lets go of it.

    An event is acknowledged when it and the state it changes are kept. When the process dies between the two, the next
    `get_session` applies what the event says. Methods raise what `MemoryManager` raises.
    """

    def __init__(self, memory: MemoryManager, state: FieldStore | None = None) -> None:
        self._memory = memory
        self._state = state or state_store(memory.settings)
        self._connected, self._connecting = False, asyncio.Lock()

    async def close(self) -> None:
        """Let go of the connections for state; the manager is its owner's to close."""
        self._connected = False
        await self._state.disconnect()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Raises `AlreadyExistsError` for an id that is taken."""
        store = await self._ready()
        name = (session_id or "").strip() or new_id()
        place, now, log = self._place(app_name, user_id, name), time.time(), new_id()
        given = to_jsonable_python(state or {})
        record = {f"={k}": v for k, v in given.items() if not k.startswith((_APP, _USER, _TEMP))}
        # Its events are under a name of their own, so that none of an earlier session of this id is among them.
        record |= {_CREATED: now, _CHANGED: now, _LISTED: now, _LOG: log}
        if not await store.create_state(place, record) and (await store.get_state(place)).get(_LOG) != log:
            raise AlreadyExistsError(f"Session with id {name} already exists.")
        await self._shared(app_name, user_id, given)
        await self._list(app_name, user_id, name)
        found = await self.get_session(app_name=app_name, user_id=user_id, session_id=name)
        if found is None:
            raise SessionNotFoundError(f"Session {name} was deleted while it was made.")
        return found

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """With its newest events; None when there is none."""
        store = await self._ready()
        place = self._place(app_name, user_id, session_id)
        record, state = await asyncio.gather(store.get_state(place), self._merged(app_name, user_id))
        if _CREATED not in record:
            return None
        wanted = config.num_recent_events if config else None
        events = await self._events(record, user_id, wanted)
        await self._keep_alive(app_name, user_id, session_id, record)
        state |= _own(record)
        state |= _not_applied(events, record.get(_APPLIED))
        if wanted == 0:
            events = []
        if config and config.after_timestamp:
            events = [e for e in events if e.timestamp >= config.after_timestamp]
        return Session(
            id=session_id,
            app_name=app_name,
            user_id=user_id,
            state=state,
            events=events,
            last_update_time=record.get(_CHANGED, record[_CREATED]),
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Without events; the one that changed last comes last."""
        store = await self._ready()
        users = [user_id] if user_id is not None else list(await store.get_state(self._place(app_name, scope="users")))
        found = await asyncio.gather(*(self._of_user(app_name, user) for user in users))
        sessions = sorted(
            (s for of_user in found for s in of_user), key=lambda s: (s.last_update_time, s.user_id, s.id)
        )
        return ListSessionsResponse(sessions=sessions)

    async def _of_user(self, app: str, user: str) -> list[Session]:
        store = await self._ready()
        names, shared = await asyncio.gather(
            store.get_state(self._place(app, user, scope="sessions")), self._merged(app, user)
        )
        records = await asyncio.gather(*(store.get_state(self._place(app, user, name)) for name in names))
        return [
            Session(id=name, app_name=app, user_id=user, state=shared | _own(record), last_update_time=record[_CHANGED])
            for name, record in zip(names, records, strict=True)
            if _CREATED in record
        ]

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Its events and its own state; what belongs to the user or the app stays."""
        store = await self._ready()
        place = self._place(app_name, user_id, session_id)
        record = await store.get_state(place)
        if _LOG in record:
            await self._memory.clear(record[_LOG], user_id=user_id)
        await store.clear(place)
        await store.remove(self._place(app_name, user_id, scope="sessions"), [session_id])

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Without the prefix `user:`."""
        found: dict[str, Any] = await (await self._ready()).get_state(self._place(app_name, user_id))
        return found

    async def append_event(self, session: Session, event: Event) -> Event:
        """Kept first, then shown in `session`. Raises `SessionNotFoundError` when the session was deleted."""
        if event.partial:
            return event
        store = await self._ready()
        app, user, name = session.app_name, session.user_id, session.id
        place = self._place(app, user, name)
        before = await store.get_state(place)
        if _CREATED not in before:
            raise SessionNotFoundError(f"Session {name} does not exist.")
        kept = event.model_dump(mode="json", exclude_none=True)
        actions = kept.get("actions", {})
        delta = {k: v for k, v in actions.get("state_delta", {}).items() if not k.startswith(_TEMP)}
        if "state_delta" in actions:
            actions["state_delta"] = delta
        mine = await self._shared(app, user, delta)
        await self._memory.append(before[_LOG], {"id": f"event:{event.id}", "event": kept}, user_id=user)
        record = {f"={k}": v for k, v in mine.items()} | {_CHANGED: event.timestamp, _APPLIED: event.id}
        await store.update_state(place, record)
        await self._keep_alive(app, user, name, before)
        session.last_update_time = event.timestamp
        appended: Event = await super().append_event(session, event)
        return appended

    async def _keep_alive(self, app: str, user: str, name: str, record: dict[str, Any]) -> None:
        """Use renews everything that the session is made of; and now and then it is listed anew, should a list have gone."""
        ttl, now = self._memory.settings.ttl_s, time.time()
        if not ttl:
            return
        store, place = await self._ready(), self._place(app, user, name)
        if now - record.get(_LISTED, 0) > ttl * _RELIST:
            await asyncio.gather(store.update_state(place, {_LISTED: now}), self._list(app, user, name))
        own = (place, self._place(app, user), self._place(app, user, scope="sessions"))
        shared = (self._place(app, scope="state"), self._place(app, scope="users"))
        await asyncio.gather(*(store.refresh_ttl(p) for p in (*own, *shared)))

    async def _events(self, record: dict[str, Any], user: str, wanted: int | None) -> list[Event]:
        # With none wanted the newest is read all the same: its state may not have been applied.
        limit = None if wanted is None else max(1, wanted)
        found = await self._memory.load(record[_LOG], limit, user_id=user)
        return [Event.model_validate(m["event"]) for m in found]

    async def _shared(self, app: str, user: str, delta: dict[str, Any]) -> dict[str, Any]:
        """Keep what belongs to the app and the user, and return what is the session's own."""
        store = await self._ready()
        of_app = {k.removeprefix(_APP): v for k, v in delta.items() if k.startswith(_APP)}
        of_user = {k.removeprefix(_USER): v for k, v in delta.items() if k.startswith(_USER)}
        if of_app:
            await store.update_state(self._place(app, scope="state"), of_app)
        if of_user:
            await store.update_state(self._place(app, user), of_user)
        return {k: v for k, v in delta.items() if not k.startswith((_APP, _USER, _TEMP))}

    async def _merged(self, app: str, user: str) -> dict[str, Any]:
        store = await self._ready()
        places = (self._place(app, scope="state"), self._place(app, user))
        of_app, of_user = await asyncio.gather(*(store.get_state(p) for p in places))
        return {_APP + k: v for k, v in of_app.items()} | {_USER + k: v for k, v in of_user.items()}

    async def _list(self, app: str, user: str, name: str) -> None:
        store = await self._ready()
        await asyncio.gather(
            store.update_state(self._place(app, scope="users"), {user: 1}),
            store.update_state(self._place(app, user, scope="sessions"), {name: 1}),
        )

    def _place(self, app: str, user: str = "", session: str = "", *, scope: str = "") -> str:
        """Of a session or a user's state; `scope` tells an app's own state and the lists of users and sessions apart. In
        front stands what keeps this agent's conversations apart from others': its name, team and memory config."""
        parts = (self._memory.owner, "adk", app, user, session)
        return ":".join(escape(p) for p in parts) + (f":%{scope}" if scope else "")

    async def _ready(self) -> FieldStore:
        if not self._connected:
            async with self._connecting:
                if not self._connected:
                    await self._state.connect()
                self._connected = True
        return self._state


def _own(record: dict[str, Any]) -> dict[str, Any]:
    """What the agent keeps in a session's record."""
    return {k[1:]: v for k, v in record.items() if k.startswith("=")}


def _not_applied(events: list[Event], applied: str | None) -> dict[str, Any]:
    """What the events after the one applied last change in the session's own state."""
    newer = events
    for index, event in enumerate(events):
        if event.id == applied:
            newer = events[index + 1 :]
    deltas: dict[str, Any] = {}
    for event in newer:
        deltas |= (event.actions.state_delta or {}) if event.actions else {}
    return {k: v for k, v in deltas.items() if not k.startswith((_APP, _USER, _TEMP))}
