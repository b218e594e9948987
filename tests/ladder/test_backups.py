"""Tests of backups: a ladder is written to one file while it plays, and restored to SQLite or PostgreSQL."""

import hashlib
import io
import itertools
import os
import signal
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import IO, Any, cast

import pytest

from ladder.backups import restore_backup, write_backup
from ladder.ladder import Ladder, create_ladder, lock_new_folder
from ladder.settings import LadderError
from ladder.standings import StandingsUpdater
from ladder.store import Database, DatabaseError, count_ladder
from ladder.users import authenticate_secret
from tests.cli_workspace import Place
from tests.ladder.classes import sign_in
from tests.ladder.ladders import has_more
from tests.ladder.small_ladder import play, rows, small_ladder


@pytest.fixture
def ladder(place: Place, url: str | None) -> Iterator[Ladder]:
    """Give a ladder of three bots, with six matches played and one to play."""
    with closing(small_ladder(place.folder / "spring", url)) as made:
        play(made, 6)
        yield made


def shares(ladder: Ladder) -> list[Any]:
    updater = StandingsUpdater(ladder)
    updater.update()
    return [(row.bot, row.rating.value, row.games, row.rank_range) for row in updater.standings.items]


def test_a_restored_ladder_holds_the_same(ladder: Ladder, place: Place) -> None:
    (ladder.path / "final-last.txt").write_text("SHA-256\n")  # the published file of a final
    session = sign_in(ladder, "staff")
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    with closing(restore_backup(place.folder / "one.tar", place.folder / "again")) as again:
        assert rows(again) == rows(ladder)
        assert again.commitment == ladder.commitment
        assert shares(again) == shares(ladder)
        assert again.settings.database == "sqlite:///ladder.db"
        assert (again.path / "ladder.db").exists()
        assert (again.path / "final-last.txt").read_text() == "SHA-256\n"
        assert authenticate_secret(again, session.secret, "session").login == "staff"


@pytest.mark.parametrize("url", [None])
@pytest.mark.parametrize("name", ["final-grades of May.txt", "final-\u00e9.txt"])
def test_other_files_than_published_ones_spoil_no_backup(ladder: Ladder, place: Place, name: str) -> None:
    """Such as staff's notes, which a backup leaves out."""
    (ladder.path / name).write_text("notes")
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    with closing(restore_backup(place.folder / "one.tar", place.folder / "again")) as again:
        assert not (again.path / name).exists()


@pytest.mark.parametrize("url", [None])
def test_a_backup_of_release_1_with_another_file_is_restored_without_it(ladder: Ladder, place: Place) -> None:
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    name, notes = "final-grades of May.txt", b"notes"
    with tarfile.open(place.folder / "one.tar") as old, tarfile.open(place.folder / "two.tar", "w") as new:
        members = {member.name: cast(IO[bytes], old.extractfile(member)).read() for member in old}
        members[name] = notes
        members["SHA256SUMS"] += f"{hashlib.sha256(notes).hexdigest()}  {name}\n".encode()
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            new.addfile(info, io.BytesIO(data))
    with closing(restore_backup(place.folder / "two.tar", place.folder / "again")) as again:
        assert not (again.path / name).exists()


@pytest.mark.parametrize("url", [None])
def test_restoring_keeps_the_mode_of_a_folder_with_files(ladder: Ladder, place: Place) -> None:
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    modes = []
    for name in ("empty", "shared"):
        folder = place.folder / name
        folder.mkdir()
        folder.chmod(0o755)
        if name == "shared":
            (folder / "notes.txt").write_text("for all")
        restore_backup(place.folder / "one.tar", folder).close()
        modes.append(folder.stat().st_mode & 0o777)
    assert modes == [0o700, 0o755]


@pytest.mark.parametrize("url", [None])
def test_a_restored_ladder_is_written_while_it_is_read(ladder: Ladder, place: Place) -> None:
    """SQLite stores this mode in the file, and a copy lacks it."""
    write_backup(ladder.database, ladder.path, place.folder / "spring.tar")
    with closing(restore_backup(place.folder / "spring.tar", place.folder / "again")) as again:
        database = Database(again.database.url, patience_s=0)
        with closing(database), again.database.read() as reading:
            before = count_ladder(reading)
            play(Ladder(again.path, database, again.play, bytes(32)), 1)
            assert count_ladder(reading) == before
        assert again.database.read_with_retry(count_ladder) != before


def test_a_ladder_is_moved_to_postgresql_and_back(place: Place, ladder: Ladder, postgres_server: Any) -> None:
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    url = postgres_server.create(f"moved{os.urandom(4).hex()}")
    with closing(restore_backup(place.folder / "one.tar", place.folder / "moved", url)) as moved:
        assert rows(moved) == rows(ladder)
        assert moved.settings.database == url
        play(moved, 2)
        write_backup(moved.database, moved.path, place.folder / "two.tar")
        with closing(restore_backup(place.folder / "two.tar", place.folder / "back")) as back:
            assert rows(back) == rows(moved)
            assert len(rows(back)["matches"]) > len(rows(ladder)["matches"])


