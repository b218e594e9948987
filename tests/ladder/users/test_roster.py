"""Tests of rosters: exports of spreadsheets, Canvas and Moodle are read; other files are refused with line numbers.

Sources: Canvas' lib/gradebook_exporter.rb writes its gradebook, course.rb its test student; Moodle's
grade/export/txt/grade_export_txt.php writes grades, mod/assign/gradingtable.php the grading worksheet, and
user/action_redir.php participants.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.coup import PRESETS
from arena.referee import MatchSettings
from arena.sandbox import SandboxChoice
from ladder.ladder import Ladder, LadderFormat, create_ladder, open_ladder
from ladder.settings import LadderError
from ladder.store import User, all_users, find_user
from ladder.users import import_users, parse_roster
from tests.cases import each
from tests.ladder.classes import make_ladder
from tests.ladder.term import Term

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4711)
,,,,,Manual Posting
    Points Possible,,,,,10.00
"Lovelace, Ada",101,U0007,ada,CS1-01,9.00
"Babbage, Charles",102,U0008,charles,"CS1-01 and CS1-02",
"Student, Test",103,,a94a8fe5ccb19ba61c4c0873d391e987982fbbd3,CS1-01,
"Student, Test",104,,,CS1-01,
"""

MOODLE = """\
First name,Surname,ID number,Institution,Email address,Course total
Ada,Lovelace,U0007,,ada@example.edu,-
Charles,Babbage,U0008,,charles@example.edu,-
"""


def people(text: str) -> list[tuple[str | bool | None, ...]]:
    found = parse_roster(text.encode(), "roster.csv").people
    return [(each.login, each.name, each.email, each.student_id, each.section, each.pseudonym) for each in found]


def output(text: str) -> list[str]:
    found = parse_roster(text.encode(), "roster.csv")
    return [f"{each.line}: {each.text}" for each in (*found.wrong, *found.remarks)]


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    play = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), seats=2, match_games=2)
    with closing(create_ladder(tmp_path / "spring", play, None)) as made:
        yield made


def test_a_plain_roster_is_read_in_any_order_of_columns_and_any_case() -> None:
    assert people("SECTION,Login,Shoe size,NAME\nA, ada ,38,Ada\n\n,bob,44,\n") == [
        ("ada", "Ada", None, None, "A", None),
        ("bob", None, None, None, None, None),
    ]


def test_a_canvas_export_is_read_without_rows_that_are_no_students() -> None:
    assert people(CANVAS) == [
        ("ada", "Ada Lovelace", None, "U0007", "CS1-01", None),
        ("charles", "Charles Babbage", None, "U0008", "CS1-01 and CS1-02", None),
    ]
    assert output(CANVAS) == [
        *(f"{line}: skipped: Test Student is Canvas' test student" for line in (6, 7)),
        '4: "Lovelace, Ada" becomes "Ada Lovelace", and so on in 1 other line',
    ]


def test_a_moodle_export_is_read_with_the_email_as_login() -> None:
    assert people(MOODLE) == [
        ("ada@example.edu", "Ada Lovelace", "ada@example.edu", "U0007", None, None),
        ("charles@example.edu", "Charles Babbage", "charles@example.edu", "U0008", None, None),
    ]


CANVAS_NAMES = """\
\ufeffLastName;FirstName;ID;SIS User ID;SIS Login ID;Integration ID;Root Account;Section;Group;H (4);Current Score
;;;;;;;;;Manual Posting (scores hidden from instructors);
    Points Possible;;;;;;;;;10,00;(read only)
Lovelace;Ada;101;U0007;ada;;school.edu;CS1-01, CS1-02, and CS1-03;red;9,00;90,00
Student;Test;102;U0008;test;;school.edu;CS1-01;;;
King, Jr.;Martin;103;U0009;;;school.edu;CS1-01;;EX;
Ng;;104;;;;;CS1-01;;N/A;
Student;Test;105;;a94a8fe5ccb19ba61c4c0873d391e987982fbbd3;;school.edu;CS1-01;;;
"""


def test_canvas_with_names_in_two_columns_is_read() -> None:
    """Canvas writes it with semicolons and a byte order mark for Europe; a real person may be called Test Student."""
    found = parse_roster(CANVAS_NAMES.encode(), "canvas.csv")
    assert [(each.login, each.name, each.student_id, each.canvas_id, each.section) for each in found.people] == [
        ("ada", "Ada Lovelace", "U0007", "101", "CS1-01, CS1-02, and CS1-03"),
        ("test", "Test Student", "U0008", "102", "CS1-01"),
        ("U0009", "Martin King, Jr.", "U0009", "103", "CS1-01"),
        ("canvas-104", "Ng", None, "104", "CS1-01"),
    ]
    assert output(CANVAS_NAMES) == ["8: skipped: Test Student is Canvas' test student"]


