"""All submissions as platforms hand them out: whose each file is, when it came, and what becomes of it."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from arena.bots import BotError
from ladder.access import STAFF, Viewer
from ladder.service import (
    Collection,
    Ladder,
    LadderError,
    extend,
    join_teams,
    local_time,
    read_time,
    submit,
    submit_collection,
)
from ladder.store.database import TABLES, Owner, acts_of, extensions_in_force, put_owners
from ladder.views import bot
from tests.ladder.service.classes import Clock, deadline, hand_in, school, settle
from tests.place import QUICK_BOT, ROOT

NOW, EARLIER = 1e6, 9e5
PEOPLE = {
    "ada": ("Ada Lovelace", "77", "Participant 11"),
    "bob": ("Müller, Bob", "78", "Participant 12"),
    "eve": ("Grün, Eve", None, None),
    "cleo": ("Cleo de la Cruz", None, None),
    "dan": ("Dan O'Brien", None, None),
    "omar": ("Omar Ali", None, None),
    "ali": ("Ali Omar", None, None),
    "nora": ("Nora_77", "80", None),
}
PY = f"{QUICK_BOT}#"
NOTHING, UNKNOWN = "can be a bot", "can't tell whose"
TIMELESS, LATE = "the files don't say when", "marks it as late"
FILE = "_assignsubmission_file"


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(school(tmp_path / "spring", owners="x")) as made:
        people = [Owner(login, name, f"Red {login}", canvas=canvas, moodle=moodle)
                  for login, (name, canvas, moodle) in PEOPLE.items()]  # fmt: skip
        made.database.write(lambda connection: put_owners(connection, people, 1.0))
        settle(made, deadline("first", NOW - 10))
        yield made


def folder_of(ladder: Ladder, files: Mapping[str, str | bytes]) -> Path:
    top = ladder.path.parent / "all"
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return top


def taken(ladder: Ladder, files: Mapping[str, str | bytes], **how: object) -> Collection:
    return submit_collection(ladder, folder_of(ladder, files), "prof", **{"received": EARLIER, **how})  # type: ignore[arg-type]


WHOSE = {
    "lovelaceada_77_901_bot.py": "ada",
    "somebodyelse_LATE_77_901_bot.py": "ada",  # who is called otherwise here; Canvas' ID tells
    "team1_77_901_bot.py": "ada",  # of a group Canvas names who handed in
    "grüneve_5_901_bot.py": "eve",  # without a number: the last name first
    "gru\u0308neve_5_901_bot.py": "eve",  # as macOS writes it
    "müllerbob_5_901_bot.py": None,  # another of that name
    "delacruzcleo_5_901_bot.py": "cleo",
    "obriendan_5_901_bot.py": "dan",
    "anon_k3J9x_901_bot.py": None,
    "LATE_anon_12345_901_bot.py": None,
    "omarali_5_901_bot.py": None,  # two are called so
    "lovelace_99_901_bot.py": None,
    f"Ada Lovelace_11{FILE}_/bot.py": "ada",
    f"Ada Lovelace_11{FILE}/src/bot.py": "ada",
    f"Ada Lovelace_11{FILE}_bot.py": "ada",
    f"Lovelace Ada_999{FILE}/bot.py": "ada",  # another assignment's number
    f"Bob Müller_12{FILE}/bot.py": "bob",
    f"Dan OBrien_4{FILE}/bot.py": "dan",  # Moodle leaves out what a file's name can't have
    f"Participant_12{FILE}/bot.py": "bob",
    f"Participant_13{FILE}/bot.py": None,
    f"Group A_11{FILE}/bot.py": None,  # a group's number isn't a person's
    f"Ada Lovelace_12{FILE}/bot.py": None,  # the number says otherwise than the name
    f"Default group{FILE}/bot.py": None,
    "lovelaceada_77_901_5_bot.py": "ada",  # who called the file 5_bot.py
    "evil_77_901_5_bot.py": None,  # the name may be evil_77, and 901 the ID
    "evil_77_901_text.html": None,
    "LATE_77_901_5_bot.py": None,
    "nora_77_80_5_bot.py": "nora",  # of the name nora_77
    "ada_lovelace_77_80_5_bot.py": "ada",  # nora isn't called so
    "nora_77_80_5_6_bot.py": "nora",
    "grüneve_5_901_7_bot.py": "eve",
    "dan/bot.py": "dan",
    "Cleo.py": "cleo",
    "cleo.tar.gz.py": "cleo",
}


@pytest.mark.parametrize("name", WHOSE)
def test_whose_a_file_is_follows_from_its_name_or_is_asked_for(ladder: Ladder, name: str) -> None:
    [row] = taken(ladder, {name: PY}).rows
    assert row.login == WHOSE[name]
    assert row.refused is None if WHOSE[name] else UNKNOWN in (row.refused or "")
    assert (row.taken is None) is (WHOSE[name] is None)


def test_where_names_are_hidden_in_another_language_the_numbers_tell(ladder: Ladder) -> None:
    files = {f"Teilnehmerin_{number}{FILE}/bot.py": f"{PY}{number}" for number in (11, 12)}
    assert [row.login for row in taken(ladder, files).rows] == ["ada", "bob"]


KIM = f"Cleo de la Cruz_{{}}{FILE}/bot.py"
NAMESAKES = {  # of two people of one name the roster has one
    "Canvas": (("delacruzcleo_1_901_bot.py", "delacruzcleo_2_902_bot.py"), [None, None]),
    "Moodle": ((KIM.format(1), KIM.format(2)), [None, None]),
    "one has the number": ((f"Ada Lovelace_1{FILE}/bot.py", f"Ada Lovelace_11{FILE}/bot.py"), ["ada", None]),
    "one was renamed": (("cleo/bot.py", "delacruzcleo_2_902_bot.py"), [None, "cleo"]),
}


@pytest.mark.parametrize("of", NAMESAKES)
def test_what_two_people_of_one_name_hand_in_is_not_one_persons(ladder: Ladder, of: str) -> None:
    names, logins = NAMESAKES[of]
    rows = taken(ladder, {name: f"{PY}{name}" for name in names}).rows
    assert [row.login for row in rows] == logins
    assert all((row.taken is None) is (row.login is None) is (UNKNOWN in (row.refused or "")) for row in rows)


def test_a_report_has_each_file_and_who_handed_in_nothing(ladder: Ladder) -> None:
    """A bot of several files is one; what is none is passed over, and told."""
    files = {
        "lovelaceada_77_901_bot-1.py": PY, "lovelaceada_77_902_bot-1.toml": 'name = "deep"\nrun = "./bot.py"\n',
        "lovelaceada_77_903_weights.md": "1", "müllerbob_78_904_bot-2.py": PY, "müllerbob_78_905_report.pdf": "x",
        f"Dan OBrien_4{FILE}/notes.txt": "x", "Dan OBrien_4_assignsubmission_onlinetext/onlinetext.html": "x",
        "delacruzcleo_5_906_one.py": PY, "delacruzcleo_5_907_two.py": PY, "who.py": "x", ".DS_Store": "x",
        "__MACOSX/._lovelaceada_77_901_bot-1.py": "x",
    }  # fmt: skip
    found = taken(ladder, files)
    rows = {row.login: row for row in found.rows}
    assert rows["ada"].files == ("bot.py", "bot.toml", "weights.md")
    assert rows["ada"].taken is not None
    assert (rows["ada"].taken.label, rows["ada"].received) == ("deep@1", EARLIER)
    assert (rows["bob"].files, rows["bob"].passed) == (("bot.py",), ("report.pdf",))
    assert rows["bob"].taken is not None
    assert rows["bob"].taken.name == "bot"
    assert NOTHING in (rows["dan"].refused or "")
    assert len(rows["dan"].passed) == 2
    assert "no bot.toml" in (rows["cleo"].refused or "")
    assert (found.nobodys, found.missing, found.refused) == (("who.py",), ("ali", "eve", "nora", "omar", "x"), True)


def test_a_platforms_files_are_run_as_programs(ladder: Ladder) -> None:
    """No platform tells which files may be executed."""
    assert taken(ladder, {"dan/bot.toml": 'run = "./bot.py"\n', "dan/bot.py": PY}).rows[0].taken is not None
    query = select(TABLES.tables["files"].c.data).where(TABLES.tables["files"].c.file == "")
    data = ladder.database.look(lambda connection: connection.scalars(query).one())
    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(data))) as archive:
        assert [entry.mode for entry in archive if entry.name == "bot.py"] == [0o755]


def test_an_archive_of_one_person_is_the_bot(ladder: Ladder) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("x/bot.toml", 'name = "deep"\nrun = "python3 bot.py"\n')
        archive.writestr("x/bot.py", PY)
    [row] = taken(ladder, {"lovelaceada_77_1_mine-3.zip": made.getvalue(), "lovelaceada_77_2_a.pdf": "x"}).rows
    assert row.taken is not None
    assert row.taken.label == "deep@1"


def test_names_that_several_want_are_told_apart_by_pseudonyms(ladder: Ladder) -> None:
    """A login in a name would tell who somebody is. The next time, each has his bot."""
    hand_in(ladder, "cleo", "taken")
    ladder.clock = Clock(NOW)
    files = {"ada/bot.py": PY, "bob/bot.py": f"{PY}2", "dan/taken.py": f"{PY}3", "cleo/any.py": f"{PY}4"}
    rows = {row.login: row.taken and row.taken.label for row in taken(ladder, files).rows}
    assert rows == {
        "ada": "bot-of-red-ada@1",
        "bob": "bot-of-red-bob@1",
        "dan": "taken-of-red-dan@1",
        "cleo": "taken@2",
    }
    files = {name: f"{data}again" for name, data in files.items()}
    rows = {row.login: row.taken and row.taken.label for row in taken(ladder, files, received=NOW).rows}
    assert rows == {
        "ada": "bot-of-red-ada@2",
        "bob": "bot-of-red-bob@2",
        "dan": "taken-of-red-dan@2",
        "cleo": "taken@3",
    }


def test_the_same_again_is_nothing_new_and_a_dry_run_changes_nothing(ladder: Ladder) -> None:
    files = {"ada/bot.py": PY, "bob/bot.py": f"{PY}2"}
    before = ladder.database.look(lambda connection: len(acts_of(connection)))
    would = taken(ladder, files, dry_run=True)
    assert ladder.database.look(lambda connection: len(acts_of(connection))) == before
    done, again = taken(ladder, files), taken(ladder, files, received=EARLIER + 50)
    assert [replace(row, taken=None) for row in would.rows] == [replace(row, taken=None) for row in done.rows]
    assert [row.taken and row.taken.label for row in would.rows] == [row.taken and row.taken.label for row in done.rows]
    assert [row.taken and (row.taken.again, row.received) for row in again.rows] == [(True, EARLIER)] * 2
    assert ladder.database.look(lambda connection: len(acts_of(connection))) == before + 2


def test_a_time_is_asked_for_where_the_platform_tells_none(ladder: Ladder) -> None:
    """Canvas tells who was late, but not by how much; Moodle's files tell nothing, its worksheet does."""
    files = {"lovelaceada_77_1_a.py": PY, "müllerbob_LATE_78_2_b.py": f"{PY}2", f"Dan OBrien_4{FILE}/c.py": f"{PY}3"}
    for how, words in (({}, TIMELESS), ({"deadline": "first"}, "")):
        ada, bob, dan = taken(ladder, files, received=None, **how).rows
        assert words in (ada.refused or "")
        assert (ada.taken is None) is bool(words)
        assert LATE in (bob.refused or "")
        assert TIMELESS in (dan.refused or "")
    assert (ada.received, bob.received, dan.received) == (NOW - 10, None, None)
    csv = b"\xef\xbb\xbfIdentifier,Full name,Email address,Last modified (submission)\n"
    csv += b'"Participant 12",x,,"Monday, 12 January 1970, 12:30\xe2\x80\xafAM"\nParticipant 11,x,,-\n'
    rows = {row.login: row for row in taken(ladder, files, received=None, times=csv).rows}
    assert rows["bob"].received == 11 * 86_400 + 1800
    assert rows["bob"].taken is not None
    assert TIMELESS in (rows["dan"].refused or "")
    with pytest.raises(LadderError, match="no time of a day"):
        taken(ladder, files, times=b"login;received\ndan;yesterday\n")
    with pytest.raises(LadderError, match="columns login and received"):
        taken(ladder, files, times=b"x,y\n1,2\n")
    late = b"login;received\ndan;1999-12-31T10:00\n"
    assert "still to come" in str([row.refused for row in taken(ladder, files, times=late).rows])
    with pytest.raises(LadderError, match="still to come"):
        taken(ladder, files, received=NOW + 1)


