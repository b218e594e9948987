"""Faults of a match's bots are those that they committed: what follows from others is no fault of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute(
        sa.text(
            "UPDATE match_bots SET faults = (SELECT COALESCE(SUM(faults.count), 0) FROM faults WHERE"
            " faults.match = match_bots.match AND faults.version = match_bots.version"
            " AND faults.code NOT IN ('out_of_lives', 'retired'))"
        )
    )
