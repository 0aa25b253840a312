"""Alembic's entry: the caller brings the connection (see workers/adapters/postgres/migrate.py)."""

from alembic import context

from schemas.tables import Table

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Table.metadata, transaction_per_migration=False)
context.run_migrations()
