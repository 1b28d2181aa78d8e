"""What an agent's container runs: `MemoryManager`, from the variables that deploy injected. No cloud SDK."""

from substrate.connect.errors import DriverMissing, StoreError, StoreMisconfigured, StoreUnavailable

from .manager import Health, MemoryManager
from .settings import MemorySettings
from .sync import SyncMemoryManager

__all__ = [
    "DriverMissing",
    "Health",
    "MemoryManager",
    "MemorySettings",
    "StoreError",
    "StoreMisconfigured",
    "StoreUnavailable",
    "SyncMemoryManager",
]
