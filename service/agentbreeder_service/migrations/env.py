"""Run by Alembic with the connection that `migrate.py` hands over."""

from __future__ import annotations

from alembic import context

from agentbreeder_service.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table="memory_service_version",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
