"""EC2 security groups as AWS behaves: in use, case-insensitive names, narrow characters, unknown for a moment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .world import Patches, World

# Model of EC2: an apostrophe, for one, is refused in a name and in every description.
_TEXT = re.compile(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}")


def install(world: World, patches: Patches) -> None:
    """Patch moto's EC2 backend."""
    from moto.ec2.models.amis import AmiBackend

    # A thousand machine images with a volume each, made anew at every reset, that nothing here ever asks for.
    patches.replace(AmiBackend, "_load_amis", lambda self: None)
    _install_create(world, patches)
    _install_delete(world, patches)
    _install_use(world, patches)


def _refusal(code: str, message: str) -> Exception:
    from moto.ec2.exceptions import EC2ClientError

    error: Exception = EC2ClientError(code, message)
    return error


def _install_create(world: World, patches: Patches) -> None:
    from moto.ec2.models.security_groups import SecurityGroupBackend

    def create_security_group(self: Any, name: str, description: str, vpc_id: Any = None, **kw: Any) -> Any:
        if kw.get("force"):  # the default group, which AWS makes with each VPC
            return create(self, name, description, vpc_id, **kw)
        _check_create(self, name, description, vpc_id or self.default_vpc.id)
        group = create(self, name, description, vpc_id, **kw)
        world.note_birth("ec2", self.region_name, group.id)
        return group

    create = patches.replace(SecurityGroupBackend, "create_security_group", create_security_group)


def _check_create(backend: Any, name: str, description: str, vpc_id: str) -> None:
    if vpc_id not in backend.vpcs:
        raise _refusal("InvalidVpcID.NotFound", f"The vpc ID '{vpc_id}' does not exist")
    if name.startswith("sg-"):
        raise _refusal("InvalidParameterValue", "Invalid value for groupName: names may not start with sg-.")
    if not _TEXT.fullmatch(name):
        raise _refusal("InvalidParameterValue", "Value for parameter GroupName is invalid.")
    if description and not _TEXT.fullmatch(description):
        raise _refusal("InvalidParameterValue", "Value for parameter GroupDescription is invalid.")
    if any(g.name.lower() == name.lower() for g in backend.groups.get(vpc_id, {}).values()):
        raise _refusal("InvalidGroup.Duplicate", f"The security group '{name}' already exists for VPC '{vpc_id}'")


def _install_delete(world: World, patches: Patches) -> None:
    from moto.ec2.models.security_groups import SecurityGroupBackend

    def _delete_security_group(self: Any, vpc_id: Any, group_id: str) -> None:
        if world.held(group_id) or group_id in _in_use(self):
            raise _refusal("DependencyViolation", f"resource {group_id} has a dependent object")
        delete(self, vpc_id, group_id)

    delete = patches.replace(SecurityGroupBackend, "_delete_security_group", _delete_security_group)


def _in_use(backend: Any) -> Iterator[str]:
    """Ids of groups that a store or an interface wears, or that a rule of another group names."""
    from moto.elasticache.models import elasticache_backends
    from moto.rds.models import rds_backends

    account, region = backend.account_id, backend.region_name
    for database in rds_backends[account][region].databases.values():
        yield from database.vpc_security_group_ids
    cache = elasticache_backends[account][region]
    for store in (*cache.replication_groups.values(), *cache.cache_clusters.values()):
        yield from store.security_group_ids or ()
    for interface in backend.enis.values():
        yield from (group.id for group in interface.group_set)
    for groups in backend.groups.values():
        for group in groups.values():
            sources = (r.source_group.get("GroupId") for r in (*group.ingress_rules, *group.egress_rules))
            yield from (source for source in sources if source and source != group.id)


def _install_use(world: World, patches: Patches) -> None:
    from moto.ec2.models.security_groups import SecurityGroupBackend

    def describe_security_groups(self: Any, group_ids: Any = None, groupnames: Any = None, filters: Any = None) -> Any:
        for group_id in group_ids or ():
            refuse_hidden(self, group_id)
        found = describe(self, group_ids, groupnames, filters)
        return [g for g in found if not world.hidden("ec2", self.region_name, g.id)]

    def authorize_security_group_ingress(self: Any, group_name_or_id: str, *args: Any, **kw: Any) -> Any:
        refuse_hidden(self, group_name_or_id)
        for source in [*(kw.get("source_groups") or ()), *(kw.get("ip_ranges") or ())]:
            if source.get("Description") and not _TEXT.fullmatch(source["Description"]):
                raise _refusal(
                    "InvalidParameterValue",
                    "Invalid rule description. Valid descriptions are strings less than 256 characters from the "
                    "following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
                )
        return authorize(self, group_name_or_id, *args, **kw)

    def refuse_hidden(backend: Any, group_id: str) -> None:
        if world.hidden("ec2", backend.region_name, group_id):
            raise _refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")

    describe = patches.replace(SecurityGroupBackend, "describe_security_groups", describe_security_groups)
    authorize = patches.replace(
        SecurityGroupBackend, "authorize_security_group_ingress", authorize_security_group_ingress
    )
