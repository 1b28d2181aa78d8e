"""Memory configs; messages as the runtime keeps them, with what the service searches by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.util import await_only

from agentbreeder_memory import postgres_sql
from agentbreeder_service import postgres_sql as search
from agentbreeder_service.sqlite_sql import SCHEMA
from agentbreeder_service.tables import CONFIGS

revision, down_revision, branch_labels, depends_on = "0001", None, None, None


def upgrade() -> None:
    """An agent may have made the runtime's tables already: then they are kept, and get what is missing."""
    connection = op.get_bind()
    CONFIGS.create(connection)
    if connection.dialect.name == "sqlite":
        for statement in SCHEMA:
            op.execute(sa.text(statement.replace(":", "\\:")))
        return
    run = connection.exec_driver_sql
    run(f"SELECT pg_advisory_xact_lock({postgres_sql.LOCK})")
    there = run(postgres_sql.IS_THERE).scalar()
    version = int(run(postgres_sql.VERSION).scalar() or 0) if there else 0
    for script in [*postgres_sql.MIGRATIONS[version:], search.SCHEMA]:
        # Whole scripts at once, which only the driver's own method takes; inside the transaction that is open.
        driver = connection.connection.driver_connection
        assert driver is not None
        await_only(driver.execute(script))


def downgrade() -> None:
    """There is nothing before."""
    raise NotImplementedError("this is the first revision")
