"""Tests of other failures: full disks, clocks that are set back, bots that hang, truncated uploads."""

import io
import itertools
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots import BotError
from arena.checks import Severity
from arena.referee import MatchSettings, Timing
from arena.run import open_executor
from ladder import store
from ladder.backups import restore_backup
from ladder.bots import submit_bot
from ladder.checkup import check_ladder
from ladder.ladder import Ladder, open_ladder
from ladder.runner import LadderRunner
from ladder.runner_events import AttemptFailed, CheckFinished, ClockBehind, MatchFinished, VersionAutoDisabled
from tests.cli_workspace import BOT, QUICK_BOT, Place
from tests.disk import fill, fill_until_it_ends
from tests.ladder.invariants import require_sound
from tests.ladder.ladders import PLAY, has_more, ladder_in, owners, pass_all, played, run_two, start_runner
from tests.ladder.pool import workers
from tests.ladder.term import Term

Needs = Callable[[str, str | None], None]


def test_a_full_disk_under_the_database_ends_the_runner_and_loses_nothing(place: Place, small_disk: Path) -> None:
    folder = small_disk / "spring"
    shutil.copytree(ladder_in(place, fit=True), folder)
    process = start_runner(place, folder, "--jobs", 1)
    with closing(open_ladder(folder)) as ladder:
        place.wait(has_more(ladder, 2), process=process)
        fill(small_disk / "filler")
        ran = place.end(process)
        assert ran.code == 1
        assert "free disk space" in ran.err
        kept = played(ladder)
        require_sound(ladder, quiet=False)
        shutil.rmtree(small_disk / "filler")
        run_two(place, folder)
        assert played(ladder) >= kept + 2
        require_sound(ladder)
    place.require_nothing_left()


@contextmanager
def fill_disk(disk: Path, folder: Path) -> Iterator[None]:
    fill(disk / "filler")
    yield


@contextmanager
def read_only(disk: Path, folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=60)
    yield
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, timeout=60)


@contextmanager
def being_written(disk: Path, folder: Path) -> Iterator[None]:
    with closing(sqlite3.connect(folder / "ladder.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE bots SET created_at = created_at + 1")
        yield
        writer.execute("ROLLBACK")


@contextmanager
def fill_disk_after_a_killed_writer(disk: Path, folder: Path) -> Iterator[None]:
    code = (
        "import os, sqlite3, sys\n"
        "writer = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "writer.execute('UPDATE bots SET created_at = created_at + 1')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder / "ladder.db")], check=False, timeout=60)
    assert (folder / "ladder.db-wal").stat().st_size
    with fill_disk(disk, folder):
        yield


@pytest.mark.parametrize("failure", [fill_disk, read_only, being_written, fill_disk_after_a_killed_writer])
def test_reading_and_backups_work_on_a_full_disk(
    own: Term, tmp_path: Path, small_disk: Path, failure: Callable[[Path, Path], AbstractContextManager[None]]
) -> None:
    """All commands once failed with "disk I/O error" as if used wrongly, or waited a minute for a writer."""
    term = Term(small_disk / "spring")
    shutil.copytree(own.path, term.path)
    commands = ("standings", "bot late", "matches", "queue", "users list", "events", "final list", "access list")
    with failure(small_disk, term.path):
        for command in commands:
            name, *words = command.split() if command == "bot late" else [command]
            assert term.json(name, *words) == own.json(name, *words), command
        term.arena("backup", tmp_path / "spring.tar")
        free = shutil.disk_usage(small_disk).free
        assert ("no free space" in term.arena("doctor", code=1).out) is (free == 0)
        if failure is not being_written:
            refused = term.arena("freeze", "--reason", "it can't be written", code=1).err
            assert "the database can't be written" in refused
    if failure in (read_only, being_written):
        term.arena("freeze", "--reason", "it can be written again")
    with closing(restore_backup(tmp_path / "spring.tar", tmp_path / "again")) as again:
        require_sound(again)


def test_a_full_disk_under_temporary_files_ends_the_runner(place: Place, small_disk: Path) -> None:
    folder = ladder_in(place, fit=True)
    process = start_runner(place, folder, TMPDIR=str(small_disk))
    with closing(open_ladder(folder)) as ladder:
        place.wait(has_more(ladder, 2), process=process)
        fill_until_it_ends(small_disk / "filler", process)
        ran = place.end(process)
        assert ran.code == 1
        assert 0 < ran.err.count(f"no space for temporary files in {small_disk}") <= 3, "at most once a task on its way"
        require_sound(ladder)
        shutil.rmtree(small_disk / "filler")
        run_two(place, folder)
        require_sound(ladder)
    place.require_nothing_left()


@contextmanager
def serving(ladder: Ladder, jobs: int = 2, **how: object) -> Iterator[LadderRunner]:
    with open_executor(ladder.play.sandbox, jobs) as pool:
        yield LadderRunner(ladder, pool, **how)


