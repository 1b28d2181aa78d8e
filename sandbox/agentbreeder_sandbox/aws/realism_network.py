"""EC2 security groups and Secrets Manager as AWS behaves: in use, case-insensitive names, the recovery window."""

from __future__ import annotations

import re
from typing import Any

from .world import Patches, World

_SECRET_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}")


def install(world: World, patches: Patches) -> None:
    """Patch moto's EC2 and Secrets Manager backends."""
    _install_groups(world, patches)
    _install_secrets(patches)


def _ec2_error(code: str, message: str) -> Exception:
    from moto.ec2.exceptions import EC2ClientError

    error: Exception = EC2ClientError(code, message)
    return error


def _used(world: World, backend: Any, group_id: str) -> bool:
    from moto.elasticache.models import elasticache_backends
    from moto.rds.models import rds_backends

    account, region = backend.account_id, backend.region_name
    databases = rds_backends[account][region].databases.values()
    groups = elasticache_backends[account][region].replication_groups.values()
    referring = (
        rule.source_groups if hasattr(rule, "source_groups") else []
        for other in backend.groups.values()
        for key, group in other.items()
        if key != group_id
        for rule in [*group.ingress_rules, *group.egress_rules]
    )
    return (
        world.held(group_id)
        or any(group_id in d.vpc_security_group_ids for d in databases)
        or any(group_id in (g.security_group_ids or []) for g in groups)
        or any(group_id in [s.id for s in e.group_set] for e in backend.enis.values())
        or any(s.get("GroupId") == group_id for sources in referring for s in sources)
    )


def _install_groups(world: World, patches: Patches) -> None:
    from moto.ec2.models.security_groups import SecurityGroupBackend

    def create_security_group(self: Any, name: str, description: str, vpc_id: Any = None, **kw: Any) -> Any:
        if not kw.get("force"):
            if vpc_id and vpc_id not in self.vpcs:
                raise _ec2_error("InvalidVpcID.NotFound", f"The vpc ID '{vpc_id}' does not exist")
            if name.startswith("sg-"):
                raise _ec2_error("InvalidParameterValue", "Group names may not be in the format sg-*.")
            if any(g.name.lower() == name.lower() for g in self.groups.get(vpc_id, {}).values()):
                raise _ec2_error(
                    "InvalidGroup.Duplicate", f"The security group '{name}' already exists for VPC '{vpc_id}'"
                )
        return create(self, name, description, vpc_id, **kw)

    def _delete_security_group(self: Any, vpc_id: Any, group_id: str) -> None:
        if _used(world, self, group_id):
            raise _ec2_error("DependencyViolation", f"resource {group_id} has a dependent object")
        delete(self, vpc_id, group_id)

    create = patches.replace(SecurityGroupBackend, "create_security_group", create_security_group)
    delete = patches.replace(SecurityGroupBackend, "_delete_security_group", _delete_security_group)


def _install_secrets(patches: Patches) -> None:
    from moto.secretsmanager.exceptions import InvalidRequestException, ValidationException
    from moto.secretsmanager.models import SecretsManagerBackend

    def refuse_deleted(self: Any, secret_id: str) -> None:
        secret = self.secrets.get(secret_id)
        if secret is not None and secret.is_deleted():
            raise InvalidRequestException(
                "You can't perform this operation on the secret because it was marked for deletion."
            )

    def create_secret(self: Any, name: str, *args: Any, **kw: Any) -> Any:
        if not _SECRET_NAME.fullmatch(name):
            raise ValidationException("Invalid name. Must be a valid name containing alphanumeric characters")
        secret = self.secrets.get(name)
        if secret is not None and secret.is_deleted():
            raise InvalidRequestException(
                "You can't create this secret because a secret with this name is already scheduled for deletion."
            )
        return create(self, name, *args, **kw)

    def put_secret_value(self: Any, secret_id: str, *args: Any, **kw: Any) -> Any:
        refuse_deleted(self, secret_id)
        return put(self, secret_id, *args, **kw)

    def tag_resource(self: Any, secret_id: str, *args: Any, **kw: Any) -> Any:
        refuse_deleted(self, secret_id)
        return tag(self, secret_id, *args, **kw)

    create = patches.replace(SecretsManagerBackend, "create_secret", create_secret)
    put = patches.replace(SecretsManagerBackend, "put_secret_value", put_secret_value)
    tag = patches.replace(SecretsManagerBackend, "tag_resource", tag_resource)
