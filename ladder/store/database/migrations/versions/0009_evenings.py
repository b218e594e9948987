"""Evenings: tables for people and programs from home, and the processes that play them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "evenings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("clock_s", sa.Integer(), nullable=True),
        sa.Column("watch", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("runner", sa.String(length=40), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.id"], name=op.f("fk_evenings_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evenings")),
    )
    op.create_index(op.f("ix_evenings_owner"), "evenings", ["owner"])
    op.create_index(op.f("ix_evenings_state"), "evenings", ["state"])
    op.create_table(
        "evening_places",
        sa.Column("evening", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("owner", sa.Integer(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["evening"], ["evenings.id"], name=op.f("fk_evening_places_evening")),
        sa.ForeignKeyConstraint(["owner"], ["owners.id"], name=op.f("fk_evening_places_owner")),
        sa.ForeignKeyConstraint(["version"], ["versions.id"], name=op.f("fk_evening_places_version")),
        sa.PrimaryKeyConstraint("evening", "place", name=op.f("pk_evening_places")),
        sa.UniqueConstraint("digest", name=op.f("uq_evening_places_digest")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "evening_matches",
        sa.Column("evening", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["evening"], ["evenings.id"], name=op.f("fk_evening_matches_evening")),
        sa.PrimaryKeyConstraint("evening", "number", name=op.f("pk_evening_matches")),
    )
    op.execute("ALTER TABLE events ADD COLUMN evening INTEGER CONSTRAINT fk_events_evening REFERENCES evenings (id)")
    op.add_column("runners", sa.Column("port", sa.Integer(), nullable=True))
    op.add_column("runners", sa.Column("secret", sa.Text(), nullable=True))
