"""Create all tables. Until release 1.0 this is the only revision, and it follows `TABLES`; no older one is upgraded."""

from alembic import context, op

revision = "0100"
down_revision = None


def upgrade() -> None:
    context.config.attributes["tables"].create_all(op.get_bind())
