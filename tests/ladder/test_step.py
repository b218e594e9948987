"""Tests of the stored form of a check's steps, and of those that older arenas stored."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection, select, update

from arena.checks import CheckStep, Severity
from ladder.bot_pages import list_check_steps, serialize_step
from ladder.store import METADATA, Database, get_build_log
from tests.ladder.store.databases import ladder

LOG = bytes(range(256))
STEP = CheckStep(
    "hello",
    Severity.NOTE,
    "a\udcff\0",
    advice="do\nthis",
    number=1,
    sent=b"{}",
    received=b"\xff\0",
    stderr=(b"\xff\xfe", b"", "é\u2028".encode()),
    timings=(("a", "b"), ("c",)),
    log=LOG,
)
check_steps = METADATA.tables["check_steps"]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(ladder(database_url, bots="a")) as database:
        yield database


def require_step(connection: Connection) -> None:
    (version,) = connection.scalars(select(check_steps.c.version)).all()
    assert list_check_steps(connection, version) == (STEP.view(),)
    assert get_build_log(connection, version) == LOG


def test_a_step_is_stored_unchanged_whatever_a_bot_wrote(database: Database) -> None:
    """Bots write bytes that aren't UTF-8, half surrogates, and NUL, which PostgreSQL refuses in text."""

    def act(connection: Connection) -> None:
        data, log = serialize_step(STEP)
        connection.execute(update(check_steps).values(data=data, build_log=log))
        require_step(connection)

    database.write(act)
