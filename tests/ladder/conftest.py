"""Fixtures of the ladder's tests: a ladder with a few played matches, to read or to copy.

They also make ladders cheap in the tests' own process. Commands and servers that a test starts are not affected.
"""

import importlib
import shutil
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from ladder.ladder import Ladder, open_ladder
from tests.ladder.store.databases import ladder as make_database
from tests.ladder.term import BROKEN, LATE, Term, begin_ladder, hand_in, write
from tests.postgres import Postgres, postgres
from tests.shared_setup import made_once

intake_process = importlib.import_module("arena.bots.submission_conversion")  # patched below


@contextmanager
def read_here() -> Iterator[None]:
    """Read submissions in this process: to start the helper process takes a tenth of a second.

    tests/bots tests its limits. It is used where a test starts a command or a server.
    """

    def here(job: Sequence[Any], _limits: Any) -> tuple[dict[str, Any], bytes]:
        return intake_process._convert_from_input(*job)  # type: ignore[no-any-return]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake_process, "_run_helper", here)
        yield


class SharedStatements(dict[Any, Any]):
    """Compiled SQL for all engines. Each test makes some engines, and compiling takes a fifth of its time."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), value)


STATEMENTS = SharedStatements()


@contextmanager
def make_databases_cheap() -> Iterator[None]:
    """Turn off SQLite's waiting for the disk, since no test cuts the power, and share compiled SQL."""

    def opened(connection: Any, record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous = OFF")

    def share(connection: Connection) -> None:
        connection.execution_options(compiled_cache=STATEMENTS)

    event.listen(Engine, "connect", opened)
    event.listen(Engine, "engine_connect", share)
    yield
    event.remove(Engine, "connect", opened)
    event.remove(Engine, "engine_connect", share)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Make ladders cheap for the tests and fixtures of this folder only."""
    if Path(__file__).parent not in item.path.parents:
        return (yield)
    with read_here(), make_databases_cheap():
        return (yield)


@pytest.fixture(scope="session")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    """Give a ladder with a bot that is faulty in play, and one that is broken; don't change it."""

    def make(path: Path) -> None:
        made = begin_ladder(path)
        made.run()  # the references first: others play their qualifying matches against them
        hand_in(made, write(path / "late.py", LATE), "ada", "late")
        hand_in(made, write(path / "broken.py", BROKEN), "bob", "broken")
        made.run()
        made.run(matches=6)

    return Term(made_once(tmp_path_factory, "term", make) / "spring")


@pytest.fixture
def own(tmp_path: Path, term: Term) -> Term:
    """Give a copy of the ladder, which may be changed."""
    journal = shutil.ignore_patterns("*-shm", "*-wal")  # a process that reads it removes them at its end
    return Term(Path(shutil.copytree(term.path, tmp_path / "spring", ignore=journal)))


@pytest.fixture
def ladder(own: Term) -> Iterator[Ladder]:
    """Give the ladder of the copy."""
    with closing(open_ladder(own.path)) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Give the URL of a new database in PostgreSQL, or None for SQLite in the ladder's folder."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


@pytest.fixture
def database_url(url: str | None, tmp_path: Path) -> str:
    return url or f"sqlite:///{tmp_path}/ladder.db"


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """Give a ladder's database in one long transaction; the bots a, b, c and d have the versions 1 to 4."""
    with closing(make_database(database_url)) as database, database.engine.connect() as made, made.begin():
        yield made


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """Give a PostgreSQL server that the test may stop."""
    with postgres() as server:
        yield server
