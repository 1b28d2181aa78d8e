"""RDS as AWS behaves and moto does not: states that take time, in-use refusals, versions and classes on offer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from .rds_rules import (
    CLASSES,
    LIFECYCLE,
    VERSIONS,
    check_create,
    check_subnet_group,
    check_subnets_exist,
    check_tags,
    minor_of,
    refusal,
)
from .world import ACCOUNT, Due, Patches, World

_BACKING_UP = 5 / 6  # of the time that creating takes, the first backup is the last sixth
_ONLY_SKIP = frozenset({"creating", "failed", "incompatible-restore", "incompatible-network"})


def install(world: World, patches: Patches) -> None:
    """Patch moto's RDS backend and response classes."""
    _install_subnet_groups(patches)
    _install_create(world, patches)
    _install_modify(world, patches)
    _install_delete(world, patches)
    _install_describe(world, patches)
    _install_offers(patches)


def finish(world: World, due: Due) -> None:
    """A stage of an instance is over: it gets its new status, or is gone."""
    from moto.rds.models import rds_backends

    databases = rds_backends[ACCOUNT][due.region].databases
    if due.name not in databases:
        return
    if due.status:
        databases[due.name].status = due.status
    else:
        world.linger(databases.pop(due.name).vpc_security_group_ids, due.at)


def _install_subnet_groups(patches: Patches) -> None:
    from moto.ec2.models import ec2_backends
    from moto.rds.models import RDSBackend
    from moto.rds.responses import RDSResponse

    def create_db_subnet_group(self: Any) -> Any:
        check_subnets_exist(ec2_backends[self.current_account][self.region], self.params.get("SubnetIds", []))
        return answer(self)

    def create_subnet_group(self: Any, name: str, description: str, subnets: list[Any], tags: Any) -> Any:
        check_tags(tags or ())
        check_subnet_group(self, name, subnets)
        return create(self, name, description, subnets, tags)

    def delete_subnet_group(self: Any, name: str) -> Any:
        for database in self.databases.values():
            if (database._db_subnet_group_name or "").lower() == name.lower():
                raise refusal(
                    "InvalidDBSubnetGroupStateFault",
                    f"Cannot delete the subnet group '{name}' because at least one database instance: "
                    f"{database.db_instance_identifier} is still using it.",
                )
        return delete(self, name)

    answer = patches.replace(RDSResponse, "create_db_subnet_group", create_db_subnet_group)
    create = patches.replace(RDSBackend, "create_subnet_group", create_subnet_group)
    delete = patches.replace(RDSBackend, "delete_subnet_group", delete_subnet_group)


def _install_create(world: World, patches: Patches) -> None:
    from moto.rds.models import DBInstance, RDSBackend

    def create_db_instance(self: Any, kw: dict[str, Any]) -> Any:
        if kw["db_instance_identifier"] not in self.databases:
            check_create(self, kw)
        instance = create(self, kw)
        name, seconds = instance.db_instance_identifier, world.durations.rds_create_s
        if instance.engine == "postgres":
            instance.engine_version = minor_of(kw.get("engine_version"))
        instance.engine_lifecycle_support = kw.get("engine_lifecycle_support") or LIFECYCLE
        instance.dbi_resource_id = f"db-{uuid4().hex[:26].upper()}"  # moto's is one constant for all
        instance.given_password = kw.get("master_user_password") or ""  # moto does not give its own back
        instance.status = "creating"
        failed = world.fail_next.pop("rds", "")
        stages = [(seconds, failed)] if failed else [(seconds * _BACKING_UP, "backing-up"), (seconds, "available")]
        world.begin("rds", self.region_name, name, *stages)
        world.note_birth("rds", self.region_name, name)
        return instance

    def endpoint(self: Any) -> Any:
        # An instance that never came up never gets an address.
        if self.status in ("creating", "failed", "incompatible-network"):
            return None
        found = address(self)
        if world.plane is None or self.engine != "postgres":
            return found
        key = self.dbi_resource_id
        host, port = world.plane.postgres(key)
        world.plane.role(key, self.master_username, self.given_password)
        world.plane.database(key, self.db_name or "postgres")
        return {**found, "Address": host, "Port": port}

    create = patches.replace(RDSBackend, "create_db_instance", create_db_instance)
    address = vars(DBInstance)["endpoint"].fget
    patches.replace(DBInstance, "endpoint", property(endpoint))