def test_times_name_people_whatever_their_case_and_each_line_one(ladder: Ladder) -> None:
    """Whom only a line fits that fits others, too, is told so, also where there is another time for all."""
    people = [Owner("kim", "Min Kim", "Red kim", email="Min.Kim@x.org"), Owner("min", "Kim Min", "Red min", number="9")]
    ladder.database.write(lambda connection: put_owners(connection, people, 1.0))
    files = {f"{login}/{login}.py": PY + login for login in ("dan", "kim", "min")}
    csv = b"login,email,number,received\nDAN,,,1970-01-10T10:00Z\n,min.kim@X.org, ,1970-01-10T11:00Z\n"
    rows = {row.login: row for row in taken(ladder, files, times=csv, dry_run=True).rows}
    assert [rows[login].received for login in ("dan", "kim", "min")] == [813_600, 817_200, EARLIER]
    rows = {row.login: row for row in taken(ladder, files, times=csv + b"KIM,,9,1970-01-10T10:00Z\n").rows}
    assert "fits this person and another" in (rows["min"].refused or "")
    assert [rows[login].received for login in ("dan", "kim")] == [813_600, 817_200]


TOKYO = "Asia/Tokyo"  # where the server stands
MORNING = 13 * 86_400  # midnight of UTC
ZONES: dict[str, tuple[tuple[str, ...], str | None, int]] = {
    "none: the server's": ((), None, 9),
    "that of the deadlines": (("-05:00", "-05:00"), None, -5),
    "they have several": (("-05:00", "+01:00"), None, 9),
    "of one that is named": (("-05:00", "+01:00"), "two", 1),
}


