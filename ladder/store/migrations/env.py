"""Let Alembic run our revisions over the connection that `connection` passes to it."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=context.config.attributes["tables"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
