"""Passwords let people in; a hash of each is kept."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("credentials", sa.Column("hash", sa.Text(), nullable=True))
