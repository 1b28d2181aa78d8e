"""How Azure writes things: requests as a handler sees them, answers, refusals in each service's own shape, routes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..front import Answer, Request
from .world import CALLER, Resource, World

REGIONS: Mapping[str, str] = {
    "eastus": "East US",
    "eastus2": "East US 2",
    "westus": "West US",
    "westus2": "West US 2",
    "westus3": "West US 3",
    "centralus": "Central US",
    "northeurope": "North Europe",
    "westeurope": "West Europe",
    "germanywestcentral": "Germany West Central",
    "uksouth": "UK South",
    "southeastasia": "Southeast Asia",
}
HTML = (
    b"<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Transitional//EN' "
    b"'http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd'><html xmlns='http://www.w3.org/1999/xhtml'><head>"
    b"<title>AzureResourceManager</title></head><body><div id='content'><div id='message'><h2>Our services aren't "
    b"available right now</h2><p>We're working to restore all services as soon as possible. Please check back soon."
    b"</p></div></div></body></html>"
)


class Refused(Exception):
    """The stand-in says no. `inner` is Key Vault's inner error; `headers` go with the answer."""

    def __init__(
        self, status: int, code: str, message: str, *, inner: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message, self.inner = status, code, message, inner
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as its handler sees it. `names` are the parts of the path, `id` is the path with ARM's own casing;
    `version` is the api-version; `caller` is the object id in the token."""

    request: Request
    names: Mapping[str, str]
    id: str
    version: str
    caller: str
    body: dict[str, Any] = field(repr=False)

    @property
    def parent(self) -> str:
        """The id without its last type and name, or without the action at its end."""
        parts = self.id.split("/")
        tail = parts[len(parts) - 1 - parts[::-1].index("providers") :]
        cut = 1 if len(tail) % 2 else 2  # provider, (type, name)*, maybe an action
        return "/".join(parts[:-cut])


Handler = Callable[[World, Call], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What answers a method on a path. `{x}` in the template is one part of the path, `{x*}` several.

    `at_location`: an action at the subscription, where a role on the resource group does not reach (facts, 7).
    """

    method: str
    template: str
    answer: Handler
    service: str
    operation: str
    at_location: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = re.split(r"(\{\w+\*?\})", self.template)
        object.__setattr__(self, "pattern", re.compile("".join(map(_part, parts)), re.IGNORECASE))

    def canonical(self, names: Mapping[str, str]) -> str:
        """The path, in the casing of the template."""
        return re.sub(r"\{(\w+)\*?\}", lambda m: names[m[1]], self.template)


def _part(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    name = part.strip("{}")
    return f"(?P<{name[:-1]}>.+?)" if name.endswith("*") else f"(?P<{name}>[^/]+)"


def arm_error(refused: Refused) -> Answer:
    """`{"error": {...}}`, as ARM and most resource providers write it (recordings, errors.txt)."""
    error: dict[str, Any] = {"code": refused.code, "message": refused.message}
    if refused.inner:
        error["innererror"] = {"code": refused.inner}
    return Answer(status=refused.status, body={"error": error}, headers=refused.headers)


def network_error(refused: Refused) -> Answer:
    """The network provider indents its JSON with CRLF and adds empty details."""
    document = {"error": {"code": refused.code, "message": refused.message, "details": []}}
    body = json.dumps(document, indent=2).replace("\n", "\r\n").encode()
    headers = {"Content-Type": "application/json; charset=utf-8", **refused.headers}
    return Answer(status=refused.status, body=body, headers=headers)


def not_found(call_id: str) -> Refused:
    """ARM's own 404 for a resource it does not know."""
    group = re.search(r"/resourceGroups/([^/]+)", call_id, re.IGNORECASE)
    provider, *rest = call_id.rsplit("/providers/", maxsplit=1)[-1].split("/")
    what = "/".join([provider, *rest[::2], *rest[1::2]]) if len(rest) > 2 else "/".join([provider, *rest])
    message = (
        f"The Resource '{what}' under resource group '{group[1] if group else ''}' was not found. "
        "For more details please go to https://aka.ms/ARMResourceNotFoundFix"
    )
    return Refused(404, "ResourceNotFound", message, headers={"x-ms-failure-cause": "gateway"})


def parent_not_found(name: str) -> Refused:
    """ARM's 404 for something inside a resource it does not know."""
    message = f"Can not perform requested operation on nested resource. Parent resource '{name}' not found."
    return Refused(404, "ParentResourceNotFound", message, headers={"x-ms-failure-cause": "gateway"})


def must_find(world: World, resource_id: str) -> Resource:
    """The resource, as GET sees it. Raises `Refused` 404 when there is none, or none yet."""
    found = world.find(resource_id)
    if found is None or not world.visible(found):
        raise not_found(resource_id)
    return found


def shown(world: World, resource: Resource) -> dict[str, Any]:
    """What GET answers: the document, with the tags of before while `tag_lag_s` runs."""
    document = dict(resource.document)
    if resource.old_tags and world.now() < resource.old_tags[0]:
        document.pop("tags", None)
        if resource.old_tags[1] is not None:
            document["tags"] = resource.old_tags[1]
    return document


def get_resource(world: World, call: Call) -> Answer:
    """GET of any resource whose document is kept as it is shown."""
    return Answer(body=shown(world, must_find(world, call.id)))


def lister(kind: str) -> Handler:
    """GET of all resources of a type, under whatever the path names."""

    def answer(world: World, call: Call) -> Answer:
        under = call.id.split("/providers/")[0] if call.id.count("/") < _DEEP else call.id.rpartition("/")[0]
        if under.count("/") >= _DEEP and world.find(under) is None:
            raise parent_not_found(under.rpartition("/")[2])
        found = [r for r in world.of_type(kind, under + "/") if world.visible(r)]
        return Answer(body={"value": [shown(world, r) for r in found]})

    return answer


_DEEP = 8  # /subscriptions/S/resourceGroups/G/providers/P/type/name


def location_of(call: Call, kind: str, existing: Resource | None) -> str:
    """The region of the body, as ARM compares it. Raises `Refused` when there is none, or not the resource's own."""
    given = call.body.get("location")
    if not given and existing is None:
        raise Refused(400, "LocationRequired", "The location property is required for this definition.")
    region = normal(given or existing_location(existing))
    if region not in REGIONS:
        message = (
            f"The provided location '{given}' is not available for resource type '{kind}'. "
            f"List of available regions for the resource type is '{','.join(REGIONS)}'."
        )
        raise Refused(400, "LocationNotAvailableForResourceType", message)
    if existing is not None and region != normal(existing_location(existing)):
        message = (
            f"The resource '{existing.name}' already exists in location '{existing_location(existing)}' in resource "
            f"group. A resource with the same name cannot be created in location '{region}'. Please select a new "
            "resource name."
        )
        raise Refused(409, "InvalidResourceLocation", message)
    return region


def existing_location(resource: Resource | None) -> str:
    """Where a resource is, as its document spells it."""
    return str(resource.document.get("location", "")) if resource else ""


def normal(location: str) -> str:
    """`East US` and `eastus` are the same."""
    return location.replace(" ", "").casefold()


def caller_of(authorization: str) -> str:
    """The object id in a bearer token's claims, `CALLER` when it names none."""
    try:
        middle = authorization.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return str(claims.get("oid") or CALLER)
    except (IndexError, ValueError, AttributeError, binascii.Error):
        return CALLER


def stamp(moment: datetime, digits: int = 7) -> str:
    """`2026-12-01T12:00:00.0000000Z`, with as many digits of a second as the service writes."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0"[: 20 + digits] + "Z"


def key_of(*words: str) -> str:
    """An access key: base64 with its awkward characters, the same in every run."""
    digest = hashlib.sha256("/".join(words).encode()).digest()
    return base64.b64encode(b"\xfb\xef\xff" + digest[:29]).decode()