@pytest.mark.parametrize("of", ZONES)
def test_a_time_without_a_zone_is_in_the_deadlines(ladder: Ladder, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    zones, name, hours = ZONES[of]
    monkeypatch.setenv("TZ", TOKYO)
    time.tzset()
    try:
        ladder.clock = Clock(MORNING * 2)
        path = ladder.path / "ladder.toml"
        path.write_text(path.read_text().replace(deadline("first", NOW - 10), ""))
        for number, zone in zip(("one", "two"), zones, strict=False):
            settle(ladder, f'[[deadlines]]\nname = "{number}"\nat = 1970-01-12T00:00:00{zone}\n')
        at = MORNING - 3600 * hours
        assert read_time(ladder, "1970-01-14T00:00", name) == at
        assert read_time(ladder, "1970-01-14T00:00Z", name) == MORNING
        csv = b'login,received\ndan,"Wednesday, 14 January 1970, 12:00 AM"\neve,1970-01-14 00:00\n'
        files = {"dan/a.py": PY, "eve/b.py": f"{PY}2"}
        assert [row.received for row in taken(ladder, files, times=csv, deadline=name).rows] == [at, at]
        if name:
            extend(ladder, "ada", name, "1970-01-14T00:00", None, 0, "prof", "ill")
            assert [each.until for each in ladder.database.look(extensions_in_force)] == [at]
        assert local_time(MORNING) == "1970-01-14 09:00+09:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["1970-01-14", "1970-01-14+01:00", "19700114", " 1970-01-14 ", "soon", "12:00"])
def test_a_time_is_one_of_a_day(ladder: Ladder, text: str) -> None:
    with pytest.raises(LadderError, match="no time of a day"):
        read_time(ladder, text)
    with pytest.raises(LadderError, match="no time of a day"):
        extend(ladder, "ada", "first", text, None, 0, "prof", "ill")


def zip_of(path: Path, entries: Mapping[str, str | bytes], links: tuple[str, ...] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3
            entry.external_attr = (0o120777 if name in links else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def test_a_zip_is_read_as_its_folder_is(ladder: Ladder, tmp_path: Path) -> None:
    path = zip_of(tmp_path / "all.zip", {"wrapped/lovelaceada_77_901_bot.py": PY, "wrapped/bob/bot.py": f"{PY}2"})
    assert [row.login for row in submit_collection(ladder, path, "prof", EARLIER).rows] == ["ada", "bob"]


_SIZE = 98_765  # bytes, which the bomb says are 600 MB
HOSTILE: dict[str, tuple[dict[str, str | bytes], str]] = {
    "leaves its folder": ({"../ada.py": PY}, "leaves its folder"),
    "absolute": ({"/tmp/ada.py": PY}, "leaves its folder"),
    "a link": ({"ada/bot.py": "/etc/passwd"}, "leads to /etc/passwd"),
    "40,000 entries": ({f"{number}": "" for number in range(40_000)}, "more than 20000 files"),
    "a bomb": ({"ada/bot.py": bytes(_SIZE)}, "more than 512 MB"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_zip_is_refused_whole(ladder: Ladder, tmp_path: Path, what: str) -> None:
    entries, words = HOSTILE[what]
    path = zip_of(tmp_path / "all.zip", entries, ("ada/bot.py",) if what == "a link" else ())
    path.write_bytes(path.read_bytes().replace(_SIZE.to_bytes(4, "little"), (600 << 20).to_bytes(4, "little")))
    with pytest.raises(BotError, match=words):
        submit_collection(ladder, path, "prof", EARLIER)
    assert not (tmp_path / "ada.py").exists()


@pytest.mark.usefixtures("read_apart")
def test_one_persons_bomb_takes_nothing_else_with_it(ladder: Ladder, tmp_path: Path) -> None:
    bomb = zip_of(tmp_path / "bomb.zip", {f"{number}.py": bytes(33 << 20) for number in range(2)}).read_bytes()
    rows = {row.login: row for row in taken(ladder, {"ada/bot.zip": bomb, "bob/bot.py": PY}).rows}
    assert "64 MB" in (rows["ada"].refused or "")
    assert rows["bob"].taken is not None


def test_a_link_in_a_folder_is_not_followed(ladder: Ladder) -> None:
    folder = folder_of(ladder, {"bob/bot.py": PY})
    (folder / "ada").mkdir()
    (folder / "ada" / "bot.py").symlink_to("/etc/passwd")
    found = submit_collection(ladder, folder, "prof", EARLIER)
    assert ([row.login for row in found.rows], found.nobodys) == (["bob"], ("ada/bot.py",))


BATCH = """
import sys
from contextlib import closing
from pathlib import Path
from ladder.service import open_ladder, submit_collection
with closing(open_ladder(Path(sys.argv[1]))) as ladder:
    submit_collection(ladder, Path(sys.argv[2]), "prof", 9e5)
"""


def test_a_batch_that_was_killed_is_given_again_and_nothing_comes_twice(ladder: Ladder) -> None:
    """The ladder's clock in the other process is the real one: what it took in was received long before."""
    people = [Owner(f"p{number}", f"P {number}", f"Blue {number}") for number in range(30)]
    ladder.database.write(lambda connection: put_owners(connection, people, 1.0))
    folder = folder_of(ladder, {f"p{number}/bot.py": f"{PY}{number}" for number in range(30)})
    process = subprocess.Popen(
        [sys.executable, "-c", BATCH, ladder.path, folder], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    versions = TABLES.tables["versions"]
    before = ladder.database.look(lambda connection: len(connection.execute(versions.select()).all()))
    until = time.monotonic() + 30
    while ladder.database.look(lambda connection: len(connection.execute(versions.select()).all())) == before:
        assert time.monotonic() < until
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = submit_collection(ladder, folder, "prof", EARLIER)
    assert [row.taken and row.taken.number for row in found.rows] == [1] * 30
    assert any(row.taken and row.taken.again for row in found.rows)
    assert ladder.database.look(lambda connection: len(connection.execute(versions.select()).all())) == before + 30
    assert ladder.database.look(lambda connection: len(acts_of(connection, what=("receive",)))) == 30


# --- one bot, at a time that staff says -------------------------------------------------------------------------------


def sent(ladder: Ladder, code: int, received: float | None = None, at: float = NOW) -> tuple[int, float | None]:
    ladder.clock = Clock(at)
    path = ladder.path / "ada.py"
    path.write_text(f"{PY}{code}")
    taken = submit(ladder, path, "ada", "ada", received, None if received is None else "prof")
    return taken.number, taken.received


def said(ladder: Ladder) -> list[str]:
    return ladder.database.look(lambda connection: [act.why for act in acts_of(connection, what=("receive",))])


def test_what_staff_enters_counts_against_no_quota(ladder: Ladder) -> None:
    toml = ladder.path / "ladder.toml"
    toml.write_text(toml.read_text().replace("submissions_per_day = 10", "submissions_per_day = 1"))
    for code in range(3):
        assert sent(ladder, code, EARLIER + code)[0] == code + 1
    assert sent(ladder, 8)[0] == 4
    with pytest.raises(LadderError, match="1 are allowed"):
        sent(ladder, 9)
    assert sent(ladder, 10, NOW)[0] == 5


def test_the_same_files_with_another_time_correct_it(ladder: Ladder) -> None:
    """The ladder's own time gives way to an earlier one alone; one that staff said to any."""
    assert sent(ladder, 1) == (1, NOW)
    assert sent(ladder, 1, NOW, at=NOW + 5) == (1, NOW)
    assert said(ladder) == []
    assert sent(ladder, 1, EARLIER) == (1, EARLIER)
    assert sent(ladder, 1, EARLIER) == (1, EARLIER)
    assert sent(ladder, 1, EARLIER + 60) == (1, EARLIER + 60)
    assert len(said(ladder)) == 2
    assert said(ladder)[0].endswith(", as prof says")
    assert sent(ladder, 2, EARLIER + 90) == (2, EARLIER + 90)
    assert sent(ladder, 1, EARLIER + 99) == (1, EARLIER + 99)  # over a version that came between


def test_an_owner_who_goes_back_to_earlier_files_has_a_new_version(ladder: Ladder) -> None:
    assert [sent(ladder, code, at=NOW + at)[0] for at, code in enumerate((1, 2, 1, 1))] == [1, 2, 3, 3]


def test_late_counts_by_the_time_of_receipt(ladder: Ladder) -> None:
    settle(ladder, deadline("second", NOW - 1000, grace_minutes=15))
    path = ladder.path / "ada.py"
    path.write_text(PY)
    assert submit(ladder, path, "ada", received=NOW - 500, by="prof").late == "second"


def test_a_teammates_submission_is_late_as_the_grade_has_it(ladder: Ladder) -> None:
    """The bot's owner has the deadline, whoever of the team submits."""
    settle(ladder, deadline("second", NOW - 1000, grace_minutes=15))
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "prof", "as they asked")
    sent(ladder, 1, EARLIER)
    extend(ladder, "bob", "second", None, 1, 0, "prof", "ill")
    path = ladder.path / "ada.py"
    path.write_text(f"{PY}2")
    assert submit(ladder, path, "bob", received=NOW - 500, by="prof").late == "second"


def test_the_owner_reads_when_it_was_received_and_others_do_not(ladder: Ladder) -> None:
    sent(ladder, 1, EARLIER)
    told = {}
    for viewer in (STAFF, Viewer("ada"), Viewer("bob")):
        with ladder.reading(viewer) as reader:
            found = bot(reader, "ada")
        assert found is not None
        told[viewer.login] = (found.versions[0].submitted, found.versions[0].received)
    assert told == {None: (NOW, EARLIER), "ada": (NOW, EARLIER), "bob": (NOW, None)}
