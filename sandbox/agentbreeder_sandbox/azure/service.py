"""The stand-in behind the front: finds the route of a request, and what ARM itself checks before any provider is asked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ..front import Answer, Request
from . import (
    cache,
    dns,
    managed_databases,
    managed_redis,
    network,
    operations,
    pg_lookups,
    pg_parts,
    pg_servers,
    roles,
    subscriptions,
    vault_access,
    vault_secrets,
    vaults,
)
from .wire import HTML, Call, Refused, Route, arm_error, caller_of, network_error
from .world import SUBSCRIPTION, World

_ARM_HOSTS = ("management.azure.com", "127.0.0.1", "localhost")
_VAULT_SUFFIX = ".vault.azure.net"
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
_WRITES = ("PUT", "PATCH", "POST", "DELETE")
_ARM_MODULES = (
    operations, subscriptions, network, dns, pg_servers, pg_parts, pg_lookups, cache, managed_redis, managed_databases, vaults, roles,
)  # fmt: skip
ARM_ROUTES: list[Route] = [route for module in _ARM_MODULES for route in module.ROUTES]


class AzureService:
    """Everything that is asked, in one place: ARM or a vault, told apart by the Host header."""

    def __init__(self, world: World) -> None:
        self.world = world

    def name(self, request: Request) -> tuple[str, str]:
        """See `Service`: the namespace and `METHOD type`, as in ("Microsoft.Cache", "PUT redis")."""
        vault = vault_of(request)
        routes = vault_secrets.ROUTES if vault else ARM_ROUTES
        route, _ = _route(routes, request)
        if route is None:
            return ("keyvault" if vault else "arm", f"{request.method} unknown")
        return route.service, route.operation

    def pass_time(self) -> None:
        """See `Service`."""
        self.world.pass_time()

    def answer(self, request: Request) -> Answer:
        """See `Service`."""
        if self.world.switches.html_answers:
            self.world.switches.html_answers -= 1
            return Answer(status=503, body=HTML, headers={"Content-Type": "text/html"})
        vault = vault_of(request)
        try:
            answer = self._vault(request, vault) if vault else self._arm(request)
            hidden = self.world.switches.tags_hidden_until
            answer = without_tags(answer) if hidden and self.world.now() < hidden else answer
            return self._signed(request, answer)
        except Refused as refused:
            return self._signed(request, self._refused(request, refused))

    def _refused(self, request: Request, refused: Refused) -> Answer:
        of_network = self.name(request)[0] == "Microsoft.Network" and "x-ms-failure-cause" not in refused.headers
        return network_error(refused) if of_network else arm_error(refused)

    def _signed(self, request: Request, answer: Answer) -> Answer:
        """Key Vault says its version in every answer of its own, but not where ARM answers for it."""
        from_arm = "x-ms-failure-cause" in answer.headers
        if from_arm or not (vault_of(request) or "/providers/Microsoft.KeyVault/" in request.path):
            return answer
        return replace(answer, headers={"x-ms-keyvault-service-version": "1.9.2500.1", **answer.headers})

    def refusal(self, request: Request, code: str, message: str, status: int) -> Answer:
        """See `Service`. With a slash, `code` is "Forbidden/ForbiddenByRbac": Key Vault's outer and inner code."""
        outer, _, inner = code.partition("/")
        return arm_error(Refused(status, outer, message, inner=inner))

    def _vault(self, request: Request, vault: str) -> Answer:
        route, names = _route(vault_secrets.ROUTES, request)
        if not request.headers.get("authorization"):
            return vault_access.challenge(self.world, vault)
        if route is None:
            raise Refused(404, "NotFound", f"The requested resource {request.path} does not exist.")
        call = Call(
            request=request,
            names={**names, "vault": vault},
            id=request.path,
            version=_version_of(request),
            caller=caller_of(request.headers["authorization"]),
            body=_body_of(request),
        )
        return route.answer(self.world, call)

    def _arm(self, request: Request) -> Answer:
        if request.host not in _ARM_HOSTS and not request.host.endswith(f".{_ARM_HOSTS[0]}"):
            raise Refused(404, "HostNotFound", f"the sandbox knows no host {request.host}")
        if not request.headers.get("authorization", "").startswith("Bearer "):
            message = "Authentication failed. The 'Authorization' header is missing."
            raise Refused(401, "AuthenticationFailed", message, headers={"WWW-Authenticate": "Bearer"})
        route, names = _route(ARM_ROUTES, request)
        if route is None:
            raise Refused(404, "InvalidResourceType", f"the sandbox answers no {request.method} on {request.path}")
        call = Call(
            request=request,
            names=names,
            id=route.canonical(names),
            version=_version_of(request),
            caller=caller_of(request.headers["authorization"]),
            body=_body_of(request),
        )
        self._check(route, call)
        answer = route.answer(self.world, call)
        return Answer(status=answer.status, body=answer.body, headers={**self._quota(request), **answer.headers})

    def _check(self, route: Route, call: Call) -> None:
        """Another subscription, a denied action, a missing resource group, an unregistered provider."""
        subscription = _named("subscriptions", call.id) or SUBSCRIPTION
        scope = call.id.partition("/providers/")[0]
        if subscription != SUBSCRIPTION or (route.at_location and self.world.switches.location_actions_denied):
            raise not_authorized(call, route)
        group = _named("resourceGroups", call.id)
        if group and group.casefold() not in self.world.groups:
            if call.request.method == "HEAD":
                return
            message = f"Resource group '{group}' could not be found."
            raise Refused(404, "ResourceGroupNotFound", message, headers={"x-ms-failure-cause": "gateway"})
        state = self.world.providers.get(route.service, "Registered")
        if state != "Registered" and call.request.method in _WRITES and scope:
            message = (
                f"The subscription is not registered to use namespace '{route.service}'. "
                "See https://aka.ms/rps-not-found for how to register subscriptions."
            )
            raise Refused(409, "MissingSubscriptionRegistration", message)

    def _quota(self, request: Request) -> dict[str, str]:
        kind = {"GET": "reads", "HEAD": "reads", "DELETE": "deletes"}.get(request.method, "writes")
        return {f"x-ms-ratelimit-remaining-subscription-{kind}": "799", "x-ms-request-id": self.world.uuid()}


