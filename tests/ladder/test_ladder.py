"""Tests of `init`: a ladder is made completely or not at all, and problematic names and URLs are refused."""

import os
import resource
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ladder.bots import submit_bot, submit_reference
from ladder.ladder import create_ladder, open_ladder
from ladder.runner import LadderRunner
from ladder.settings import LadderError
from ladder.store import Database, DatabaseError
from ladder.upgrade import upgrade_ladder
from tests.cli_workspace import BOT, Place
from tests.ladder.ladders import PLAY, ladder_in, owners
from tests.ladder.pool import workers


def test_a_ladder_that_cannot_be_filled_leaves_nothing(tmp_path: Path) -> None:
    def fill(_connection: Connection) -> None:
        raise LadderError("there is no such reference")

    with pytest.raises(LadderError, match="no such reference"):
        create_ladder(tmp_path / "spring", PLAY, None, fill)
    assert list(tmp_path.iterdir()) == []
    create_ladder(tmp_path / "spring", PLAY, None).close()


def test_a_ladder_whose_settings_cannot_be_written_leaves_the_database_empty(tmp_path: Path, postgres_url: str) -> None:
    """Else each further attempt, as of a container, finds a ladder there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # of this process's files, not of PostgreSQL's
    try:
        with pytest.raises(LadderError, match="can't be created: File too large"):
            create_ladder(tmp_path, PLAY, postgres_url)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
    create_ladder(tmp_path, PLAY, postgres_url).close()


def test_a_reference_that_is_no_bot_leaves_no_ladder(place: Place) -> None:
    ran = place.run("ladder", "init", "spring", "--sandbox", "process", "--reference", "sample:unknown")
    assert ran.code == 2
    assert "sample:unknown isn't a sample bot" in ran.err
    assert not (place.folder / "spring").exists()


@pytest.mark.parametrize("name", ["what?now", "100%", "a b", "x#y"])
def test_a_ladder_is_created_in_a_private_folder_with_any_name(tmp_path: Path, name: str) -> None:
    """It contains the key of all deals."""
    create_ladder(tmp_path / name, PLAY, None).close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert stat.S_IMODE((tmp_path / name / "ladder.db").stat().st_mode) == 0o600
    open_ladder(tmp_path / name).close()


@pytest.mark.parametrize("url", ["sqlite:///\U0001f0cf.db", "sqlite+pysqlite:///own.db"])
def test_the_file_of_a_database_may_have_any_name(tmp_path: Path, url: str) -> None:
    """It is in the ladder's folder, also with the name of a driver."""
    create_ladder(tmp_path / "spring", PLAY, url).close()
    open_ladder(tmp_path / "spring").close()
    assert (tmp_path / "spring" / url.rpartition("/")[2]).exists()


def test_init_keeps_the_mode_of_a_folder_with_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    os.chmod(tmp_path, 0o755)
    create_ladder(tmp_path, PLAY, None).close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize(
    "url", ["postgresql+nonsense://ada:SECRET@host/db", "nonsense://ada:SECRET@host", "h:p@SECRET"]
)
def test_a_url_that_names_no_database_is_refused_without_its_password(url: str) -> None:
    """Users copy error messages into questions."""
    with pytest.raises(DatabaseError, match="the database can't be opened") as refused:
        Database(url)
    assert "SECRET" not in str(refused.value)


def test_a_backup_that_is_not_there_is_wrong_use(place: Place) -> None:
    ran = place.call("ladder", "restore", "nope.tar", "again")
    assert (ran.code, "nope.tar doesn't exist" in ran.err) == (2, True), ran


def test_names_that_look_alike_belong_to_one_bot(place: Place) -> None:
    folder = ladder_in(place, bots=("ada",))
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, "bob")
        bot = place.bot("other.py", f"{BOT}# another\n")
        first = submit_bot(ladder, bot, "bob", name="Caf\u00e9")
        again = submit_bot(ladder, place.bot("other.py", f"{BOT}# a third\n"), "bob", name="cafe\u0301")
        assert (first.version_ref, again.version_ref) == ("Caf\u00e9@1", "Caf\u00e9@2")
        with pytest.raises(LadderError, match="belongs to another user"):
            submit_bot(ladder, bot, "bob", name="ADA")
        for name in ("=1+1", "+x", "-x", "a@b"):
            with pytest.raises(LadderError, match="another name"):
                submit_bot(ladder, bot, "bob", name=name)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_upgrade_of_a_missing_database_creates_none(tmp_path: Path, dry_run: bool) -> None:
    create_ladder(tmp_path / "spring", PLAY, None).close()
    (tmp_path / "spring" / "ladder.db").unlink()
    with pytest.raises(LadderError, match=r"ladder\.db is missing"):
        upgrade_ladder(tmp_path / "spring", None, dry_run, print)
    assert not (tmp_path / "spring" / "ladder.db").exists()


@pytest.mark.parametrize("play", ["{}", "[]", "null", '{"settings": null}'])
def test_a_ladder_with_invalid_match_settings_is_refused_and_its_database_closed(
    tmp_path: Path, play: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_ladder(tmp_path / "spring", PLAY, None).close()
    with closing(sqlite3.connect(tmp_path / "spring" / "ladder.db")) as database, database:
        database.execute("UPDATE settings SET value = ? WHERE name = 'play'", (play,))
    closed: list[Database] = []
    monkeypatch.setattr(Database, "close", lambda database: closed.append(database) or database.engine.dispose())
    with pytest.raises(LadderError, match="invalid match settings"):
        open_ladder(tmp_path / "spring")
    assert len(closed) == 1


def test_a_reference_bot_is_found_by_its_name_in_any_case(place: Place) -> None:
    with closing(open_ladder(ladder_in(place, bots=("ada",)))) as ladder:
        first = submit_reference(ladder, f"Turtle={place.bot('turtle.py')}")
        same = submit_reference(ladder, f"TURTLE={place.bot('turtle.py')}")
        changed = submit_reference(ladder, f"turtle={place.bot('turtle.py', f'{BOT}# another{chr(10)}')}")
        again = submit_reference(ladder, f"turtle={place.bot('turtle.py')}")
    assert first.version_ref == "Turtle@1"
    assert (same.version_ref, same.version, same.duplicate) == ("Turtle@1", first.version, True)
    assert [(each.version_ref, each.duplicate) for each in (changed, again)] == [
        ("Turtle@2", False),
        ("Turtle@3", False),
    ]


def test_a_runner_reports_the_reason_for_no_matches(place: Place) -> None:
    """A ladder of one owner's bot without references waits for a second owner."""
    folder = place.folder / "spring"
    with closing(create_ladder(folder, PLAY, None)) as ladder:
        submit_reference(ladder, str(place.bot("one.py")))
        list(LadderRunner(ladder, workers(), until="idle").events())
        output = LadderRunner(ladder, workers()).summary()
        assert "no matches: " in output
        assert "1 more is needed" in output


def test_settings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Editors of Windows write one."""
    with closing(create_ladder(tmp_path / "l", PLAY, None)) as made:
        wanted = made.settings
    file = tmp_path / "l/ladder.toml"
    file.write_text(file.read_text("utf-8"), "utf-8-sig")
    with closing(open_ladder(tmp_path / "l")) as ladder:
        assert ladder.settings == wanted
