"""What a bot did in a match is counted, and kept as long as the record; its language is known."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("versions", sa.Column("language", sa.String(20), nullable=True))
    op.add_column("match_bots", sa.Column("style", sa.Text(), nullable=True))