def not_authorized(call: Call, route: Route) -> Refused:
    """403, naming the caller, the action and the scope."""
    verb = {"GET": "read", "HEAD": "read", "DELETE": "delete", "POST": "action"}.get(call.request.method, "write")
    scope = call.id.partition("/providers/")[0] if route.at_location else call.id
    message = (
        f"The client '{call.caller}' with object id '{call.caller}' does not have authorization to perform action "
        f"'{route.service}/{route.operation.partition(' ')[2]}/{verb}' over scope '{scope}' or the scope is invalid. "
        "If access was recently granted, please refresh your credentials."
    )
    return Refused(403, "AuthorizationFailed", message)


def without_tags(answer: Answer) -> Answer:
    """The same answer, with no tags on any level."""
    return Answer(status=answer.status, body=_untagged(answer.body), headers=answer.headers)


def _untagged(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _untagged(v) for k, v in value.items() if k != "tags"}
    return [_untagged(v) for v in value] if isinstance(value, list) else value


def vault_of(request: Request) -> str:
    """The vault that the Host header names, "" for ARM."""
    host = request.host.casefold()
    return host.removesuffix(_VAULT_SUFFIX) if host.endswith(_VAULT_SUFFIX) else ""


def _route(routes: list[Route], request: Request) -> tuple[Route | None, dict[str, str]]:
    path = "/" + request.path.strip("/")
    for route in routes:
        if route.method == request.method and (match := route.pattern.fullmatch(path)):
            return route, match.groupdict()
    return None, {}


def _named(kind: str, resource_id: str) -> str:
    found = re.search(f"/{kind}/([^/]+)", resource_id, re.IGNORECASE)
    return found[1] if found else ""


def _version_of(request: Request) -> str:
    version = request.query.get("api-version", "")
    if not version:
        message = "The api-version query parameter (?api-version=) is required for all requests."
        raise Refused(400, "MissingApiVersionParameter", message)
    if not (_VERSION.fullmatch(version) or re.fullmatch(r"7\.\d", version)):
        raise Refused(400, "InvalidApiVersionParameter", f"The api-version '{version}' is invalid.")
    return version


def _body_of(request: Request) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError as e:
        message = f"The request content was invalid and could not be deserialized: '{e}'."
        raise Refused(400, "InvalidRequestContent", message) from e
    return body if isinstance(body, dict) else {}
