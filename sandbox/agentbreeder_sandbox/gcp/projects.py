"""The project itself and which APIs are enabled in it: Cloud Resource Manager and Service Usage, read only."""

from __future__ import annotations

from typing import Any

from .discovery import APIS, document
from .errors import Refused, invalid, plain
from .paging import matching, page
from .routing import Call, Route, route
from .world import NUMBER, PROJECT, World

_BATCH = 30  # names in one batchGet, by its description
_CREATED = "2024-04-01T12:34:56.123456Z"


class ProjectApi:
    """The calls that look before anything is made."""

    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> dict[str, Route]:
        """By method id."""
        return {
            "cloudresourcemanager.projects.get": route(self.get_project),
            "serviceusage.services.get": route(self.get_service),
            "serviceusage.services.batchGet": route(self.batch_get_services, "names"),
            "serviceusage.services.list": route(self.list_services, "filter", "pageSize", "pageToken"),
        }

    def get_project(self, call: Call) -> dict[str, Any]:
        """With its number, which other APIs want (facts, section 3.4)."""
        return {
            "createTime": _CREATED,
            "lifecycleState": "ACTIVE",
            "name": "Sandbox",
            "projectId": PROJECT,
            "projectNumber": NUMBER,
        }

    def get_service(self, call: Call) -> dict[str, Any]:
        """One API, enabled or not; 403 for one that Google does not have."""
        return self._service(call.variables["servicesId"])

    def batch_get_services(self, call: Call) -> dict[str, Any]:
        """Up to 30 by full name, in the order asked for."""
        parent = f"{call.variables['v1Id']}/{call.variables['v1Id1']}/services/"
        names = call.query.get("names", [])
        if not 1 <= len(names) <= _BATCH:
            text = f"The number of names must be between 1 and {_BATCH}."
            raise invalid("serviceusage", [("names", text)])
        for name in names:
            if not name.startswith(parent):
                raise invalid("serviceusage", [("names", f"{name} does not belong to the parent {parent[:-10]}.")])
        return {"services": [self._service(name.removeprefix(parent)) for name in names]}

    def list_services(self, call: Call) -> dict[str, Any]:
        """The APIs of this stand-in; `state:ENABLED` is the filter people use."""
        keep = matching("serviceusage", call.one("filter"))
        found = [s for s in map(self._service, sorted(document(*api).host for api in APIS)) if keep(s)]
        services, more = page("serviceusage", found, call.one("pageSize"), call.one("pageToken"))
        return {"services": services, **({"nextPageToken": more} if more else {})}

    def _service(self, host: str) -> dict[str, Any]:
        title = next((document(*api).title for api in APIS if document(*api).host == host), "")
        if not title:
            raise _no_such_service(host)
        return {
            "name": f"projects/{NUMBER}/services/{host}",
            "config": {"name": host, "title": title},
            "state": "ENABLED" if self._world.enabled(host) else "DISABLED",
            "parent": f"projects/{NUMBER}",
        }


def _no_such_service(host: str) -> Refused:
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED",
        "domain": "serviceusage.googleapis.com",
        "metadata": {"services": host},
    }
    return plain(403, "PERMISSION_DENIED", f"Not found or permission denied for service(s): {host}.", [info])