def test_a_backup_is_made_while_matches_are_played(ladder: Ladder, place: Place) -> None:
    """It is of one moment; matches in progress at that moment are played again, with the same deals."""
    runner = place.start("ladder", "run", "spring", "--jobs", 1)
    place.wait(has_more(ladder, 1), process=runner)
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    place.wait(has_more(ladder, 3), process=runner)
    runner.send_signal(signal.SIGTERM)
    assert place.end(runner).code == 0
    with closing(restore_backup(place.folder / "one.tar", place.folder / "again")) as again:
        held = rows(again)
        assert not [row for row in held["matches"] if "leased" in row]
        assert len(held["records"]) == len({row[0] for row in held["games"]})
        todo = [row[0] for row in held["matches"] if "queued" in row]
        assert todo
        ran = place.run("ladder", "run", "again", "--jobs", 1, "--matches", min(len(todo), 4))
        assert ran.code == 0, ran.err
        ours, theirs = ([row for row in rows(each)["games"] if row[0] in todo] for each in (ladder, again))
        both = {row[0] for row in ours} & {row[0] for row in theirs}
        assert both
        assert [row for row in ours if row[0] in both] == [row for row in theirs if row[0] in both]


def test_nothing_is_overwritten(ladder: Ladder, place: Place) -> None:
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    with pytest.raises(LadderError, match="isn't overwritten"):
        write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    (place.folder / "final").mkdir()
    (place.folder / "final" / "final-last.txt").touch()
    for folder in (ladder.path, place.folder / "final"):
        with pytest.raises(LadderError, match="isn't overwritten"):
            restore_backup(place.folder / "one.tar", folder)
    with pytest.raises(DatabaseError, match="contains a ladder already"):
        restore_backup(place.folder / "one.tar", place.folder / "third", ladder.database.url.render_as_string())
    assert not (place.folder / "third").exists()


@pytest.mark.parametrize("url", [None])
def test_one_process_at_a_time_creates_a_ladder_in_a_folder(ladder: Ladder, place: Place) -> None:
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    new = place.folder / "again"
    new.mkdir()
    with lock_new_folder(new):
        with pytest.raises(LadderError, match="another process creates a ladder"):
            restore_backup(place.folder / "one.tar", new)
        with pytest.raises(LadderError, match="another process creates a ladder"):
            create_ladder(new, ladder.play, None)
    assert not list(new.iterdir())


@pytest.mark.parametrize("url", [None])
def test_settings_saved_during_a_backup_do_not_spoil_it(ladder: Ladder, place: Place) -> None:
    """A large ladder takes a minute, in which staff may save settings."""
    settings, has_ended = ladder.path / "ladder.toml", threading.Event()
    (ladder.path / "final-large.txt").write_bytes(bytes(30 << 20))

    def save_again_and_again() -> None:
        text, unsaved = settings.read_text(), ladder.path / "unsaved"
        for number in itertools.takewhile(lambda _: not has_ended.is_set(), itertools.count()):
            unsaved.write_text(f"{text}# {number}")
            unsaved.replace(settings)

    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(save_again_and_again)
        write_backup(ladder.database, ladder.path, place.folder / "one.tar")
        has_ended.set()
        saving.result()
    restore_backup(place.folder / "one.tar", place.folder / "again").close()


@pytest.mark.parametrize("url", [None])
@pytest.mark.parametrize("harm", ["cut", "changed", "other"])
def test_an_incomplete_backup_is_refused(ladder: Ladder, place: Place, harm: str) -> None:
    file = place.folder / "one.tar"
    write_backup(ladder.database, ladder.path, file)
    data = bytearray(file.read_bytes())
    if harm == "cut":
        del data[len(data) // 2 :]
    elif harm == "changed":
        data[len(data) // 2] ^= 1
    else:
        data[:] = b"no tar at all"
    file.write_bytes(data)
    with pytest.raises(LadderError, match="isn't a valid backup"):
        restore_backup(file, place.folder / "again")
    assert not (place.folder / "again").exists()


def test_only_its_owner_reads_a_backup(ladder: Ladder, place: Place) -> None:
    """It contains the key of all deals."""
    write_backup(ladder.database, ladder.path, place.folder / "one.tar")
    assert (place.folder / "one.tar").stat().st_mode & 0o777 == 0o600
    with tarfile.open(place.folder / "one.tar") as tar:
        assert tar.getnames() == ["ladder.toml", "ladder.db", "SHA256SUMS"]
    assert [path.name for path in place.folder.iterdir() if path.name.startswith(".one")] == []