def test_moodles_participants_and_its_grading_worksheet_are_read() -> None:
    """The worksheet's identifier is kept: blind grading has nothing else."""
    assert people("First name,Last name,ID number,Email address,Groups\nAda,Lovelace,U7,ada@example.edu,red\n") == [
        ("ada@example.edu", "Ada Lovelace", "ada@example.edu", "U7", "red", None)
    ]
    assert people("First name / Last name,Username,Roles\nAda Lovelace,ada,Student\n")[0][:2] == ("ada", "Ada Lovelace")
    sheet = (
        "Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
        '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
        'Participant 123,Ada Lovelace,U7,ada@example.edu,No submission,,100.00,Yes,-,-,""\n'
    )
    [ada] = parse_roster(sheet.encode(), "sheet.csv").people
    assert (ada.login, ada.name, ada.moodle_id) == ("ada@example.edu", "Ada Lovelace", "Participant 123")
    [blind] = parse_roster(b"Identifier,Status,Grade\nParticipant 123,No submission,\n", "sheet.csv").people
    assert (blind.login, blind.moodle_id) == (None, "Participant 123")


@pytest.mark.parametrize("start", ["name,login", "Student,SIS Login ID,ID", "Full name,Username,Identifier"])
def test_names_are_written_in_spoken_order_with_a_remark(start: str) -> None:
    rows = ('"Lovelace, Ada",ada,1', '"King, Jr., Martin",martin,2', '"Rob King, Ph.D.",rob,3', "Kay Li,kay,4")
    lines = [start, *(row if start.count(",") == 2 else row[:-2] for row in rows)]
    roster = parse_roster("\n".join(lines).encode(), "b.csv")
    names = [person.name for person in roster.people]
    assert names == ["Ada Lovelace", "Martin King, Jr.", "Rob King, Ph.D.", "Kay Li"]
    assert [remark.text for remark in roster.remarks] == [
        '"Lovelace, Ada" becomes "Ada Lovelace", and so on in 1 other line'
    ]


def test_an_id_column_alone_is_not_canvas() -> None:
    roster = parse_roster(b'ID,Login,Name\n7,ada,"Lovelace, Ada"\n', "sheet.csv")
    [ada] = roster.people
    assert (ada.canvas_id, ada.name) == (None, "Ada Lovelace")
    assert roster.remarks[0].text == "columns that aren't imported: ID (if it is Canvas', name it canvas_id)"


def test_a_roster_of_ones_own_may_name_canvas_ids() -> None:
    roster = parse_roster(b"login,student_id,canvas_id,note\nada,U7,7,x\n", "sheet.csv")
    assert [(each.student_id, each.canvas_id) for each in roster.people] == [("U7", "7")]
    assert [remark.text for remark in roster.remarks] == ["columns that aren't imported: note"]


@pytest.mark.parametrize(
    ("separator", "start", "end"),
    [(",", "", "\n"), (";", "\ufeff", "\r\n"), (";", "\ufeff\ufeffsep=;\n", "\n"), ("\t", "", "\r"), (":", "", "\n")],
)
def test_all_separators_of_spreadsheets_are_read(separator: str, start: str, end: str) -> None:
    text = f'{start}login|name|section{end}ada|"Lovelace, Ada; of A"|A{end}'.replace("|", separator)
    assert people(text) == [("ada", "Ada; of A Lovelace", None, None, "A", None)]


def test_separators_within_quoted_headings_do_not_count() -> None:
    assert people('login;"name, or alias, or both"\nada;Ada\n') == [("ada", None, None, None, None, None)]


def test_users_whose_logins_only_look_alike_are_imported() -> None:
    """A user may have the word of Canvas' second header as login, and case folding makes ss of \u00df."""
    logins = ["muted", "stra\u00dfe", "strasse"]
    assert [login for login, *_ in people("\n".join(["login", *logins]))] == logins