def test_a_clock_that_is_set_back_changes_nothing(place: Place) -> None:
    """After two days back, submissions are checked and play, and the newest standings are shown."""
    folder = ladder_in(place, fit=True)
    pool = workers()
    with closing(open_ladder(folder)) as ladder:
        clock = itertools.count(1_800_000_000.0, 0.1)
        ladder.clock = lambda: next(clock)
        events = list(LadderRunner(ladder, pool, matches=3).events())
        assert [event for event in events if isinstance(event, ClockBehind)] == []
        before = ladder.database.read_with_retry(store.find_latest_snapshot)
        clock = itertools.count(1_800_000_000.0 - 2 * 86_400, 0.1)
        owners(ladder, "eve")
        submit_bot(ladder, place.bot("eve.py"), "eve")
        events = list(LadderRunner(ladder, pool, until="idle").events())
        assert [(event.version_ref, event.reason) for event in events if isinstance(event, CheckFinished)] == [
            ("eve@1", None)
        ]
        [behind] = [event for event in events if isinstance(event, ClockBehind)]
        assert behind.seconds == pytest.approx(2 * 86_400, abs=3_600)  # each look at the clock takes 0.1 s
        list(LadderRunner(ladder, pool, matches=3).events())
        assert ladder.database.read_with_retry(store.find_latest_snapshot) != before
        assert played(ladder) >= 6
        require_sound(ladder)


# --- bots that hang or crash ------------------------------------------------------------------------------------------

MANIFEST = 'run = ["python3", "bot.py"]\nbuild = ["sh", "-c", "{build}"]\n'
# A hello and a match that hang are abandoned soon.
HURRIED = replace(
    PLAY, settings=MatchSettings(PLAY.settings.rules, timing=Timing(limit_ms=500, bank_ms=2000, start_ms=8000))
)
IN_CHECK = "import sys\nsys.stdin.read()\n"
# Plays as it should until there is a sign; then it leaves in the middle of each game.
IN_PLAY = BOT.replace("import json, sys, zlib", "import json, os, sys, zlib").replace(
    'elif message["type"] == "request":',
    'elif message["type"] == "request":\n        if os.path.exists(SIGN):\n            WHAT',
)


def test_a_clock_that_is_set_back_during_a_run_is_reported(place: Place) -> None:
    folder = ladder_in(place, fit=True)
    output = []
    with closing(open_ladder(folder)) as ladder, serving(ladder, matches=30, silent_s=1.0) as service:
        clock = ladder.clock
        for event in service.events():
            if isinstance(event, MatchFinished):
                ladder.clock = lambda: clock() - 86_400
            if isinstance(event, ClockBehind):
                output.append(event.seconds)
                service.stop()
    assert output == [pytest.approx(86_400, abs=100)]


@pytest.mark.clock
def test_a_runner_that_is_often_killed_updates_ratings(place: Place) -> None:
    """One that was killed every ten seconds played, and its standings never changed."""
    folder = ladder_in(place, fit=True)
    with closing(open_ladder(folder)) as ladder:
        process = start_runner(place, folder)
        began = time.monotonic()
        place.wait(lambda: ladder.database.read_with_retry(store.find_latest_snapshot) is not None, process=process)
        assert time.monotonic() - began < 8
        process.kill()
        place.end(process)


def test_bots_that_hang_do_not_block_others(place: Place) -> None:
    folder = ladder_in(place, play=HURRIED)
    toml = folder / "ladder.toml"
    toml.write_text(toml.read_text().replace("build_timeout_seconds = 120", "build_timeout_seconds = 1"))
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, "eve", "dan")
        (place.folder / "eve").mkdir()
        (place.folder / "eve" / "bot.toml").write_text(MANIFEST.format(build="sleep 1000"))
        place.bot("eve/bot.py")
        submit_bot(ladder, place.folder / "eve", "eve")
        submit_bot(ladder, place.bot("dan.py", IN_CHECK), "dan")
        with serving(ladder, until="idle") as service:
            checks = {
                event.version_ref: event.reason or "" for event in service.events() if isinstance(event, CheckFinished)
            }
        assert "took longer than 1 s" in checks["eve@1"]
        assert "hello" in checks["dan@1"]
        assert checks["ada@1"] == checks["bob@1"] == ""
        with serving(ladder, matches=2) as service:
            list(service.events())
        require_sound(ladder)


