"""Attempts are spaced, losses of runners count apart from them, and a worker's death is known."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    for table in ("matches", "versions"):
        op.add_column(table, sa.Column("losses", sa.Integer(), nullable=False, server_default="0"))
        op.add_column(table, sa.Column("failed_at", sa.Float(), nullable=True))
    op.add_column("voids", sa.Column("died", sa.Boolean(), nullable=False, server_default=sa.false()))
