"""Alembic's revisions of the service's database; `agentbreeder db upgrade` runs them."""