@each(
    ("data", "output"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"login,name\n", "but no users"),
        (b"name,section\nAda,A\n", "no column contains the login"),
        (b"login,Username\nada,ada\n", 'line 1: "login" and "Username" are columns for the login'),
        (b"login,name\nada,Ada\nb\xf6b,Bob\n", "line 3: byte 0xf6 isn't valid UTF-8"),
        ("login\nada\n".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "spreadsheet"),
        (b"login,name\nada,Ada\nlogin,name\nbob,Bob\n", "line 3: this line repeats the header"),
        (b"login\na\0da\n", "line 2 has a NUL character"),
        (b'login,name\nada,"Ada\nbob,Bob\n', "line 2: this isn't valid CSV"),
        (b"login,name\nada,Ada,A\n", "line 2: 3 cells, but the header has 2"),
        (b"login,name\nada,Ada\n,Bob\n", "line 3: no login, email or student_id"),
        (b"login\nada\nADA\n", 'line 3: the login "ADA" is also in line 2'),
        (b"login,pseudonym\nada,Fox\nbob,fox\n", 'line 3: the pseudonym "fox" is also in line 2'),
        (b"login,email\nada,x@y.z\nbob,x@y.z\n", 'line 3: the email "x@y.z" is also in line 2'),
        (b"login\nad\x1b[31ma\n", 'line 2: the login "ad\\x1b[31ma" has unprintable characters'),
        (b"login\n=cmd\n", 'line 2: the login "=cmd" begins with "="'),
        (b"login\nStaff\n", "it owns the reference bots"),
        (b"login\nLadder\n", "the ladder uses it"),
        (b"login,email\nada,nowhere\n", "isn't a valid email"),
        (b"login,staff\nada,maybe\n", "staff must be yes or no"),
        *(
            (
                f"login,{column}\nada,{value}\n".encode(),
                f'line 2: the {column} "{value.strip(chr(34))}" was converted by',
            )
            for column, value in [
                ("student_id", "1.23457E+11"),
                ("email", '"1,23457e+11"'),
                ("student_id", "1041.0"),
                ("student_id", '"123,456"'),
                ("student_id", "12-Jan"),
                ("student_id", "#NAME?"),
                ("student_id", "#N/A"),
                ("student_id", "#####"),
            ]
        ),
        (b"login\n1.23457E+11\n", "was converted by a spreadsheet"),
        (b"Student,ID,SIS Login ID\nAda,1.0E+17,ada\n", 'the canvas_id "1.0E+17" was converted'),
        (b"login;number\nada;1,23457E+11\n", "was converted by a spreadsheet"),
        ("login,name\nada,Jos\ufffd\n".encode(), "has letters that were lost"),
        (b"login,name\ns 041,Sam\n", 'line 2: the login "s 041" contains a space'),
        (b"login\n" + b"a" * 101 + b"\n", "longer than 100"),
    ],
)
def test_an_invalid_roster_is_refused_with_its_line(ladder: Ladder, data: bytes, output: str) -> None:
    with pytest.raises(LadderError) as refused:
        import_users(ladder, parse_roster(data, "roster.csv"), "staff", "roster.csv")
    assert output in str(refused.value)
    assert list(owners(ladder)) == ["staff"]
    assert str(refused.value).replace("\n", "").isprintable()


def test_identifiers_that_only_look_rounded_are_accepted(ladder: Ladder) -> None:
    """An identifier that ends where a spreadsheet's digits do is reported."""
    text = b"login,number\n1e5,12.345.678\ne+11,2019/0012\njan-12,0123\n12-1,123456789012345000\n"
    read = parse_roster(text, "r.csv")
    assert (len(read.people), read.wrong) == (4, ())
    assert [(each.line, "123456789012345000" in each.text) for each in read.remarks] == [(5, True)]


def test_twenty_problems_are_listed_and_the_others_counted(ladder: Ladder) -> None:
    text = b"login,email,pseudonym\nada,,Loud Owl\nbob,,loud owl\n" + b"a,b,\n" * 21
    with pytest.raises(LadderError) as refused:
        import_users(ladder, parse_roster(text, "r.csv"), "staff", "r.csv")
    lines = str(refused.value).split("\n")
    assert lines[0] == "r.csv: 22 lines can't be imported."
    assert lines[1] == 'line 3: the pseudonym "loud owl" is also in line 2'
    assert lines[20:] == [
        'line 22: "b" isn\'t a valid email',
        "and 2 more lines",
        "No line was imported. Correct the lines, or skip them.",
    ]


def test_line_numbers_count_lines_within_cells() -> None:
    line, ignored = output('login,name,note,,\nada,Ada,"one\ntwo",,\n,Bob,,,\n')
    assert line.startswith("4: no login")
    assert ignored == "1: columns that aren't imported: note"


def test_missing_pseudonyms_are_drawn_and_stay(ladder: Ladder) -> None:
    """Importing a roster again changes only the values in it."""
    roster = b"login,name,section,pseudonym\nada,Ada,A,\nbob,Bob,A,Loud Owl\n"
    taken = import_users(ladder, parse_roster(roster, "r"), "staff", "a roster")
    assert (taken.added, taken.changed, taken.absent) == (2, 0, 0)
    first = owners(ladder)
    assert first["bob"].pseudonym == "Loud Owl"
    assert not {"ada", "lovelace"} & set(first["ada"].pseudonym.lower().split())
    taken = import_users(ladder, parse_roster(roster, "r"), "staff", "a roster")
    assert (taken.added, taken.changed, taken.absent) == (0, 0, 0)
    taken = import_users(
        ladder, parse_roster(b"login,section,pseudonym\nada,B,Other Name\ncleo,,\n", "r"), "staff", "a roster"
    )
    assert (taken.added, taken.changed, taken.absent) == (1, 1, 1)
    second = owners(ladder)
    assert (second["ada"].section, second["ada"].name) == ("B", "Ada")
    assert second["ada"].pseudonym == first["ada"].pseudonym
    assert second["bob"] == first["bob"]


