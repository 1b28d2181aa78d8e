"""Databases and users inside a Cloud SQL instance (facts, sections 3.1 and 4.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .errors import Refused, listed
from .routing import Call, Route, route
from .sql_model import Database, Instance, User
from .sql_rules import bad
from .sql_state import SqlState
from .world import PROJECT

_SYSTEM = frozenset({"postgres", "template0", "template1", "cloudsqladmin"})
_MAX_NAME = 63  # bytes of a PostgreSQL identifier


class DatabaseApi:
    """The calls on databases; changes are operations that start PENDING."""

    def __init__(self, state: SqlState) -> None:
        self._state = state

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "sql.databases.insert": route(self.insert),
            "sql.databases.get": route(self.get),
            "sql.databases.list": route(self.list_all),
            "sql.databases.delete": route(self.delete),
        }

    def insert(self, call: Call) -> dict[str, Any]:
        """An existing name is a 400 whose text is PostgreSQL's, not a 409 (opstrace, gcloud users)."""
        instance = self._state.running(call.variables["instance"])
        name = call.body.get("name", "")
        _check_identifier("database", name)
        if name in instance.databases:
            raise bad(f'failed to create database {name}. Detail: pq: database "{name}" already exists\n.')
        made = Database(
            name=name, charset=call.body.get("charset", "UTF8"), collation=call.body.get("collation", "en_US.UTF8")
        )

        def finish(at: datetime) -> None:
            instance.databases[name] = made
            if (plane := self._state.world.plane) is not None:
                plane.database(instance.name, name)

        return self._begin(call, instance, name, "CREATE_DATABASE", finish)

    def get(self, call: Call) -> dict[str, Any]:
        """One database; 404 `notFound` when it is not there. Refused while the instance does not run."""
        instance = _answering(self._state.find(call.variables["instance"]))
        return self._find(instance, call.variables["database"]).on_wire(instance.name, call.root)

    def list_all(self, call: Call) -> dict[str, Any]:
        """Refused while the instance does not run."""
        instance = _answering(self._state.find(call.variables["instance"]))
        items = [d.on_wire(instance.name, call.root) for d in instance.databases.values()]
        return {"kind": "sql#databasesList", **({"items": items} if items else {})}

    def delete(self, call: Call) -> dict[str, Any]:
        """With everything in it, so that its users own nothing there any more."""
        instance = self._state.running(call.variables["instance"])
        name = self._find(instance, call.variables["database"]).name
        if name in _SYSTEM:
            raise bad(f'failed to delete database {name}. Detail: pq: cannot drop system database "{name}".')

        def finish(at: datetime) -> None:
            del instance.databases[name]
            for user in instance.users.values():
                user.owns.pop(name, None)

        return self._begin(call, instance, name, "DELETE_DATABASE", finish)

    def _begin(self, call: Call, instance: Instance, name: str, kind: str, finish: Any) -> dict[str, Any]:
        seconds = self._state.world.durations.sql_database_s
        return self._state.begin(instance, kind, seconds, finish, f"/databases/{name}").on_wire(call.root)

    def _find(self, instance: Instance, name: str) -> Database:
        if name not in instance.databases:
            message = f'database "projects/{PROJECT}/instances/{instance.name}/databases/{name}" not found'
            raise listed(404, "notFound", message, word="NOT_FOUND")
        return instance.databases[name]


class UserApi:
    """The calls on users; changes are DONE in the first answer, as recorded."""

    def __init__(self, state: SqlState) -> None:
        self._state = state

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "sql.users.insert": route(self.insert),
            "sql.users.get": route(self.get, "host"),
            "sql.users.list": route(self.list_all),
            "sql.users.update": route(self.update, "name", "host"),
            "sql.users.delete": route(self.delete, "name", "host"),
        }

    def insert(self, call: Call) -> dict[str, Any]:
        """A name that is there gets the new password: that is how Terraform sets `postgres`'s (not recorded)."""
        instance = self._state.running(call.variables["instance"])
        name = call.body.get("name", "")
        _check_identifier("user", name)
        kind = call.body.get("type", "BUILT_IN")
        if kind == "BUILT_IN" and not call.body.get("password"):
            raise bad("Invalid password: a built-in user of PostgreSQL needs one.")
        user = instance.users.setdefault(name, User(name=name, kind=kind))
        user.password, user.policy = call.body.get("password", ""), call.body.get("passwordPolicy")
        if (plane := self._state.world.plane) is not None and user.password:
            plane.role(instance.name, name, user.password)
        return self._done(call, instance, "CREATE_USER")

    def get(self, call: Call) -> dict[str, Any]:
        """One user."""
        instance = _answering(self._state.find(call.variables["instance"]))
        return self._find(instance, call.variables["name"]).on_wire(instance.name)

    def list_all(self, call: Call) -> dict[str, Any]:
        """`items` is left out when there are none. Refused while the instance does not run."""
        instance = _answering(self._state.find(call.variables["instance"]))
        items = [u.on_wire(instance.name) for u in instance.users.values()]
        return {"kind": "sql#usersList", **({"items": items} if items else {})}

    def update(self, call: Call) -> dict[str, Any]:
        """A new password."""
        instance = self._state.running(call.variables["instance"])
        user = self._find(instance, call.one("name") or call.body.get("name", ""))
        user.password = call.body.get("password", user.password)
        return self._done(call, instance, "UPDATE_USER")

    def delete(self, call: Call) -> dict[str, Any]:
        """Refused while the user owns anything in any database."""
        instance = self._state.running(call.variables["instance"])
        user = self._find(instance, call.one("name"))
        owned = {database: count for database, count in user.owns.items() if count}
        if owned:
            details = ", ".join(f"{count} objects in database {database}" for database, count in owned.items())
            raise bad(
                f'failed to delete user {user.name}: . role "{user.name}" cannot be dropped because some objects '
                f"depend on it Details: {details}."
            )
        del instance.users[user.name]
        return self._done(call, instance, "DELETE_USER")

    def _done(self, call: Call, instance: Instance, kind: str) -> dict[str, Any]:
        return self._state.record(instance, kind, done=True).on_wire(call.root)

    def _find(self, instance: Instance, name: str) -> User:
        if name not in instance.users:
            raise _no_user(instance, name)
        return instance.users[name]


def _no_user(instance: Instance, name: str) -> Refused:
    """The sentence is ours; the status is what clients wait for."""
    return listed(404, "userDoesNotExist", f"User {name} does not exist on instance {instance.name}.")


def _answering(instance: Instance) -> Instance:
    """What is read from the database server itself needs one that runs."""
    if instance.state != "RUNNABLE":
        raise bad("Invalid request since instance is not running.")
    return instance


def _check_identifier(what: str, name: str) -> None:
    if not name:
        raise listed(400, "required", "Missing parameter: name.")
    if len(name.encode()) > _MAX_NAME or "\x00" in name or '"' in name:
        raise bad(f"Invalid {what} name ({name}).")
