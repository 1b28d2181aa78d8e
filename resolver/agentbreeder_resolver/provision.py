"""`memory.provision`: what may be asked for on each cloud, with a safe small default for each. Data, then one reader."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .reader import Section

_AWS_CLASS = re.compile(r"db\.[a-z0-9]+\.[a-z0-9]+", re.ASCII)
_AWS_NODE = re.compile(r"cache\.[a-z0-9]+\.[a-z0-9]+", re.ASCII)
_GCP_TIER = re.compile(r"db-(f1-micro|g1-small|custom-[1-9][0-9]*-[1-9][0-9]*)", re.ASCII)
_GCP_REDIS = re.compile(r"(BASIC|STANDARD_HA)(_[1-9][0-9]{0,2}GB)?", re.ASCII)
_AZURE_SKU = re.compile(r"Standard_[A-Z][A-Za-z0-9_]*", re.ASCII)
_AZURE_MANAGED = re.compile(r"(Balanced|MemoryOptimized|ComputeOptimized)_[A-Z][0-9]+", re.ASCII)
_AZURE_CACHE = re.compile(r"(Basic_C|Standard_C|Premium_P)[0-9]", re.ASCII)
_MAJOR = re.compile(r"[1-9][0-9]?", re.ASCII)

KEYS = (
    "instance_class",
    "storage_gib",
    "engine",
    "engine_version",
    "backup_days",
    "multi_az",
    "deletion_protection",
    "tls",
    "azure_redis",
    "network",
)
NETWORK_KEYS: dict[str, tuple[str, ...]] = {
    "aws": ("subnet_ids", "security_group_ids", "vpc_id"),
    "gcp": ("vpc_network",),
    "azure": ("vnet_name", "db_subnet_id"),
}
NETWORK_LISTS = frozenset({"subnet_ids", "security_group_ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What one store may have on one cloud. `storage` and `backups` are inclusive ranges, None where there is no such thing."""

    instance_class: str
    class_pattern: re.Pattern[str]
    engines: dict[str, tuple[str, ...]]  # engine -> majors offered, the default first
    storage: tuple[int, int, int] | None = None  # default, least, most (GiB)
    backups: tuple[int, int, int] | None = None  # default, least, most (days)
    multi_az: bool = True
    deletion_protection: bool = False
    tls: bool = False


_POSTGRES: dict[str, tuple[str, ...]] = {"postgres": ("17", "18", "16", "15")}
SIZES: dict[tuple[str, str], Sizes] = {
    ("aws", "postgresql"): Sizes(
        instance_class="db.t4g.micro",
        class_pattern=_AWS_CLASS,
        engines=_POSTGRES,
        storage=(20, 20, 65536),
        backups=(7, 0, 35),
        deletion_protection=True,
    ),
    ("aws", "redis"): Sizes(
        instance_class="cache.t4g.micro",
        class_pattern=_AWS_NODE,
        engines={"valkey": ("8", "7"), "redis": ("7", "6")},
        backups=(0, 0, 35),
        tls=True,
    ),
    ("gcp", "postgresql"): Sizes(
        instance_class="db-g1-small",
        class_pattern=_GCP_TIER,
        engines=_POSTGRES,
        storage=(10, 10, 65536),
        backups=(7, 1, 365),
        deletion_protection=True,
    ),
    ("gcp", "redis"): Sizes(
        instance_class="BASIC", class_pattern=_GCP_REDIS, engines={"redis": ("7", "6")}, storage=None, tls=True
    ),
    ("azure", "postgresql"): Sizes(
        instance_class="Standard_B1ms",
        class_pattern=_AZURE_SKU,
        engines=_POSTGRES,
        storage=(32, 32, 32768),
        backups=(7, 7, 35),
    ),
    ("azure", "redis"): Sizes(
        instance_class="Balanced_B0", class_pattern=_AZURE_MANAGED, engines={"redis": ("7",)}, tls=True
    ),
    ("azure", "redis-cache"): Sizes(
        instance_class="Basic_C0", class_pattern=_AZURE_CACHE, engines={"redis": ("6",)}, multi_az=False, tls=True
    ),
}


