"""docs/azure.md says what the code takes and needs, and docs/ci.md what the stand-in can do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agentbreeder_resolver.network import NETWORK_VARIABLES
from agentbreeder_sandbox.azure.server import AzureSandbox
from agentbreeder_sandbox.azure.service import ARM_ROUTES
from agentbreeder_sandbox.azure.wire import Route
from support.cloud import do_deploy, do_teardown
from support.scenes import EVERY_KIND, open_to_both_products, write_scene

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "azure.md").read_text(encoding="utf-8")
ACTION = re.compile(r"Microsoft\.\w+(?:/\w+)*/(?:read|write|delete|action)")
VERBS = {"GET": "read", "HEAD": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete", "POST": "action"}
POLLS = ("arm", "GET operation")
ASKED_OF_US = {"Microsoft.Network/privateDnsOperationStatuses/read"}
"""Polls in the resource group; those at the subscription are optional, and each service has several addresses."""
IN_NO_ROLE = {
    "Microsoft.DBforPostgreSQL/locations/checkNameAvailability/action",
    "Microsoft.KeyVault/deletedVaults/read",
}
"""The first is not among Microsoft's published actions, and its refusal leads to the global check. The second is the list
of deleted vaults: the stand-in gives it the name of the call for a single one, which is what is made."""


def role() -> dict[str, Any]:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    document: dict[str, Any] = json.loads(text)
    return document


def action_of(route: Route) -> str:
    """`Microsoft.Cache/redis/listKeys/action`, as a role names what a route does."""
    _, provider, path = route.template.rpartition("/providers/Microsoft.")
    parts = (f"Microsoft.{path}" if provider else f"Microsoft.Resources{route.template}").split("/")
    return "/".join([*(p for p in parts if not p.startswith("{")), VERBS[route.method]])


def actions_of(sandbox: AzureSandbox) -> set[str]:
    """What the calls so far need in a role, polls aside."""
    called = {(c.service, c.operation) for c in sandbox.calls} - {POLLS}
    return {action_of(r) for r in ARM_ROUTES if (r.service, r.operation) in called}


def deploy_and_purge_everything(sandbox: AzureSandbox, folder: Path) -> None:
    open_to_both_products(sandbox)
    for number, scene in enumerate(EVERY_KIND["azure"]):
        path = write_scene(folder / str(number), "azure", scene)
        do_deploy(sandbox, path)
        do_teardown(sandbox, path.parent, purge=True)


def test_every_network_variable_of_azure_is_on_its_page_and_on_that_of_the_agent_file() -> None:
    ours = [v for v in NETWORK_VARIABLES if v.startswith("AZURE_")]
    assert ours
    for page in (PAGE, (DOCS / "agent-yaml.md").read_text(encoding="utf-8")):
        assert not [v for v in ours if v not in page]


def test_the_custom_role_is_json_that_az_takes() -> None:
    document = role()
    assert document["IsCustom"] is True
    assert document["AssignableScopes"]
    assert len(set(document["Actions"])) == len(document["Actions"])
    assert all(ACTION.fullmatch(action) for action in document["Actions"])


def test_the_page_names_the_action_of_every_call_that_deploy_and_teardown_make(
    azure_sandbox: AzureSandbox, tmp_path: Path
) -> None:
    deploy_and_purge_everything(azure_sandbox, tmp_path)
    needed = actions_of(azure_sandbox)
    assert "Microsoft.KeyVault/locations/deletedVaults/purge/action" in needed
    assert needed - IN_NO_ROLE - set(ACTION.findall(PAGE)) == set()


def test_the_custom_role_gives_nothing_that_no_call_needs(azure_sandbox: AzureSandbox, tmp_path: Path) -> None:
    deploy_and_purge_everything(azure_sandbox, tmp_path)
    unused = set(role()["Actions"]) - actions_of(azure_sandbox) - ASKED_OF_US
    assert {a for a in unused if not a.endswith("/join/action")} == set()


def test_everything_that_the_stand_in_for_azure_can_do_is_on_the_page_about_ci() -> None:
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    started_for_you = {"start", "stop"}
    public = {name for name in dir(AzureSandbox) if not name.startswith("_")} - started_for_you
    assert not [name for name in sorted(public) if not re.search(rf"`[^`]*\b{name}\b", page)]
