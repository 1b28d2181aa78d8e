"""Memory configs as the command reaches them: in a file of the project, or through the service. The same calls either way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError

from agentbreeder_core.errors import ConfigError, MemoryConfigRefused
from substrate.connect.errors import StoreUnavailable

from . import migrate
from .api.configs import shown
from .configs import ConfigStore
from .database import Database
from .errors import Forbidden, NotFound, ServiceError
from .models import ConfigIn, ConfigPatch, is_slug, is_team, problems_of
from .principals import ADMIN, Requesting
from .service import MemoryService
from .settings import is_safe
from .sqlite_messages import SqliteMessages

T = TypeVar("T")
Fields = Mapping[str, Any]


class ConfigAccess(Protocol):
    """Blocking. Raises `ConfigError` with what the service says; `show` and the others take a name or an id."""

    @property
    def location(self) -> str:
        """Where they are, for messages."""
        ...

    def team(self) -> str:
        """Whose configs are made and changed."""
        ...

    def create(self, fields: Fields) -> dict[str, Any]:
        """Make one."""
        ...

    def list_all(self) -> list[dict[str, Any]]:
        """Every one of the team, and the global ones."""
        ...

    def find(self, name: str) -> dict[str, Any] | None:
        """One, or None when there is none for this team."""
        ...

    def show(self, name: str) -> dict[str, Any]:
        """One. Raises where `find` answers None."""
        ...

    def update(self, name: str, changes: Fields) -> dict[str, Any]:
        """Change what is named."""
        ...

    def delete(self, name: str) -> int:
        """Delete it with its messages; how many these were."""
        ...


class LocalConfigs:
    """In a file of SQLite, through the service's own code; whoever may read the file is an admin of the team."""

    def __init__(self, path: Path, team: str) -> None:
        if not is_team(team):
            raise ConfigError(f"the team {team[:60]!r} is not 1 to 128 letters, digits and _.@-", hint="check --team")
        self._path = path
        self._who: Requesting = {
            "requesting_team": team,
            "requesting_agent": "",
            "requesting_roles": frozenset({ADMIN}),
        }

    @property
    def location(self) -> str:
        return str(self._path)

    def team(self) -> str:
        """As it was given."""
        return self._who["requesting_team"] or ""

    def create(self, fields: Fields) -> dict[str, Any]:
        """Makes the file when it is not there."""

        async def run(service: MemoryService) -> dict[str, Any]:
            return shown(await service.create_config(ConfigIn(**fields), **self._who))

        return self._run(str(fields.get("name", "")), run, make=True)

    def list_all(self) -> list[dict[str, Any]]:
        """Nothing while there is no file."""

        async def run(service: MemoryService) -> list[dict[str, Any]]:
            return [shown(c) for c in await service.configs("", 10_000, **self._who)]

        return self._run("", run) if self._path.exists() else []

    def find(self, name: str) -> dict[str, Any] | None:
        """None as well when there is no file."""

        async def run(service: MemoryService) -> dict[str, Any] | None:
            try:
                return shown(await service.config(name, **self._who))
            except (NotFound, Forbidden):
                return None

        return self._run(name, run) if self._path.exists() else None

    def show(self, name: str) -> dict[str, Any]:
        """One."""

        async def run(service: MemoryService) -> dict[str, Any]:
            return shown(await service.config(name, **self._who))

        return self._run(name, run)

    def update(self, name: str, changes: Fields) -> dict[str, Any]:
        """Change what is named."""

        async def run(service: MemoryService) -> dict[str, Any]:
            return shown(await service.change_config(name, ConfigPatch(**changes), **self._who))

        return self._run(name, run)

    def delete(self, name: str) -> int:
        """With its messages."""

        async def run(service: MemoryService) -> int:
            return await service.delete_config(name, **self._who)

        return self._run(name, run)

    def _run(self, name: str, call: Callable[[MemoryService], Awaitable[T]], *, make: bool = False) -> T:
        if not make and not self._path.exists():
            raise MemoryConfigRefused(
                f"there are no memory configs in {self._path}", hint="agentbreeder config memory create --name ..."
            )
        try:
            return asyncio.run(self._with_service(call, make))
        except (DBAPIError, sqlite3.Error, OSError, StoreUnavailable) as e:
            raise MemoryConfigRefused(
                f"{self._path} cannot be used ({type(e).__name__})",
                hint="it is a database of SQLite; when it is damaged, move it away and push the configs again",
            ) from e
        except ServiceError as e:
            raise _told(name, e.message, e.field, self.location) from None

    async def _with_service(self, call: Callable[[MemoryService], Awaitable[T]], make: bool) -> T:
        database, messages = Database(sqlite_path=self._path), SqliteMessages(self._path)
        try:
            if self._path.is_dir():
                raise IsADirectoryError(str(self._path))
            # An empty file is what a process leaves that was killed before the tables were made.
            if (make and not self._path.exists()) or (self._path.exists() and not self._path.stat().st_size):
                await migrate.upgrade(database)
            await migrate.check(database)
            return await call(MemoryService(ConfigStore(database), messages))
        finally:
            await messages.close()
            await database.close()


