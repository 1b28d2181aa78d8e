"""What RDS refuses and moto accepts, and what it offers. Wording follows user reports; codes follow the API's model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

VERSIONS = {
    "13": ("13.22", "13.23"),
    "14": ("14.19", "14.20"),
    "15": ("15.14", "15.15"),
    "16": ("16.10", "16.11"),
    "17": ("17.6", "17.7"),
    "18": ("18.1",),
}
"""Minor versions of PostgreSQL by major; the last is the default."""
_DEFAULT_MAJOR = "17"
CLASSES = (
    *(f"db.t4g.{s}" for s in ("micro", "small", "medium", "large")),
    *(f"db.t3.{s}" for s in ("micro", "small", "medium", "large")),
    *(f"db.m7g.{s}" for s in ("large", "xlarge")),
    *(f"db.r7g.{s}" for s in ("large", "xlarge")),
)
LIFECYCLE = "open-source-rds-extended-support"
"""What AWS enrols an instance in when nothing is said: paid support once its version is out of the free one."""
_LIFECYCLES = frozenset({LIFECYCLE, f"{LIFECYCLE}-disabled"})
_RESERVED_USERS = frozenset({"admin", "rdsadmin", "rds_superuser", "rdsrepladmin"})
_PASSWORD = re.compile(r"""[!-~]{8,128}""")
_NOT_IN_PASSWORD = frozenset("/@\"'")
_DB_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_USER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,15}")
_SUBNET_GROUP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._ -]{0,254}")
_TAG_VALUE = re.compile(r"[\w\s.:/=+@-]{0,256}")


def refusal(code: str, message: str) -> Exception:
    """The error that RDS answers with."""
    from moto.rds.exceptions import RDSClientError

    error: Exception = RDSClientError(code, message)
    return error


def minor_of(version: str | None) -> str | None:
    """The minor version that AWS makes of what was asked for, or None when it has no such version."""
    wanted = version or _DEFAULT_MAJOR
    if wanted in VERSIONS:
        return VERSIONS[wanted][-1]
    return wanted if any(wanted in minors for minors in VERSIONS.values()) else None


def check_create(backend: Any, kw: dict[str, Any]) -> None:
    """Refuse a CreateDBInstance that AWS would refuse. Of engines other than PostgreSQL only the network is judged."""
    if kw.get("engine") == "postgres":
        _check_login(kw)
        _check_engine(kw)
        _check_sizes(kw)
    check_tags(kw.get("tags") or ())
    _check_network(backend, kw)


def check_tags(tags: Iterable[dict[str, str]]) -> None:
    """Letters, digits, white space and `_.:/=+-@`; keys not in AWS's own name spaces."""
    for tag in tags:
        if not _TAG_VALUE.fullmatch(tag.get("Value") or "") or tag["Key"].lower().startswith(("aws:", "rds:")):
            raise refusal("InvalidParameterValue", f"The tag {tag['Key']} has a value or a key that is not valid.")


def _check_login(kw: dict[str, Any]) -> None:
    password, user = kw.get("master_user_password"), str(kw.get("master_username") or "")
    managed = kw.get("manage_master_user_password")
    if managed and password:
        raise refusal(
            "InvalidParameterCombination", "MasterUserPassword and ManageMasterUserPassword exclude each other."
        )
    if not managed and (not password or not _PASSWORD.fullmatch(password) or _NOT_IN_PASSWORD & set(password)):
        raise refusal(
            "InvalidParameterValue",
            "The parameter MasterUserPassword is not a valid password. Only printable ASCII characters besides "
            "'/', '@', '\"', ' ' may be used.",
        )
    if user.lower() in _RESERVED_USERS or user.lower().startswith("pg_"):
        raise refusal(
            "InvalidParameterValue",
            f"MasterUsername {user} cannot be used as it is a reserved word used by the engine",
        )
    if not _USER.fullmatch(user):
        raise refusal("InvalidParameterValue", "The parameter MasterUsername is not a valid identifier.")
    if kw.get("db_name") and not _DB_NAME.fullmatch(kw["db_name"]):
        raise refusal(
            "InvalidParameterValue", "DBName must begin with a letter and contain only alphanumeric characters."
        )


def _check_engine(kw: dict[str, Any]) -> None:
    version, instance_class = kw.get("engine_version"), kw.get("db_instance_class")
    if minor_of(version) is None:
        raise refusal("InvalidParameterCombination", f"Cannot find version {version} for postgres")
    if instance_class not in CLASSES:
        raise refusal(
            "InvalidParameterCombination",
            "RDS does not support creating a DB instance with the following combination: "
            f"DBInstanceClass={instance_class}, Engine=postgres, EngineVersion={minor_of(version)}.",
        )
    if kw.get("engine_lifecycle_support") not in {None, *_LIFECYCLES}:
        raise refusal("InvalidParameterValue", "Invalid EngineLifecycleSupport.")


def _check_sizes(kw: dict[str, Any]) -> None:
    if not 20 <= int(kw.get("allocated_storage") or 0) <= 65536:
        raise refusal(
            "InvalidParameterCombination", "Invalid storage size for engine name postgres and storage type gp3"
        )
    if not 0 <= int(kw.get("backup_retention_period", 1)) <= 35:
        raise refusal("InvalidParameterValue", "Invalid backup retention period. Must be between 0 and 35.")


def _check_network(backend: Any, kw: dict[str, Any]) -> None:
    from moto.ec2.models import ec2_backends

    name = kw.get("db_subnet_group_name")
    group = backend.subnet_groups.get(name) if name else None
    if name and group is None:
        raise refusal("DBSubnetGroupNotFoundFault", f"DB subnet group '{name}' does not exist.")
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    for group_id in kw.get("vpc_security_group_ids") or ():
        found = ec2.get_security_group_from_id(group_id)
        if found is None:
            raise refusal("InvalidParameterValue", f"Invalid security group, groupId= {group_id}, groupName=.")
        if group is not None and found.vpc_id != group.vpc_id:
            raise refusal(
                "InvalidParameterCombination",
                "The DB instance and EC2 security group are in different VPCs. "
                f"The DB instance is in {group.vpc_id} and the EC2 security group is in {found.vpc_id}",
            )


def check_subnets_exist(ec2: Any, subnet_ids: Iterable[str]) -> None:
    """Refuse subnets that this region does not have."""
    known = {subnet_id for by_id in ec2.subnets.values() for subnet_id in by_id}
    unknown = sorted(set(subnet_ids) - known)
    if unknown:
        raise refusal("InvalidSubnet", f"Subnet IDs are required to exist: {', '.join(unknown)}")


def check_subnet_group(backend: Any, name: str, subnets: list[Any]) -> None:
    """Refuse a DB subnet group of a bad or taken name, of two VPCs, or of one zone."""
    if not _SUBNET_GROUP_NAME.fullmatch(name) or name.lower() == "default":
        raise refusal("InvalidParameterValue", f"The parameter DBSubnetGroupName is not a valid identifier: {name}")
    if name in backend.subnet_groups:
        raise refusal("DBSubnetGroupAlreadyExists", f"The DB subnet group {name} already exists.")
    if len({s.vpc_id for s in subnets}) > 1:
        raise refusal("InvalidSubnet", "The subnets are not all in a common VPC.")
    if len({s.availability_zone for s in subnets}) < 2:
        raise refusal(
            "DBSubnetGroupDoesNotCoverEnoughAZs",
            "The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement. "
            "Current AZ coverage is too small: add subnets to cover at least 2 AZs.",
        )
