"""Series: a row for each version and day, in place of a day's whole table as JSON."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_NUMBERS = ("rating", "rating_low", "rating_high", "share", "adjusted", "adjusted_low", "adjusted_high")


def upgrade() -> None:
    series = op.create_table(
        "series",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("place", "best_rank", "worst_rank")),
        *(sa.Column(name, sa.Float(), nullable=name != "rating") for name in _NUMBERS),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("games", "matches", "forfeits", "faults")),
        sa.ForeignKeyConstraint(["version"], ["versions.id"], name=op.f("fk_series_version")),
        sa.PrimaryKeyConstraint("day", "version", name=op.f("pk_series")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_series_version"), "series", ["version", "day"])
    boards = sa.table("boards", sa.column("day"), sa.column("number"), sa.column("data"))
    connection = op.get_bind()
    kept = connection.execute(sa.select(boards.c.day, boards.c.data).order_by(boards.c.number.desc())).all()
    for place, (day, data) in enumerate(kept):
        table = json.loads(data)
        rows = [_row(day, row) for row in table["rows"]]
        if rows:
            op.bulk_insert(series, rows)
        if place:  # the newest stays whole
            head = json.dumps({**table, "rows": []})
            connection.execute(sa.update(boards).where(boards.c.day == day).values(data=head))


def _row(day: str, row: dict[str, Any]) -> dict[str, Any]:
    adjusted = row["adjusted"] or {"value": None, "low": None, "high": None}
    return {
        "day": day, "version": row["version"], "place": row["place"], "best_rank": row["ranks"][0],
        "worst_rank": row["ranks"][1], "rating": row["rating"]["value"], "rating_low": row["rating"]["low"],
        "rating_high": row["rating"]["high"], "share": row["share"], "adjusted": adjusted["value"],
        "adjusted_low": adjusted["low"], "adjusted_high": adjusted["high"], "games": row["games"],
        "matches": row["matches"], "forfeits": row["forfeits"], "faults": row["faults"],
    }  # fmt: skip
