"""Alembic's environment: runs in the transaction that quizzes/progress_database.py opened."""

from alembic import context

from quizzes.progress_tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