def test_pseudonyms_differ_and_depend_on_the_ladders_key(ladder: Ladder, tmp_path: Path) -> None:
    """Knowing a login without the key doesn't reveal its pseudonym."""
    roster = parse_roster(("login\n" + "".join(f"s{number}\n" for number in range(100))).encode(), "r")
    import_users(ladder, roster, "staff", "a roster")
    names = {login: owner.pseudonym for login, owner in owners(ladder).items()}
    assert len(set(names.values())) == len(names)
    with closing(create_ladder(tmp_path / "autumn", ladder.play, None)) as other:
        import_users(other, roster, "staff", "a roster")
        same = [login for login, owner in owners(other).items() if owner.pseudonym == names[login] and login != "staff"]
    assert len(same) < 5


def test_pseudonyms_of_a_roster_are_not_drawn_for_others(ladder: Ladder, tmp_path: Path) -> None:
    """Otherwise ada, in an earlier line, would get the one given to bob."""
    shutil.copytree(ladder.path, tmp_path / "same")  # with its key
    import_users(ladder, parse_roster(b"login\nada\n", "r"), "staff", "a roster")
    drawn = owners(ladder)["ada"].pseudonym
    with closing(open_ladder(tmp_path / "same")) as same:
        import_users(same, parse_roster(f"login,pseudonym\nada,\nbob,{drawn}\n".encode(), "r"), "staff", "a roster")
        assert owners(same)["bob"].pseudonym == drawn
        assert owners(same)["ada"].pseudonym != drawn


def test_a_roster_with_the_pseudonym_of_another_owner_is_refused_whole(ladder: Ladder) -> None:
    import_users(ladder, parse_roster(b"login,pseudonym\nada,\nbob,Loud Owl\n", "r"), "staff", "a roster")
    before = owners(ladder)
    with pytest.raises(LadderError, match="belongs to another user"):
        import_users(ladder, parse_roster(b"login,pseudonym\ncleo,LOUD OWL\ndora,\n", "r"), "staff", "a roster")
    assert owners(ladder) == before


def test_the_command_imports_a_roster(ladder: Ladder, tmp_path: Path) -> None:
    term, roster = Term(ladder.path), tmp_path / "roster.csv"
    roster.write_text(CANVAS)
    assert term.arena("users import", roster).err.splitlines() == [
        'line 4: "Lovelace, Ada" becomes "Ada Lovelace", and so on in 1 other line',
        "line 6: skipped: Test Student is Canvas' test student",
        "line 7: skipped: Test Student is Canvas' test student",
        "2 users added, 0 changed",
    ]
    roster.write_text("login\nada\nada\n")
    messages = term.arena("users import", roster, code=2).messages
    assert (len(messages), messages[-1]) == (3, "Options for this: --partial")
    assert term.arena("users import", roster, "--partial").err.splitlines() == [
        'line 3: skipped: the login "ada" is also in line 2', "0 users added, 0 changed, 1 line skipped",
        "1 user not in roster.csv: unchanged",
    ]  # fmt: skip
    left_out = [{"line": 3, "text": 'the login "ada" is also in line 2'}]
    assert term.json("users import", roster, "--partial") == {
        "added": 0, "changed": 0, "absent": 1, "skipped": left_out, "remarks": [], "changes": [], "signed_up": [],
    }  # fmt: skip


def owners(ladder: Ladder) -> dict[str, User]:
    return {owner.login: owner for owner in ladder.database.read_with_retry(all_users)}


def test_values_missing_in_a_later_roster_stay(tmp_path: Path) -> None:
    """It may lack emails, numbers or sections; a name decomposed by a Mac is the same name."""
    with closing(make_ladder(tmp_path / "spring", "ada")) as ladder:
        for text in (
            "login,name,email,number,section\nada,Zo\u00eb,ada@example.edu,U7,B\n",
            "login\nada\n",
            "login,name\nada,Zoe\u0308\n",
        ):
            import_users(ladder, parse_roster(text.encode(), "roster.csv"), "staff", "a roster")
        with ladder.database.read() as connection:
            ada = find_user(connection, "ada")
    assert (ada.name, ada.email, ada.student_id, ada.section) == ("Zo\u00eb", "ada@example.edu", "U7", "B")