def _install_modify(world: World, patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def modify_db_instance(self: Any, name: str, kw: dict[str, Any]) -> Any:
        instance = self.databases.get(name)
        if instance is not None and instance.status != "available":
            raise refusal("InvalidDBInstanceState", f"Database instance {name} is not in available state.")
        changed = modify(self, name, kw)
        changed.status = "modifying"
        stage = (world.durations.rds_modify_s, "available")
        world.begin("rds", self.region_name, changed.db_instance_identifier, stage)
        return changed

    modify = patches.replace(RDSBackend, "modify_db_instance", modify_db_instance)


def _install_delete(world: World, patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def delete_db_instance(
        self: Any,
        db_instance_identifier: str,
        final_db_snapshot_identifier: str | None = None,
        skip_final_snapshot: bool | None = False,
        delete_automated_backups: bool | None = True,
    ) -> Any:
        name, snapshot, skip = db_instance_identifier, final_db_snapshot_identifier, bool(skip_final_snapshot)
        instance = self.databases.get(name)
        if instance is not None and instance.status == "deleting":
            raise refusal("InvalidDBInstanceState", f"Instance {name} is already being deleted.")
        if not skip and not snapshot:
            raise refusal(
                "InvalidParameterCombination",
                "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified.",
            )
        if skip and snapshot:
            raise refusal(
                "InvalidParameterCombination",
                "FinalDBSnapshotIdentifier cannot be specified when SkipFinalSnapshot is true.",
            )
        if snapshot and instance is not None and instance.status in _ONLY_SKIP:
            # No report gives the wording; the API's model gives the rule for the failed ones.
            raise refusal(
                "InvalidDBInstanceState",
                f"Cannot create a snapshot because the database instance {name} is {instance.status}.",
            )
        gone = delete(self, name, snapshot, skip, delete_automated_backups)
        self.databases[gone.db_instance_identifier] = gone
        world.begin("rds", self.region_name, gone.db_instance_identifier, (world.durations.rds_delete_s, ""))
        return gone

    delete = patches.replace(RDSBackend, "delete_db_instance", delete_db_instance)


def _install_describe(world: World, patches: Patches) -> None:
    from moto.rds.models import RDSBackend

    def describe_db_instances(self: Any, db_instance_identifier: str | None = None, filters: Any = None) -> list[Any]:
        found: list[Any] = describe(self, db_instance_identifier, filters)
        seen = [d for d in found if not world.hidden("rds", self.region_name, d.db_instance_identifier)]
        if db_instance_identifier and not seen:
            raise refusal("DBInstanceNotFound", f"DBInstance {db_instance_identifier} not found.")
        return seen

    describe = patches.replace(RDSBackend, "describe_db_instances", describe_db_instances)


def _offered(params: Any) -> Iterator[tuple[str, str]]:
    """(major, minor) of the PostgreSQL versions that fit `Engine`, `EngineVersion` and `DefaultOnly`."""
    if params.get("Engine") not in (None, "postgres"):
        return
    wanted = params.get("EngineVersion")
    for major, minors in VERSIONS.items():
        for minor in minors:
            default = minor == minors[-1]
            if wanted in (None, major, minor) and (default or not params.get("DefaultOnly")):
                yield major, minor


def _install_offers(patches: Patches) -> None:
    from moto.core.responses import ActionResult
    from moto.rds.responses import RDSResponse

    def describe_db_engine_versions(self: Any) -> Any:
        rows = [
            {
                "Engine": "postgres",
                "EngineVersion": minor,
                "MajorEngineVersion": major,
                "DBParameterGroupFamily": f"postgres{major}",
                "DBEngineVersionDescription": f"PostgreSQL {minor}",
                "Status": "available",
            }
            for major, minor in _offered(self.params)
        ]
        return ActionResult({"DBEngineVersions": rows})

    def describe_orderable_db_instance_options(self: Any) -> Any:
        wanted = self.params.get("DBInstanceClass")
        rows = [
            {
                "Engine": "postgres",
                "EngineVersion": minor,
                "DBInstanceClass": name,
                "StorageType": "gp3",
                "Vpc": True,
                "MultiAZCapable": True,
                "SupportsStorageEncryption": True,
            }
            for _, minor in _offered(self.params)
            for name in CLASSES
            if wanted in (None, name)
        ]
        return ActionResult({"OrderableDBInstanceOptions": rows})

    patches.replace(RDSResponse, "describe_db_engine_versions", describe_db_engine_versions)
    patches.replace(RDSResponse, "describe_orderable_db_instance_options", describe_orderable_db_instance_options)
