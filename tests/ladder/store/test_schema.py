"""Tests of the schema of a ladder's database: new, old, and foreign ones."""

from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from ladder.store.database import METADATA, NEWEST_REVISION, Database, DatabaseError, prepare_schema
from tests.ladder.store.databases import ladder


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path}/ladder.db"


def test_the_revisions_make_the_tables(url: str) -> None:
    """A change of a table without a revision fails here."""
    with closing(ladder(url)) as database, database.read() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, METADATA) == []
        assert context.get_current_revision() == NEWEST_REVISION


def test_a_database_holds_one_ladder(url: str) -> None:
    with closing(Database(url)) as database:
        with pytest.raises(DatabaseError, match="contains no ladder; create one: arena ladder init LADDER"):
            prepare_schema(database)
        prepare_schema(database, new=True)
        prepare_schema(database)
        with pytest.raises(DatabaseError, match="contains a ladder already"):
            prepare_schema(database, new=True)


@pytest.mark.parametrize("revision", ["0010", "9999"])
def test_the_database_of_another_version_is_refused(url: str, revision: str) -> None:
    with closing(ladder(url)) as database:
        database.write(
            lambda connection: connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        )
        with pytest.raises(DatabaseError, match=rf"another version .* \(revision {revision}\): install that"):
            prepare_schema(database)


def test_an_invalid_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="write sqlite:///PATH or postgresql"):
        Database("spring.db")
    (tmp_path / "ladder.db").write_text("no database at all, but a text that is long enough to be looked at" * 20)
    with (
        closing(Database(f"sqlite:///{tmp_path}/ladder.db", patience_s=0)) as database,
        pytest.raises(DatabaseError, match="file is not a database"),
    ):
        prepare_schema(database)
