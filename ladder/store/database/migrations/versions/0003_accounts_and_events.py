"""Accounts and events: people are let in and suspended, and whoever follows a ladder is told what happened."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("owners", sa.Column("suspended", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute("ALTER TABLE acts ADD COLUMN owner INTEGER CONSTRAINT fk_acts_owner REFERENCES owners (id)")
    op.create_index(op.f("ix_acts_owner"), "acts", ["owner"])
    op.create_table(
        "credentials",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("ends", sa.Float(), nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.id"], name=op.f("fk_credentials_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_credentials")),
        sa.UniqueConstraint("digest", name=op.f("uq_credentials_digest")),
    )
    op.create_index(op.f("ix_credentials_owner"), "credentials", ["owner"])
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("what", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("match", sa.Integer(), nullable=True),
        sa.Column("act", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["act"], ["acts.id"], name=op.f("fk_events_act")),
        sa.ForeignKeyConstraint(["match"], ["matches.id"], name=op.f("fk_events_match")),
        sa.ForeignKeyConstraint(["version"], ["versions.id"], name=op.f("fk_events_version")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
