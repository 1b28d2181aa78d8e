"""The service's own table, for every dialect. Messages are in the runtime's tables, which the migrations write out."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()
CONFIGS = sa.Table(
    "memory_configs",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("team", sa.String(128), nullable=False),
    sa.Column("name", sa.String(63), nullable=False),
    sa.Column("backend_type", sa.String(16), nullable=False),
    sa.Column("memory_type", sa.String(16), nullable=False),
    sa.Column("max_messages", sa.Integer, nullable=False),
    sa.Column("ttl_seconds", sa.Integer, nullable=True),
    sa.Column("namespace_pattern", sa.String(200), nullable=False),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("linked_agents", sa.JSON, nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    sa.UniqueConstraint("team", "name", name="memory_configs_team_name"),
)
