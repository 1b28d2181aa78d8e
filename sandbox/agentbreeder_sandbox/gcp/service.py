"""The seven APIs behind one address: find the method, check the request, let its handler answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from ..front import Answer, Request
from .checks import BodyCheck, check_query, with_numbers
from .discovery import Match, match
from .errors import Refused, injected, invalid, service_disabled, unknown_project, unserved, web_page
from .inventory import Contents
from .network import NetworkApi
from .projects import ProjectApi
from .routing import Call, Route
from .secret_versions import VersionApi
from .secrets import SecretApi
from .sql import SqlApi
from .sql_connect import ConnectApi
from .sql_parts import DatabaseApi, UserApi
from .sql_state import OperationApi
from .world import NUMBER, World

_NUMERIC = "json;enum-encoding=int"
_HEADERS = {
    "Cache-Control": "private",
    "Server": "ESF",
    "Vary": "Origin, X-Origin, Referer",
    "X-Content-Type-Options": "nosniff",
}
_UNSERVED = ("fields", "callback")  # parameters that every API has and that would change the answer


class GoogleCloud:
    """The `Service` behind the front."""

    def __init__(self, world: World, contents: Contents) -> None:
        self._world = world
        self._routes: dict[str, Route] = {}
        for api in (
            SqlApi(contents.sql, contents.networks),
            ConnectApi(contents.sql),
            DatabaseApi(contents.sql),
            UserApi(contents.sql),
            OperationApi(contents.sql),
            contents.redis,
            SecretApi(contents.secrets),
            VersionApi(contents.secrets),
            NetworkApi(world, contents.networks),
            ProjectApi(world),
        ):
            self._routes |= api.routes()

    def name(self, request: Request) -> tuple[str, str]:
        """(API, method id), such as (`sqladmin`, `sql.instances.insert`); the bare request for what no API has."""
        found = match(request.method, request.path)
        return (found.method.api, found.method.id) if found else ("", f"{request.method} {request.path}")

    def pass_time(self) -> None:
        """Apply every change whose time has come."""
        self._world.pass_time()

    def answer(self, request: Request) -> Answer:
        """Apply the request."""
        page, self._world.switches.page_next = self._world.switches.page_next, 0
        if page:
            return web_page(page, "Server Error")
        found = match(request.method, request.path)
        if found is None:
            return web_page(404, "Not Found")
        try:
            return self._answer(found, request)
        except Refused as refused:
            return _with_headers(refused.answer)

    def refusal(self, request: Request, code: str, message: str, status: int) -> Answer:
        """An injected error in the shape of the API that was called."""
        api, _ = self.name(request)
        return _with_headers(injected(api, code, message, status))

    def _answer(self, found: Match, request: Request) -> Answer:
        api, whole = found.method.api, found.document
        self._check_access(found)
        query = parse_qs(request.raw_query, keep_blank_values=True)
        parameters = check_query(whole, found.method, query)
        body = BodyCheck(whole, found.method).run(_body(api, request))
        served = self._routes.get(found.method.id)
        if served is None:
            raise unserved(api, found.method.id)
        ignored = sorted(parameters.keys() - served.parameters) + [n for n in _UNSERVED if n in query]
        if ignored:
            raise unserved(api, f"the parameters {', '.join(ignored)} of {found.method.id}")
        prefix = found.method.path.partition("/projects/")[0]
        call = Call(
            method=found.method,
            variables=found.variables,
            query=parameters,
            body=body,
            root=f"https://{whole.host}{prefix}",
        )
        answer = served.handler(call)
        if _NUMERIC in query.get("$alt", ()):
            answer = with_numbers(whole, found.method.response, answer)
        return _with_headers(Answer(body=answer))

    def _check_access(self, found: Match) -> None:
        """The project first, then whether the API is enabled in it."""
        api, host = found.method.api, found.document.host
        project = _project(found.variables)
        if project and not self._world.is_ours(project):
            raise unknown_project(api, host, project)
        if not self._world.enabled(host):
            raise service_disabled(api, host, found.document.title, NUMBER)


def _project(variables: Mapping[str, str]) -> str:
    """The project in the path; Service Usage calls it the second part of a parent."""
    if variables.get("v1Id") == "projects":
        return variables.get("v1Id1", "")
    return variables.get("project") or variables.get("projectsId") or variables.get("projectId") or ""


def _body(api: str, request: Request) -> Any:
    try:
        return request.json()
    except (ValueError, json.JSONDecodeError):
        text = "Invalid JSON payload received. Expected a value."
        raise invalid(api, [("", text)]) from None


def _with_headers(answer: Answer) -> Answer:
    return Answer(status=answer.status, body=answer.body, headers={**_HEADERS, **answer.headers})
