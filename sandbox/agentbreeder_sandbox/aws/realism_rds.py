"""RDS as AWS behaves and moto does not: states that take time, validation, in-use refusals, versions on offer."""

from __future__ import annotations

import re
from typing import Any

from .world import ACCOUNT, Patches, World

VERSIONS = {"13": "13.23", "14": "14.20", "15": "15.15", "16": "16.11", "17": "17.7", "18": "18.1"}
CLASSES = (
    *(f"db.t4g.{s}" for s in ("micro", "small", "medium", "large")),
    *(f"db.t3.{s}" for s in ("micro", "small", "medium", "large")),
    *(f"db.m7g.{s}" for s in ("large", "xlarge")),
    *(f"db.r7g.{s}" for s in ("large", "xlarge")),
)
_RESERVED_USERS = frozenset({"admin", "rdsadmin", "rds_superuser", "rdsrepladmin"})
_DB_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_USER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,15}")
_LIFECYCLES = (
    None,
    "",
    "open-source-rds-extended-support",
    "open-source-rds-extended-support-disabled",
)


def _error(code: str, message: str) -> Exception:
    from moto.rds.exceptions import RDSClientError

    error: Exception = RDSClientError(code, message)
    return error


def validate(backend: Any, kw: dict[str, Any]) -> None:
    """What AWS refuses in CreateDBInstance and moto accepts (facts, sections 1 and 3)."""
    password, user = kw.get("master_user_password"), str(kw.get("master_username") or "")
    managed = kw.get("manage_master_user_password")
    if managed and password:
        raise _error(
            "InvalidParameterCombination", "MasterUserPassword and ManageMasterUserPassword exclude each other."
        )
    if not managed and (not password or not 8 <= len(password) <= 128 or set(password) & set("/@\" '")):
        raise _error(
            "InvalidParameterValue",
            "The parameter MasterUserPassword is not a valid password. Only printable ASCII characters besides "
            "'/', '@', '\"', ' ' may be used.",
        )
    if user.lower() in _RESERVED_USERS or user.lower().startswith("pg_"):
        raise _error("InvalidParameterValue", f"MasterUsername {user} cannot be used as it is a reserved word")
    if not _USER.fullmatch(user):
        raise _error("InvalidParameterValue", "The parameter MasterUsername is not a valid identifier.")
    if kw.get("db_name") and not _DB_NAME.fullmatch(kw["db_name"]):
        raise _error(
            "InvalidParameterValue", "DBName must begin with a letter and contain only alphanumeric characters."
        )
    version = str(kw.get("engine_version") or "17")
    if version not in VERSIONS and version not in VERSIONS.values():
        raise _error("InvalidParameterCombination", f"Cannot find version {version} for postgres")
    if kw.get("db_instance_class") not in CLASSES:
        raise _error(
            "InvalidParameterCombination",
            "RDS does not support creating a DB instance with the following combination: "
            f"DBInstanceClass={kw.get('db_instance_class')}, Engine=postgres, EngineVersion={version}.",
        )
    if not 20 <= int(kw.get("allocated_storage") or 0) <= 65536:
        raise _error(
            "InvalidParameterCombination", "Invalid storage size for engine name postgres and storage type gp3"
        )
    if kw.get("engine_lifecycle_support") not in _LIFECYCLES:
        raise _error("InvalidParameterValue", "Invalid EngineLifecycleSupport.")
    _validate_network(backend, kw)


def _validate_network(backend: Any, kw: dict[str, Any]) -> None:
    from moto.ec2.models import ec2_backends

    name = kw.get("db_subnet_group_name")
    group = backend.subnet_groups.get(name)
    if name and group is None:
        raise _error("DBSubnetGroupNotFoundFault", f"Subnet Group {name} not found.")
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    for group_id in kw.get("vpc_security_group_ids") or ():
        found = ec2.get_security_group_from_id(group_id)
        if found is None:
            raise _error("InvalidParameterValue", f"Invalid security group, groupId= {group_id}, groupName=.")
        if group is not None and found.vpc_id != group.vpc_id:
            raise _error(
                "InvalidParameterCombination",
                "The DB instance and EC2 security group are in different VPCs. "
                f"The DB instance is in {group.vpc_id} and the EC2 security group is in {found.vpc_id}",
            )


def install(world: World, patches: Patches) -> None:
    """Patch moto's RDS backend and response classes."""
    from moto.rds.models import DBInstance, RDSBackend

    _install_subnet_groups(patches)
    _install_life_cycle(world, patches)
    _install_offers(patches)
    endpoint = DBInstance.endpoint.fget
    patches.replace(DBInstance, "endpoint", property(lambda s: None if s.status == "creating" else endpoint(s)))
    describe = vars(RDSBackend)["describe_db_instances"]

    def describe_db_instances(self: Any, db_instance_identifier: str | None = None, filters: Any = None) -> list[Any]:
        found: list[Any] = describe(self, db_instance_identifier, filters)
        seen = [d for d in found if not world.hidden("rds", self.region_name, d.db_instance_identifier)]
        if db_instance_identifier and not seen:
            raise _error("DBInstanceNotFound", f"DBInstance {db_instance_identifier} not found.")
        return seen

    patches.replace(RDSBackend, "describe_db_instances", describe_db_instances)


