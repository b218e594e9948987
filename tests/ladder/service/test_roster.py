"""Rosters: what spreadsheets, Canvas and Moodle write is read; what isn't a roster is refused with its lines.

Sources: gradebook exports of Canvas (lib/gradebook_importer.rb reads them back) and of Moodle (docs.moodle.org, Grade
export).
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.coup import PRESETS
from arena.referee import Terms
from arena.sandbox import Choice
from ladder.service import Ladder, LadderError, Play, create, open_ladder, parse_roster, take_in_people
from ladder.store.database import Owner, all_owners, find_owner
from tests.ladder.service.classes import school
from tests.place import Place

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4711)
,,,,,Manual Posting
    Points Possible,,,,,10.00
"Lovelace, Ada",101,U0007,ada,CS1-01,9.00
"Babbage, Charles",102,U0008,charles,"CS1-01 and CS1-02",
"Student, Test",103,,7d1a2c,CS1-01,
"""

MOODLE = """\
First name,Surname,ID number,Institution,Email address,Course total
Ada,Lovelace,U0007,,ada@example.edu,-
Charles,Babbage,U0008,,charles@example.edu,-
"""


def people(text: str) -> list[tuple[str | bool | None, ...]]:
    found = parse_roster(text.encode(), "roster.csv")
    return [(each.login, each.name, each.email, each.number, each.section, each.pseudonym) for each in found]


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    play = Play(Terms(rules=PRESETS["coup"]), Choice("process"), seats=2, match_games=2)
    with closing(create(tmp_path / "spring", play, None)) as made:
        yield made


def test_a_plain_roster_is_read_in_any_order_of_columns_and_any_case() -> None:
    """Columns that nobody knows are passed over, and blank lines."""
    assert people("SECTION,Login,Shoe size,NAME\nA, ada ,38,Ada\n\n,bob,44,\n") == [
        ("ada", "Ada", None, None, "A", None),
        ("bob", None, None, None, None, None),
    ]


def test_what_canvas_exports_is_read_without_the_rows_that_are_no_students() -> None:
    """Points, posting policies, the test student."""
    assert people(CANVAS) == [
        ("ada", "Lovelace, Ada", None, "U0007", "CS1-01", None),
        ("charles", "Babbage, Charles", None, "U0008", "CS1-01 and CS1-02", None),
    ]


def test_what_moodle_exports_is_read_and_the_email_is_the_login() -> None:
    """First name and surname are one name."""
    assert people(MOODLE) == [
        ("ada@example.edu", "Ada Lovelace", "ada@example.edu", "U0007", None, None),
        ("charles@example.edu", "Charles Babbage", "charles@example.edu", "U0008", None, None),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_whatever_a_spreadsheet_separates_with_is_read(separator: str, start: str, end: str) -> None:
    """With a byte order mark or without, and quoted fields with the separator in them."""
    text = f'{start}login|name|section{end}ada|"Lovelace, Ada; of A"|A{end}'.replace("|", separator)
    assert people(text) == [("ada", "Lovelace, Ada; of A", None, None, "A", None)]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"login,name\n", "no people"),
        (b"name,section\nAda,A\n", "no column tells the login"),
        (b"login,Username\nada,ada\n", 'line 1: "login" and "Username" both tell the login'),
        (b"login,name\nada,Ada\nb\xf6b,Bob\n", "line 3: byte 0xf6 is no UTF-8"),
        ("login\nada\n".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"login\na\0da\n", "line 2: no CSV has NUL"),
        (b'login,name\nada,"Ada\nbob,Bob\n', "line 2: this is no CSV"),
        (b"login,name\nada,Ada,A\n", "line 2: it has 3 cells, and the header 2"),
        (b"login,name\nada,Ada\n,Bob\n", "line 3: it has no login"),
        (b"login\nada\nADA\n", 'line 3: the login "ADA" is that of line 2'),
        (b"login,pseudonym\nada,Fox\nbob,fox\n", 'line 3: the pseudonym "fox" is that of line 2'),
        (b"login,email\nada,x@y.z\nbob,x@y.z\n", 'line 3: the email "x@y.z" is that of line 2'),
        (b"login\nad\x1b[31ma\n", 'line 2: the login "ad\\x1b[31ma" has characters that can\'t be printed'),
        (b"login\n=cmd\n", 'line 2: the login "=cmd" begins with "="'),
        (b"login\nStaff\n", "is the reference bots'"),
        (b"login\nLadder\n", "is the ladder's own"),
        (b"login,email\nada,nowhere\n", '"nowhere" is no email'),
        (b"login,staff\nada,maybe\n", "staff is yes or no"),
        (b"login\n" + b"a" * 101 + b"\n", "longer than 100"),
    ],
)
def test_what_is_no_roster_is_refused_with_its_line(data: bytes, told: str) -> None:
    """And nothing of it is shown that could act on a terminal."""
    with pytest.raises(LadderError) as refused:
        parse_roster(data, "roster.csv")
    assert told in str(refused.value)
    assert str(refused.value).replace("\n", "").isprintable()


def test_three_problems_are_told_and_the_others_counted() -> None:
    """So that one look mends most."""
    with pytest.raises(LadderError, match=r"line 2: .*line 3: .*line 4: .*and 2 more"):
        parse_roster(b"login,email\n" + b"a,b\n" * 5, "roster.csv")


def test_a_line_is_counted_where_a_cell_has_several(ladder: Ladder) -> None:
    """As an editor counts them."""
    with pytest.raises(LadderError, match="line 4: it has no login"):
        parse_roster(b'login,name,note\nada,Ada,"one\ntwo"\n,Bob,\n', "roster.csv")


