"""Tests of an unavailable database: one message and one deadline for each outage."""

import gc
import time
from contextlib import closing

import pytest
from sqlalchemy.exc import OperationalError

from ladder.store import Database, DatabaseUnavailableError, all_bots, create_schema, export_tables
from tests.ports import free_port
from tests.postgres import Postgres


def test_an_outage_and_its_end_are_reported_once(postgres_server: Postgres) -> None:
    heard: list[str | None] = []

    def hear(why: str | None) -> None:
        heard.append(why)
        if why is not None:
            postgres_server.start()

    with closing(Database(postgres_server.create("outages"), hear=hear)) as database:
        create_schema(database)
        for count in (1, 2):
            postgres_server.stop()
            assert database.write(all_bots) == []
            assert database.losses == count
            why, back = heard[-2:]
            assert "the database can't be used" in str(why)
            assert back is None
    assert len(heard) == 4


def test_an_outage_during_a_stream_leaves_no_open_cursor(postgres_server: Postgres) -> None:
    """An open cursor is a ResourceWarning, which is an error here."""
    with closing(Database(postgres_server.create("streams"))) as database:
        create_schema(database)
        with database.engine.connect() as connection:
            postgres_server.stop()
            with pytest.raises(OperationalError):
                next(export_tables(connection, with_logins=False))
    gc.collect()
    postgres_server.start()


@pytest.mark.clock
def test_an_outage_has_one_deadline() -> None:
    """A caller that continues, for example to leave, doesn't wait again: a runner took 240 s instead of 120."""
    heard: list[str | None] = []
    url = f"postgresql+psycopg://unknown@127.0.0.1:{free_port()}/nothing"
    with closing(Database(url, patience_s=1.5, hear=heard.append)) as database:
        began = time.monotonic()
        for act in (database.write, database.read_with_retry, database.write):
            with pytest.raises(DatabaseUnavailableError):
                act(all_bots)
        assert time.monotonic() - began < 3
    assert len(heard) == database.losses == 1
    assert "waiting up to 1.5 s" in str(heard[0])