def _install_subnet_groups(patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def create_subnet_group(self: Any, name: str, description: str, subnets: list[Any], tags: Any) -> Any:
        if name.lower() in self.subnet_groups:
            raise _error("DBSubnetGroupAlreadyExists", f"The DB subnet group {name} already exists.")
        if len({s.vpc_id for s in subnets}) > 1:
            raise _error("InvalidSubnet", "The subnets are not all in a common VPC.")
        if len({s.availability_zone for s in subnets}) < 2:
            raise _error(
                "DBSubnetGroupDoesNotCoverEnoughAZs",
                "The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement.",
            )
        return create(self, name, description, subnets, tags)

    def delete_subnet_group(self: Any, name: str) -> Any:
        for database in self.databases.values():
            if database._db_subnet_group_name == name:
                raise _error(
                    "InvalidDBSubnetGroupStateFault",
                    f"Cannot delete the subnet group '{name}' because at least one database instance: "
                    f"{database.db_instance_identifier} is still using it.",
                )
        return delete(self, name)

    create = patches.replace(RDSBackend, "create_subnet_group", create_subnet_group)
    delete = patches.replace(RDSBackend, "delete_subnet_group", delete_subnet_group)


def _install_life_cycle(world: World, patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def create_db_instance(self: Any, kw: dict[str, Any]) -> Any:
        if kw["db_instance_identifier"] not in self.databases:
            validate(self, kw)
        instance = create(self, kw)
        name = instance.db_instance_identifier
        instance.engine_version = VERSIONS.get(str(kw.get("engine_version")), instance.engine_version)
        instance.dbi_resource_id = f"db-{name.upper()}"
        instance.status = "creating"
        then = world.fail_next.pop("rds", "available")
        world.begin("rds", self.region_name, name, world.durations.rds_create_s, then)
        world.note_birth("rds", self.region_name, name)
        return instance

    def modify_db_instance(self: Any, name: str, kw: dict[str, Any]) -> Any:
        instance = self.databases.get(name)
        if instance is not None and instance.status != "available":
            raise _error("InvalidDBInstanceState", f"Database instance {name} is not in available state.")
        changed = modify(self, name, kw)
        changed.status = "modifying"
        world.begin("rds", self.region_name, name, world.durations.rds_modify_s, "available")
        return changed

    create = patches.replace(RDSBackend, "create_db_instance", create_db_instance)
    modify = patches.replace(RDSBackend, "modify_db_instance", modify_db_instance)
    _install_delete(world, patches)


def _install_delete(world: World, patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def delete_db_instance(
        self: Any,
        db_instance_identifier: str,
        final_db_snapshot_identifier: str | None = None,
        skip_final_snapshot: bool | None = False,
        delete_automated_backups: bool | None = True,
    ) -> Any:
        name = db_instance_identifier
        instance = self.databases.get(name)
        if instance is not None and instance.status == "deleting":
            raise _error("InvalidDBInstanceState", f"Instance {name} is already being deleted.")
        if bool(skip_final_snapshot) == bool(final_db_snapshot_identifier):
            raise _error("InvalidParameterCombination", "Give either SkipFinalSnapshot or FinalDBSnapshotIdentifier.")
        gone = delete(self, name, final_db_snapshot_identifier, skip_final_snapshot, delete_automated_backups)
        self.databases[name] = gone
        world.begin("rds", self.region_name, name, world.durations.rds_delete_s, "")
        return gone

    delete = patches.replace(RDSBackend, "delete_db_instance", delete_db_instance)


def _install_offers(patches: Patches) -> None:
    from moto.core.responses import ActionResult
    from moto.rds.responses import RDSResponse

    def describe_db_engine_versions(self: Any) -> Any:
        wanted = self.params.get("EngineVersion")
        rows = [
            {"Engine": "postgres", "EngineVersion": full, "MajorEngineVersion": major}
            for major, full in VERSIONS.items()
            if wanted in (None, major, full)
        ]
        return ActionResult({"DBEngineVersions": rows if self.params.get("Engine") == "postgres" else []})

    def describe_orderable_db_instance_options(self: Any) -> Any:
        wanted = self.params.get("DBInstanceClass")
        rows = [{"Engine": "postgres", "DBInstanceClass": c, "Vpc": True} for c in CLASSES if wanted in (None, c)]
        return ActionResult({"OrderableDBInstanceOptions": rows})

    patches.replace(RDSResponse, "describe_db_engine_versions", describe_db_engine_versions)
    patches.replace(RDSResponse, "describe_orderable_db_instance_options", describe_orderable_db_instance_options)


def finish(world: World, region: str, name: str, status: str) -> None:
    """A change of an instance is over: it gets its new status, or is gone."""
    from moto.rds.models import rds_backends

    databases = rds_backends[ACCOUNT][region].databases
    if name not in databases:
        return
    if status:
        databases[name].status = status
    else:
        world.linger(list(databases.pop(name).vpc_security_group_ids))
