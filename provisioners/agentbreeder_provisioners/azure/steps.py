"""From a plan to Azure steps: pure, and what `plan` prints. Six for a PostgreSQL, three for a Redis, two for a vault."""

from __future__ import annotations

from agentbreeder_resolver.plan_types import MemoryPlan, PostgresStore

from ..engine.sources import EnvSource
from ..engine.steps import Step
from .store_steps import postgres_steps, redis_steps
from .vault_steps import Place, access_steps, secret_step, vault_steps


def steps_for(plan: MemoryPlan) -> list[Step]:
    """Everything this plan needs on Azure, each step after what it needs."""
    place = Place.of(plan)
    stores = plan.provisioned()
    steps: list[Step] = vault_steps(place) if place.own_vault and (stores or plan.secret_urls) else []
    for store in stores:
        steps += postgres_steps(plan, store, place) if isinstance(store, PostgresStore) else redis_steps(store, place)
    for url in plan.secret_urls:
        step_id = f"azure/{url.id}/secret"
        why = f"{url.source} carries a password, which belongs in the vault"
        steps.append(secret_step(step_id, url.id, place, why, extra={"value_of": url.id}, always=True))
        steps += access_steps(url.id, step_id, place)
    return steps


def env_sources(plan: MemoryPlan) -> dict[str, EnvSource]:
    """Where each origin's value is found once its step is ready: the whole secret is the URL, so there is no key."""
    sources = {
        "store:postgresql": EnvSource(step="azure/postgres/url", output="secret_id", secret=True),
        "store:redis": EnvSource(step="azure/redis/url", output="secret_id", secret=True),
    }
    for url in plan.secret_urls:
        sources[f"url:{url.id}"] = EnvSource(step=f"azure/{url.id}/secret", output="secret_id", secret=True)
    return sources
