"""Tests of the schema of a ladder's database: new, old, and foreign ones."""

from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from ladder import store
from tests.ladder.store.databases import ladder


def test_the_revisions_make_the_tables(database_url: str) -> None:
    """A change of a table without a revision fails here."""
    with closing(ladder(database_url)) as database, database.read() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, store.METADATA) == []
        assert context.get_current_revision() == store.NEWEST_REVISION


def test_the_newest_revision_is_the_head_of_alembic() -> None:
    """The head is found without Alembic, whose import is slow. Two revisions after one would be two heads."""
    config = Config()
    config.set_main_option("script_location", "ladder/store/migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [store.NEWEST_REVISION]


def test_a_database_holds_one_ladder(database_url: str) -> None:
    with closing(store.Database(database_url, check=store.require_revision)) as database:
        with pytest.raises(store.DatabaseError, match="contains no ladder; correct `database` in ladder"):
            database.read_with_retry(store.require_revision)
        with closing(store.Database(database_url)) as new:
            store.create_schema(new)
        database.read_with_retry(store.require_revision)
        with pytest.raises(store.DatabaseError, match="contains a ladder already"):
            store.create_schema(database)


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0010", r"before 1\.0 .* \(schema 0010\), .*; keep using"),
        ("9999", "a newer version .* schema 9999.*; install"),
    ],
)
def test_the_database_of_another_version_is_refused(database_url: str, revision: str, message: str) -> None:
    """A process that has it open finds the revision by its heartbeat, and uses the database no more."""
    with (
        closing(ladder(database_url)) as made,
        closing(store.Database(database_url, check=store.require_revision)) as database,
    ):
        runner = database.write(lambda connection: store.register_runner(connection, 1, 0.0))
        made.write(
            lambda connection: connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        )
        with pytest.raises(store.SchemaError, match=message):
            database.write(lambda connection: store.record_heartbeat(connection, runner, 1))
        with pytest.raises(store.SchemaError, match=message):
            database.read_with_retry(lambda connection: len(store.list_live_runners(connection)))
        with pytest.raises(store.SchemaError, match=message):
            store.upgrade_schema(made)


def test_an_invalid_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(store.DatabaseError, match="write sqlite:///PATH or postgresql"):
        store.Database("spring.db")
    (tmp_path / "ladder.db").write_text("no database at all, but a text that is long enough to be looked at" * 20)
    with (
        closing(store.Database(f"sqlite:///{tmp_path}/ladder.db", patience_s=0)) as database,
        pytest.raises(store.DatabaseError, match="file is not a database"),
    ):
        store.create_schema(database)


def test_a_database_of_another_user_is_named_with_both_users(tmp_path: Path, modes_count: None) -> None:
    file = tmp_path / "ladder.db"
    ladder(f"sqlite:///{file}").close()
    owner = file.owner()
    file.chmod(0)
    with (
        closing(store.Database(f"sqlite:///{file}", patience_s=0)) as database,
        pytest.raises(
            store.DatabaseError,
            match=f"{file}: unable to open .*; {file} belongs to {owner}, and this process runs as [^:]*$",
        ),
    ):
        database.read_with_retry(store.require_revision)
