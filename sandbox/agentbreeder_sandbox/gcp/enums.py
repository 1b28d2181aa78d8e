"""Numbers of enum values. Discovery documents name them without; the libraries send and want numbers (facts, 1.2)."""

from __future__ import annotations

from collections.abc import Mapping

NUMBERS: dict[tuple[str, str], Mapping[str, int]] = {
    ("Instance", "tier"): {"TIER_UNSPECIFIED": 0, "BASIC": 1, "STANDARD_HA": 3},
    ("Instance", "connectMode"): {"CONNECT_MODE_UNSPECIFIED": 0, "DIRECT_PEERING": 1, "PRIVATE_SERVICE_ACCESS": 2},
    ("Instance", "transitEncryptionMode"): {
        "TRANSIT_ENCRYPTION_MODE_UNSPECIFIED": 0,
        "SERVER_AUTHENTICATION": 1,
        "DISABLED": 2,
    },
    ("Instance", "readReplicasMode"): {
        "READ_REPLICAS_MODE_UNSPECIFIED": 0,
        "READ_REPLICAS_DISABLED": 1,
        "READ_REPLICAS_ENABLED": 2,
    },
    ("Instance", "state"): {
        "STATE_UNSPECIFIED": 0,
        "CREATING": 1,
        "READY": 2,
        "UPDATING": 3,
        "DELETING": 4,
        "REPAIRING": 5,
        "MAINTENANCE": 6,
        "IMPORTING": 8,
        "FAILING_OVER": 9,
    },
    ("PersistenceConfig", "persistenceMode"): {"PERSISTENCE_MODE_UNSPECIFIED": 0, "DISABLED": 1, "RDB": 2},
    ("PersistenceConfig", "rdbSnapshotPeriod"): {
        "SNAPSHOT_PERIOD_UNSPECIFIED": 0,
        "ONE_HOUR": 3,
        "SIX_HOURS": 4,
        "TWELVE_HOURS": 5,
        "TWENTY_FOUR_HOURS": 6,
    },
    ("WeeklyMaintenanceWindow", "day"): {
        "DAY_OF_WEEK_UNSPECIFIED": 0,
        "MONDAY": 1,
        "TUESDAY": 2,
        "WEDNESDAY": 3,
        "THURSDAY": 4,
        "FRIDAY": 5,
        "SATURDAY": 6,
        "SUNDAY": 7,
    },
    ("SecretVersion", "state"): {"STATE_UNSPECIFIED": 0, "ENABLED": 1, "DISABLED": 2, "DESTROYED": 3},
}
"""By (schema, field), for every field that the libraries over REST send or read as a number."""


def name_of(schema: str, field: str, number: int) -> str:
    """The name for a number, "" when there is none."""
    return next((name for name, value in NUMBERS.get((schema, field), {}).items() if value == number), "")
