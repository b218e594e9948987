"""Steps of checks: how a ladder keeps them, and those that older arenas kept."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from arena.checks import CheckStep, Severity
from ladder.store.database import METADATA, Database, get_build_log
from ladder.views import list_check_steps, serialize_step
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


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    postgres = request.param == "postgresql"
    url = str(request.getfixturevalue("postgres_url")) if postgres else f"sqlite:///{tmp_path}/ladder.db"
    with closing(ladder(url, bots="a")) as database:
        yield database


def require_step(connection: Connection) -> None:
    """Demand that the version has the step as it is told, and the log."""
    (version,) = connection.scalars(select(check_steps.c.version)).all()
    assert list_check_steps(connection, version) == (STEP.view(),)
    assert get_build_log(connection, version) == LOG


def test_a_step_comes_back_as_it_is_told_whatever_a_bot_wrote(database: Database) -> None:
    """Bytes that aren't UTF-8, half surrogates of a file's name, and NUL, which PostgreSQL takes in no text."""

    def act(connection: Connection) -> None:
        data, log = serialize_step(STEP)
        connection.execute(update(check_steps).values(data=data, build_log=log))
        require_step(connection)

    database.write(act)