class RemoteConfigs:
    """Through the service at a URL, with a token."""

    def __init__(self, url: str, token: str) -> None:
        """Raises `ConfigError` for a URL that would send the token unencrypted over a network."""
        if not is_safe(url):
            raise ConfigError(
                "AGENTBREEDER_API_URL must be an https URL, or http on this machine", hint="check the URL"
            )
        self._url, self._token = url.rstrip("/"), token

    @property
    def location(self) -> str:
        return self._url

    def team(self) -> str:
        """What the token says; whether it counts is for the service to say."""
        import jwt

        try:
            return str(jwt.decode(self._token, options={"verify_signature": False}).get("team", ""))
        except jwt.PyJWTError:
            return ""

    def create(self, fields: Fields) -> dict[str, Any]:
        """POST."""
        return dict(self._ask("POST", called=str(fields.get("name", "")), json=dict(fields))["data"])

    def list_all(self) -> list[dict[str, Any]]:
        """GET, page by page."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            answer = self._ask("GET", params={"limit": "1000", "cursor": cursor})
            found += answer["data"]
            cursor = answer["meta"]["next_cursor"]
        return found

    def find(self, name: str) -> dict[str, Any] | None:
        """GET."""
        found = self._ask("GET", name, missing=True)
        return dict(found["data"]) if found else None

    def show(self, name: str) -> dict[str, Any]:
        """GET."""
        return dict(self._ask("GET", name)["data"])

    def update(self, name: str, changes: Fields) -> dict[str, Any]:
        """PATCH."""
        return dict(self._ask("PATCH", name, json=dict(changes))["data"])

    def delete(self, name: str) -> int:
        """DELETE."""
        return int(self._ask("DELETE", name)["data"]["deleted_messages"])

    def _ask(
        self, method: str, name: str | None = None, *, called: str = "", missing: bool = False, **more: Any
    ) -> dict[str, Any]:
        import httpx

        if name is not None and not is_slug(name):
            raise _told(name, "there is no such memory config", None, self._url)
        path = "/api/v1/memory/configs" + (f"/{name}" if name else "")
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            answer = httpx.request(method, self._url + path, headers=headers, timeout=30, **more)
            body = answer.json()
            problems = body["errors"]
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise MemoryConfigRefused(
                f"{self._url} cannot be reached ({type(e).__name__})", hint="check AGENTBREEDER_API_URL"
            ) from e
        except (ValueError, KeyError, TypeError):
            raise MemoryConfigRefused(f"{self._url} is no memory service", hint="check AGENTBREEDER_API_URL") from None
        if missing and answer.status_code in (403, 404) and name:
            return {}
        if problems:
            raise _told(name or called, problems[0]["message"], problems[0]["field"], self._url)
        return dict(body)


def _told(name: str, message: str, field: str | None, location: str) -> MemoryConfigRefused:
    said = f"{field}: {message}" if field and field not in message else message
    return MemoryConfigRefused(f"{name}: {said}" if name else said, hint=f"asked {location}")


def checked(kind: type[ConfigIn] | type[ConfigPatch], fields: Fields) -> None:
    """Raises `ConfigError` with every rule that is broken, before anything is asked."""
    from pydantic import ValidationError

    try:
        kind(**fields)
    except ValidationError as e:
        said = [f"{field}: {text}" if field else text for field, text in problems_of(e.errors()).items()]
        raise ConfigError("; ".join(said), hint="agentbreeder config memory create --help") from None
