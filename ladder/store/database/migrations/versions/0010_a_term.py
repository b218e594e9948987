"""A term: people who left or were merged, teams, when versions were received, more time, grades handed out, guests."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("events", sa.Column("said", sa.Text(), nullable=True))
    op.add_column("owners", sa.Column("canvas", sa.String(length=100), nullable=True))
    op.add_column("owners", sa.Column("moodle", sa.String(length=100), nullable=True))
    op.add_column("owners", sa.Column("gone", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("owners", sa.Column("waiting", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("owners", sa.Column("merged", sa.Integer(), nullable=True))
    op.add_column("versions", sa.Column("received", sa.Float(), server_default="0", nullable=False))
    op.add_column("versions", sa.Column("by", sa.Text(), nullable=True))
    op.execute("UPDATE versions SET received = at")
    op.add_column("finals", sa.Column("owners", sa.Text(), server_default="[]", nullable=False))
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("name", name=op.f("uq_teams_name")),
    )
    op.create_table(
        "team_members",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.id"], name=op.f("fk_team_members_owner")),
        sa.ForeignKeyConstraint(["team"], ["teams.id"], name=op.f("fk_team_members_team")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_members")),
    )
    op.create_index(op.f("ix_team_members_owner"), "team_members", ["owner"])
    op.create_index(op.f("ix_team_members_team"), "team_members", ["team"])
    op.create_table(
        "extensions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("deadline", sa.String(length=40), nullable=False),
        sa.Column("until", sa.Float(), nullable=True),
        sa.Column("late_days", sa.Integer(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["owners.id"], name=op.f("fk_extensions_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_extensions")),
    )
    op.create_index(op.f("ix_extensions_owner"), "extensions", ["owner"])
    op.create_table(
        "releases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("of", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
        sa.UniqueConstraint("name", name=op.f("uq_releases_name")),
    )
