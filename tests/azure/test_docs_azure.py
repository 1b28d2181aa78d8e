"""docs/azure.md says what the code takes and needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agentbreeder_resolver.network import NETWORK_VARIABLES

PAGE = (Path(__file__).parents[2] / "docs" / "azure.md").read_text()
PACKAGE = Path(__file__).parents[2] / "provisioners" / "agentbreeder_provisioners" / "azure"


def test_every_network_variable_of_azure_is_on_its_page() -> None:
    assert not [v for v in NETWORK_VARIABLES if v.startswith("AZURE_") and v not in PAGE]


def test_the_custom_role_is_json_that_az_takes() -> None:
    (role,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    document = json.loads(role)
    assert document["IsCustom"]
    assert len(set(document["Actions"])) == len(document["Actions"])
    assert all(re.fullmatch(r"Microsoft\.\w+(/\w+)+", action) for action in document["Actions"])


def test_every_resource_type_that_the_code_names_can_be_read_written_and_deleted_by_the_role() -> None:
    code = "".join(p.read_text() for p in PACKAGE.rglob("*.py"))
    for arm_type in set(re.findall(r'arm_type = "(Microsoft\.[\w/.]+)"', code)):
        for verb in ("read", "write", "delete"):
            assert f"{arm_type}/{verb}" in PAGE or arm_type == "Microsoft.KeyVault/vaults", (arm_type, verb)