@pytest.mark.parametrize("what", ["sys.exit(3)", "sys.stdin.read()"], ids=["crashes", "hangs"])
def test_a_bot_that_forfeits_repeatedly_is_auto_disabled(place: Place, what: str) -> None:
    folder = ladder_in(place, play=HURRIED)
    sign = place.folder / "sign"
    toml = folder / "ladder.toml"
    toml.write_text(toml.read_text().replace("matches = 5 ", "matches = 2 "))
    with closing(open_ladder(folder)) as ladder, open_executor(ladder.play.sandbox) as pool:
        owners(ladder, "eve")
        submit_bot(ladder, place.bot("eve.py", IN_PLAY.replace("SIGN", repr(str(sign))).replace("WHAT", what)), "eve")
        pass_all(ladder)
        sign.touch()
        service = LadderRunner(ladder, pool)
        for event in service.events():
            if isinstance(event, VersionAutoDisabled):
                assert event == VersionAutoDisabled("eve@1", "it forfeited games in its last 2 matches")
                service.stop()
        with ladder.database.read() as connection:
            bot = store.find_bot(connection, "eve")
            assert bot is not None
            assert bot.active_version_id is None
            output = store.list_audit_entries(connection, bot=bot.id)[-1]
            assert (output.actor, output.action, output.reason) == (
                "ladder",
                "auto_disable",
                "it forfeited games in its last 2 matches",
            )
            assert len(store.active_versions(connection)) == 4
        list(LadderRunner(ladder, pool, matches=2).events())
        submit_bot(ladder, place.bot("eve.py"), "eve")
        list(LadderRunner(ladder, pool, until="idle").events())
        with ladder.database.read() as connection:
            assert "eve@2" in [version.version_ref for version in store.active_versions(connection)]
        require_sound(ladder)


# --- uploads ----------------------------------------------------------------------------------------------------------


def archive_of(kind: str) -> bytes:
    made = io.BytesIO()
    text = BOT.encode() + b"# " + os.urandom(50_000).hex().encode()
    if kind == "zip":
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bot.py", text)
    else:
        with tarfile.open(fileobj=made, mode=f"w:{kind}") as archive:
            member = tarfile.TarInfo("bot.py")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return made.getvalue()


@pytest.mark.parametrize("kind", ["zip", "", "gz", "xz"])
def test_a_truncated_upload_is_refused_with_a_message(place: Place, kind: str) -> None:
    folder = ladder_in(place)
    whole = archive_of(kind)
    path = place.folder / ("eve.zip" if kind == "zip" else f"eve.tar{'.' if kind else ''}{kind}")
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, "eve")
        for size in (0, 1, 100, 600, len(whole) // 2, len(whole) - 600):
            path.write_bytes(whole[:size])
            with pytest.raises(BotError):
                submit_bot(ladder, path, "eve", name="eve")
            with ladder.database.read() as connection:
                assert store.find_bot(connection, "eve") is None
        path.write_bytes(whole)
        assert submit_bot(ladder, path, "eve", name="eve").version_ref == "eve@1"
        require_sound(ladder)


def test_a_killed_submission_is_stored_completely_or_not_at_all(place: Place) -> None:
    folder = ladder_in(place, bots=())
    chance = random.Random(3301)
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, "eve")
        for number in range(3):
            bot = place.bot("eve.py", f"{QUICK_BOT}# {number}\n")
            process = place.start("ladder", "submit", folder, bot, "--owner", "eve")
            time.sleep(chance.uniform(0, 0.3))
            process.kill()
            place.end(process)
            require_sound(ladder, quiet=False)
        assert place.run("ladder", "submit", folder, place.bot("eve.py"), "--owner", "eve").code == 0
        assert place.end(start_runner(place, folder, "--until", "idle")).code == 0
        with ladder.database.read() as connection:
            found = store.find_bot(connection, "eve")
            assert found is not None
            versions = store.versions_of(connection, found.id)
            assert [version.number for version in versions] == list(range(1, len(versions) + 1))
            assert all(store.get_archive(connection, version.digest, version.single_file_name) for version in versions)
            assert [version.status for version in versions] == ["accepted"] * len(versions)
        require_sound(ladder)
    place.require_nothing_left()


def test_doctor_counts_the_workers_that_a_bot_kills(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain process can kill its worker: its matches are abandoned, and those of the others are played."""
    monkeypatch.setattr("ladder.store.retries._WAIT_S", 0.0)
    monkeypatch.setattr("ladder.tasks._PAUSE_S", 0.0)
    folder, sign = ladder_in(place), place.folder / "sign"
    killer = IN_PLAY.replace("SIGN", repr(str(sign))).replace("WHAT", "os.kill(os.getppid(), 9)")
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, "eve")
        submit_bot(ladder, place.bot("eve.py", killer), "eve")
        pass_all(ladder)
        sign.touch()
        has_abandoned = has_finished = False
        with serving(ladder) as service:
            for event in service.events():
                has_abandoned |= isinstance(event, AttemptFailed) and event.abandoned
                has_finished |= isinstance(event, MatchFinished)
                if has_abandoned and has_finished:
                    service.stop()
        assert (has_abandoned, has_finished) == (True, True)
        [row] = [row for row in check_ladder(folder) if row.check == "workers"]
        assert row.severity is Severity.FAIL
        assert re.search(r"died in matches of eve@1 \(\d+\)", row.message), "it has most"
        require_sound(ladder)
