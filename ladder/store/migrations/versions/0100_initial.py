"""Create the tables of release 1.0.

0100.sql is written for SQLite, and PostgreSQL has other words for a few things. Both files are frozen: a change of the
tables needs a new revision.
"""

from pathlib import Path

from alembic import op

revision = "0100"
down_revision = None

_POSTGRESQL = {
    "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT": "id SERIAL NOT NULL CONSTRAINT pk_events PRIMARY KEY",
    "( id INTEGER NOT NULL": "( id SERIAL NOT NULL",
    " BLOB": " BYTEA",
    "BOOLEAN DEFAULT 0": "BOOLEAN DEFAULT false",
    " WITHOUT ROWID": "",
}


def upgrade() -> None:
    statements = Path(__file__).with_name("0100.sql").read_text(encoding="utf-8")
    if op.get_bind().dialect.name == "postgresql":
        for word, other in _POSTGRESQL.items():
            statements = statements.replace(word, other)
    for statement in statements.splitlines():
        op.execute(statement)