def sizes_of(cloud: str, family: str, azure_redis: str = "managed") -> Sizes | None:
    """What `cloud` offers for `family`; Azure has two Redis products. None where nothing is made."""
    return SIZES.get((cloud, "redis-cache" if (cloud, family, azure_redis) == ("azure", "redis", "cache") else family))


def read_provision(section: Section, cloud: str, family: str) -> dict[str, Any]:
    """The keys that were written, checked against what this cloud offers for this store. Notes every problem."""
    section.refuse_unknown(KEYS)
    sizes = sizes_of(cloud, family, section.text("azure_redis") or "managed")
    values: dict[str, Any] = {}
    _read_texts(section, sizes, values)
    _read_range(section, "storage_gib", sizes.storage if sizes else None, bool(sizes), values)
    _read_range(section, "backup_days", sizes.backups if sizes else None, bool(sizes), values)
    for key, allowed in (
        ("multi_az", sizes is None or sizes.multi_az),
        ("deletion_protection", sizes is None or _protects(cloud, family)),
        ("tls", sizes is None or sizes.tls),
    ):
        flag = section.boolean(key)
        if flag is not None and flag and not allowed:
            _refuse(section, key, f"{key} does not apply to {family} on {cloud}")
        elif flag is not None:
            values[key] = flag
    choice = section.text("azure_redis")
    if choice is not None:
        if cloud != "azure" or choice not in ("managed", "cache"):
            _refuse(section, "azure_redis", "azure_redis is managed or cache, and only on azure")
        values["azure_redis"] = choice
    network = section.section("network")
    if network is not None:
        values["network"] = _read_network(network, cloud)
    return values


def _protects(cloud: str, family: str) -> bool:
    """Beside redis memory it is for the PostgreSQL of a knowledge base."""
    sizes = sizes_of(cloud, "postgresql" if family == "redis" else family)
    return sizes is not None and sizes.deletion_protection


def _refuse(section: Section, key: str, message: str) -> None:
    section.problems.add("PROVISION", message, section.node_of(key), section.key(key))


def _read_texts(section: Section, sizes: Sizes | None, values: dict[str, Any]) -> None:
    name = section.text("instance_class")
    if name is not None:
        if sizes and not sizes.class_pattern.fullmatch(name):
            _refuse(
                section, "instance_class", f"{name!r} is no instance class here; the default is {sizes.instance_class}"
            )
        values["instance_class"] = name
    engine = section.text("engine")
    engines = sizes.engines if sizes else {}
    if engine is not None:
        if sizes and engine not in engines:
            _refuse(section, "engine", f"engine is one of {', '.join(engines)} here")
        values["engine"] = engine
    version = section.text("engine_version", exact_numbers=True)
    if version is None:
        return
    offered = engines.get(engine or next(iter(engines), ""), ())
    if "." in version:
        _refuse(
            section,
            "engine_version",
            f"give the major version only ({version.split('.')[0]}); minor ones are withdrawn",
        )
    elif not _MAJOR.fullmatch(version) or (offered and version not in offered):
        _refuse(section, "engine_version", f"version {version!r} is not offered here; known are {', '.join(offered)}")
    values["engine_version"] = version


def _read_range(
    section: Section, key: str, allowed: tuple[int, int, int] | None, known: bool, values: dict[str, Any]
) -> None:
    number = section.integer(key)
    if number is None:
        return
    if known and allowed is None:
        _refuse(section, key, f"{key} does not apply to this store")
    elif allowed is not None and not allowed[1] <= number <= allowed[2]:
        _refuse(section, key, f"{key} must be from {allowed[1]} to {allowed[2]}, not {number}")
    values[key] = number


def _read_network(section: Section, cloud: str) -> dict[str, Any]:
    known = NETWORK_KEYS.get(cloud) or tuple(k for keys in NETWORK_KEYS.values() for k in keys)
    section.refuse_unknown(known)
    values: dict[str, Any] = {}
    for key in known:
        if key in NETWORK_LISTS:
            if section.node_of(key) is not None:
                values[key] = [t for t, _ in section.texts(key)]
        else:
            text = section.text(key)
            if text is not None:
                values[key] = text
    return values
