"""(e) What each cloud's path costs to import, against importing that cloud's SDK alone. Goal: 1.2 at most."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7
_OPEN = """
import threading
from agentbreeder_core.clock import SystemClock
from agentbreeder_provisioners.clouds import CLOUDS
provider = CLOUDS[{cloud!r}].open(account="a", region="r", clock=SystemClock(), cancel=threading.Event(), secrets={{}})
provider.kinds()
"""
SDKS = {
    "aws": "import boto3, tenacity",
    "gcp": "import tenacity, google.auth.transport.requests; "
    "from google.cloud import redis_v1, secretmanager_v1; import google.api_core.exceptions",
    "azure": "import tenacity, azure.identity; from azure.mgmt import postgresqlflexibleservers, redisenterprise, redis, "
    "keyvault, privatedns; from azure.keyvault import secrets",
}


def _once(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - started


def imports() -> None:
    """Interleaved runs. The path loads its SDK at the first call, so both parts are measured together."""
    for cloud, sdk in SDKS.items():
        pairs = [(_once(sdk), _once(_OPEN.format(cloud=cloud) + sdk)) for _ in range(RUNS + 1)][1:]
        alone, whole = (statistics.median(p[i] for p in pairs) * 1000 for i in (0, 1))
        without = statistics.median(_once(_OPEN.format(cloud=cloud)) for _ in range(3)) * 1000
        ratio = statistics.median(w / a for a, w in pairs)
        print(
            f"{cloud:<6} SDK alone {alone:6.0f} ms, our path with it {whole:6.0f} ms, without {without:6.0f} ms   ratio {ratio:.2f}"
        )