def test_missing_pseudonyms_are_drawn_and_stay(ladder: Ladder) -> None:
    """A roster that comes again changes what it tells, and nothing else."""
    roster = b"login,name,section,pseudonym\nada,Ada,A,\nbob,Bob,A,Loud Owl\n"
    taken = take_in_people(ladder, parse_roster(roster, "r"), "staff", "a roster")
    assert (taken.added, taken.changed, taken.absent) == (2, 0, 0)
    first = owners(ladder)
    assert first["bob"].pseudonym == "Loud Owl"
    assert not {"ada", "lovelace"} & set(first["ada"].pseudonym.lower().split())
    taken = take_in_people(ladder, parse_roster(roster, "r"), "staff", "a roster")
    assert (taken.added, taken.changed, taken.absent) == (0, 0, 0)
    taken = take_in_people(
        ladder, parse_roster(b"login,section,pseudonym\nada,B,Other Name\ncleo,,\n", "r"), "staff", "a roster"
    )
    assert (taken.added, taken.changed, taken.absent) == (1, 1, 1)
    second = owners(ladder)
    assert (second["ada"].section, second["ada"].name) == ("B", "Ada")
    assert second["ada"].pseudonym == first["ada"].pseudonym
    assert second["bob"] == first["bob"]


def test_pseudonyms_differ_and_depend_on_the_ladders_key(ladder: Ladder, tmp_path: Path) -> None:
    """Who knows the login but not the key can't tell whose a pseudonym is."""
    roster = parse_roster(("login\n" + "".join(f"s{number}\n" for number in range(300))).encode(), "r")
    take_in_people(ladder, roster, "staff", "a roster")
    names = {login: owner.pseudonym for login, owner in owners(ladder).items()}
    assert len(set(names.values())) == len(names)
    with closing(create(tmp_path / "autumn", ladder.play, None)) as other:
        take_in_people(other, roster, "staff", "a roster")
        same = [login for login, owner in owners(other).items() if owner.pseudonym == names[login] and login != "staff"]
    assert len(same) < 10


def test_a_pseudonym_that_a_roster_gives_to_one_is_drawn_for_nobody_else(ladder: Ladder, tmp_path: Path) -> None:
    """Whoever stands first in it. Here ada would have had the one that bob is given."""
    shutil.copytree(ladder.path, tmp_path / "same")  # with its key
    take_in_people(ladder, parse_roster(b"login\nada\n", "r"), "staff", "a roster")
    drawn = owners(ladder)["ada"].pseudonym
    with closing(open_ladder(tmp_path / "same")) as same:
        take_in_people(same, parse_roster(f"login,pseudonym\nada,\nbob,{drawn}\n".encode(), "r"), "staff", "a roster")
        assert owners(same)["bob"].pseudonym == drawn
        assert owners(same)["ada"].pseudonym != drawn


@pytest.mark.parametrize(
    ("roster", "told"),
    [
        (b"login,pseudonym\ncleo,LOUD OWL\n", "another owner's"),
        (b"login\nAda\n", "but for its case"),
    ],
)
def test_a_roster_that_is_too_like_an_owner_is_refused_whole(ladder: Ladder, roster: bytes, told: str) -> None:
    """Nobody of it is taken in."""
    take_in_people(ladder, parse_roster(b"login,pseudonym\nada,\nbob,Loud Owl\n", "r"), "staff", "a roster")
    before = owners(ladder)
    with pytest.raises(LadderError, match=told):
        take_in_people(
            ladder,
            parse_roster(roster + b"dora,\n" if b"," in roster else roster + b"dora\n", "r"),
            "staff",
            "a roster",
        )
    assert owners(ladder) == before


def test_the_command_imports_a_roster(place: Place) -> None:
    """And says in two lines what is wrong with one."""
    place.call("ladder", "init", "spring", "--sandbox", "process")
    place.bot("roster.csv", CANVAS)
    assert place.call("ladder", "owners", "import", "spring", "roster.csv").err == "2 owners added, 0 changed\n"
    again = place.call("ladder", "owners", "import", "spring", "roster.csv", "--json").json
    assert again == {"added": 0, "changed": 0, "absent": 0}
    place.bot("broken.csv", "login\nada\nada\n")
    refused = place.call("ladder", "owners", "import", "spring", "broken.csv")
    assert (refused.code, len(refused.told)) == (2, 2)
    assert "line 3" in refused.told[0]
    assert place.call("ladder", "owners", "import", "spring", "none.csv").code == 2


def owners(ladder: Ladder) -> dict[str, Owner]:
    with ladder.database.read() as connection:
        return {owner.login: owner for owner in all_owners(connection)}


def test_what_a_later_roster_does_not_tell_stays(tmp_path: Path) -> None:
    """Of a roster without emails, numbers or sections; and a name that a Mac decomposed is the same name."""
    with closing(school(tmp_path / "spring", "ada")) as ladder:
        for text in (
            "login,name,email,number,section\nada,Zo\u00eb,ada@example.edu,U7,B\n",
            "login\nada\n",
            "login,name\nada,Zoe\u0308\n",
        ):
            take_in_people(ladder, parse_roster(text.encode(), "roster.csv"), "staff", "a roster")
        with ladder.database.read() as connection:
            ada = find_owner(connection, "ada")
    assert ada is not None
    assert (ada.name, ada.email, ada.number, ada.section) == ("Zo\u00eb", "ada@example.edu", "U7", "B")
