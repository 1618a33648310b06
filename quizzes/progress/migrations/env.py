"""Alembic's environment: runs in the transaction that quizzes/progress/database.py opened."""

from alembic import context

from quizzes.progress.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
