"""A class's roster: CSV, from a spreadsheet or as Canvas and Moodle export it, read into people. Pure.

The header tells what the columns are, in any order and under any of the names in COLUMNS; others are passed over. Lines
that can't be read are kept with the reason, for whoever takes the others in.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields

from arena.bots import cell, shown
from ladder.service.settings import LadderError

COLUMNS: dict[str, tuple[str, ...]] = {
    "login": ("login", "login id", "username", "user name", "sis login id", "account"),
    "email": ("email", "e mail", "email address", "e mail address", "mail"),
    "name": ("name", "full name", "student", "student name", "display name", "first name / last name"),
    "first": ("first name", "firstname", "given name", "forename"),
    "last": ("last name", "lastname", "surname", "family name"),
    "number": ("number", "id number", "sis user id", "student id", "student number", "matriculation number"),
    "section": ("section", "sections", "class", "group", "groups"),
    "pseudonym": ("pseudonym", "alias"),
    "staff": ("staff",),
    "canvas": ("id",),  # in Canvas' own exports alone
    "moodle": ("identifier",),
}
CALLS = ("number", "email", "login", "canvas", "moodle")  # the columns that tell who somebody is

SEPARATORS = ",;\t"  # a colon, too, where the header has none of them: Moodle offers it
LONGEST = 100  # characters, as the database has room for
MOST_BYTES = 8_000_000
# Logins that are nobody's, and whose they are: what was decided tells them apart from people's.
RESERVED = {"staff": "the reference bots'", "ladder": "the ladder's own"}
_NO_PERSON = re.compile(r"(muted|manual posting.*)?", re.IGNORECASE)  # cells of a row of Canvas' that is no student's
# What a spreadsheet or a script makes of a text that it takes for a number, a date or a formula.
_MANGLED = re.compile(
    r"(?i:[+-]?\d+([.,]\d+)?E[+-]\d{2,3})|\d+\.0|\d{1,3}(,\d{3})+(\.0+)?|#([A-Z0-9/]+[!?]|N/?[AV]|#+)"
    r"|\d{1,2}-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(-\d+)?"
)
_SHORTENED = re.compile(r"\d{15}0+")  # spreadsheets keep 15 digits
_TEST_LOGIN = re.compile(r"[0-9a-f]{40}")  # Canvas' for its test student: a digest


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a roster. None: the roster says nothing of it.

    login: the first that is told of login, email, number and Canvas' ID; None: there is none, so nobody new can be it.
    """

    line: int
    login: str | None
    name: str | None = None
    email: str | None = None
    number: str | None = None
    section: str | None = None
    pseudonym: str | None = None
    staff: bool | None = None
    canvas: str | None = None
    moodle: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of a line of a roster: why it can't be taken in, or what somebody should know."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Roster:
    """The people of a roster, in its order; the lines that can't be read; those that are passed over, being nobody."""

    people: tuple[Person, ...]
    wrong: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()


def parse_roster(data: bytes, file: str) -> Roster:
    """Return a roster. Raises LadderError for what is none."""
    rows = read_rows(data, file)
    if not rows:
        raise LadderError(f"{file} is empty.\nA roster has a header, such as login,name,section, and a line for each.")
    _, header = rows[0]
    places = _places(header, file)
    wrong: list[Remark] = []
    remarks: list[Remark] = []
    people: list[Person] = []
    first: dict[tuple[str, str], int] = {}
    for line, row in rows[1:]:
        if _is_canvas_extra(row, places):
            continue
        try:
            if row == header:
                raise ValueError("it is the header again (are two files in one?)")
            if len(row) > len(header) and any(row[len(header) :]):
                cells = f"it has {len(row)} cells, and the header {len(header)}"
                raise ValueError(f"{cells} (is a comma in a cell without quotes?)")
            person = _person(line, {column: row[place] for column, place in places.items() if place < len(row)})
            if "canvas" in places and _is_test_student(person):
                remarks.append(Remark(line, f"passed over: {person.name} is Canvas' test student"))
                continue
            _refuse_twin(person, first)
            people.append(person)
            remarks += [Remark(line, f"a spreadsheet may have cut digits off {text}") for text in _shortened(person)]
        except ValueError as problem:
            wrong.append(Remark(line, str(problem)))
    if not people and not wrong:
        raise LadderError(f"{file} has a header and no people.\nWrite a line for each below it.")
    return Roster(tuple(people), tuple(wrong), tuple(remarks))


def one_person(login: str, name: str | None, email: str | None, section: str | None, pseudonym: str | None) -> Person:
    """Return one person, as a roster would tell it. Raises LadderError."""
    person = Person(1, login, name, email, None, section, pseudonym)
    try:
        _check_all(person)
    except ValueError as problem:
        raise LadderError(f"{problem}.") from None
    return person


# --- the text ---------------------------------------------------------------------------------------------------------


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise LadderError(f"{file} has {len(data)} bytes, which is no roster's size.")
    advice = "Save it as CSV UTF-8."
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise LadderError(f"{file} is a spreadsheet or a zip, no CSV.\n{advice}")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LadderError(f"{file} is UTF-16.\n{advice}")
    try:
        text = data.decode("utf-8-sig").lstrip("\ufeff")  # a script adds one to the spreadsheet's
    except UnicodeDecodeError as problem:
        line = 1 + data.count(b"\n", 0, problem.start)
        raise LadderError(
            f"{file}, line {line}: byte {data[problem.start]:#04x} is no UTF-8; Latin-1, perhaps.\n"
            f"{advice} Or: iconv -f latin1 -t utf-8"
        ) from None
    if "\0" in text:
        raise LadderError(f"{file}, line {1 + text.count(chr(10), 0, text.index(chr(0)))}: no CSV has NUL.\n{advice}")
    return text


def read_rows(data: bytes, file: str) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of all rows that aren't blank; the separator is what the first line has most of.

    Raises LadderError for what is no CSV in UTF-8.
    """
    text = _text(data, file)
    said = re.match(r'"?sep=(.)"?[\r\n]+', text, re.IGNORECASE)  # Excel's
    first = text[said.end() if said else 0 :].strip().split("\n")[0].split("\r")[0]
    separator = max(SEPARATORS, key=first.count)
    if separator not in first and ":" in first:
        separator = ":"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    line = 1
    try:
        if said:
            next(reader)
            line = 2
        for row in reader:
            if any(each.strip() for each in row):
                rows.append((line, [unicodedata.normalize("NFC", each.strip()) for each in row]))
            line = reader.line_num + 1
    except csv.Error as problem:
        raise LadderError(
            f"{file}, line {line}: this is no CSV: {problem}.\nLook for a quote that isn't closed."
        ) from None
    return rows


def _places(header: Sequence[str], file: str) -> dict[str, int]:
    """Return which column is where. Raises LadderError for a header that doesn't tell who somebody is.

    Canvas' own columns come first: what a teacher has added, and called the same, is passed over.
    """
    places: dict[str, int] = {}
    known = [plain(heading) for heading in header]
    canvas = "id" in known and bool({"student", "lastname", "sis login id"} & set(known))
    for place, (heading, words) in enumerate(zip(header, known, strict=True)):
        column = next((column for column, names in COLUMNS.items() if words in names), None)
        if (column == "canvas" and not canvas) or (column in places and canvas):
            continue
        if column in places:
            raise LadderError(
                f'{file}, line 1: "{shown(header[places[column]])}" and "{shown(heading)}" both tell the {column}.\n'
                "Leave one away."
            )
        if column is not None:
            places[column] = place
    if not any(column in places for column in CALLS):
        raise LadderError(
            f"{file}, line 1: no column tells the login, the email or the number: {shown(', '.join(header))[:200]}.\n"
            "The header needs one of them, such as login,name,section."
        )
    return places


def same_letters(text: str) -> str:
    """Return what two texts share that differ in the case of ASCII letters alone: str.casefold merges others."""
    return text.encode().lower().decode()


def plain(heading: str) -> str:
    """Return a column's heading in lower case, with one space between words."""
    return re.sub(r"[\s_.-]+", " ", heading).strip().casefold()


def _is_canvas_extra(row: Sequence[str], places: dict[str, int]) -> bool:
    """Tell whether a row is one of Canvas' that is nobody's: points, posting policies."""
    return row[0] == "Points Possible" or all(_NO_PERSON.fullmatch(each) for each in row)


def _is_test_student(person: Person) -> bool:
    """Tell whether a person of Canvas' is the one that it makes for teachers: without a number, under a digest.

    A real person of that name has either a number or a login.
    """
    login = "" if person.login in (None, f"canvas-{person.canvas}") else str(person.login)
    named = person.name == "Test Student" and re.fullmatch(r"[0-9a-f]*", login)
    return person.number is None and bool(named or _TEST_LOGIN.fullmatch(login))


# --- the people -------------------------------------------------------------------------------------------------------


def _person(line: int, row: dict[str, str]) -> Person:
    """Return the person of a row, of which each column tells this. Raises ValueError."""
    texts = {field.name: row.get(field.name) or None for field in fields(Person) if field.name not in ("line", "staff")}
    if not any(texts[column] for column in CALLS):
        raise ValueError("it has no login, no email and no number")
    full = " ".join(filter(None, (row.get("first"), row.get("last"))))
    texts["name"] = (_forwards(texts["name"]) if texts["name"] and "canvas" in row else texts["name"]) or full or None
    by_canvas = f"canvas-{texts['canvas']}" if texts["canvas"] else None
    texts["login"] = texts["login"] or texts["email"] or texts["number"] or by_canvas
    person = Person(line=line, staff=_yes(row["staff"]) if "staff" in row else None, **texts)
    _check_all(person)
    return person


def _forwards(name: str) -> str:
    """Return a name that Canvas sorts by, "Lovelace, Ada", as it is spoken: "Ada Lovelace"."""
    last, *rest = (part.strip() for part in name.split(","))
    return ", ".join([f"{rest[0]} {last}".strip(), *rest[1:]]) if rest else name


def _yes(answer: str) -> bool:
    answers = {"": False, "no": False, "false": False, "0": False, "yes": True, "true": True, "1": True, "x": True}
    if answer.casefold() not in answers:
        raise ValueError(f'staff is yes or no, not "{shown(answer)}"')
    return answers[answer.casefold()]


def _check_all(person: Person) -> None:
    for field in fields(person):
        value = getattr(person, field.name)
        if isinstance(value, str):
            _check(field.name, value)


def _check(field: str, value: str) -> None:
    """Raise ValueError for a value that can't be shown, kept, or given to a gradebook."""
    if not value.strip():
        raise ValueError(f"the {field} is empty")
    if not value.isprintable():
        raise ValueError(f'the {field} "{shown(value)}" has characters that can\'t be printed')
    if len(value) > LONGEST:
        raise ValueError(f"the {field} is longer than {LONGEST} characters")
    if field in CALLS and cell(value) != value:
        raise ValueError(f'the {field} "{value}" begins with "{value[0]}", which spreadsheets take for a formula')
    if field in CALLS and _MANGLED.fullmatch(value):
        advice = "format the column as text, and fill it in again"
        raise ValueError(f'the {field} "{value}" is what spreadsheets make of a number or a text: {advice}')
    if "\ufffd" in value:
        raise ValueError(f'the {field} "{value}" has lost letters to another encoding')
    if field == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        raise ValueError(f'"{value}" is no email')
    if field == "login" and value.casefold() in RESERVED:
        raise ValueError(f'the login "{value}" is {RESERVED[value.casefold()]}')


def _shortened(person: Person) -> list[str]:
    """Return the values that end where a spreadsheet's digits do, as a few whole ones do."""
    values = [(field, getattr(person, field)) for field in ("number", "canvas")]
    return [f'the {field} "{value}"' for field, value in values if value and _SHORTENED.fullmatch(value)]


def _refuse_twin(person: Person, first: dict[tuple[str, str], int]) -> None:
    """Raise ValueError for a person of whom a line before tells the same; `first` are the lines that did, by what."""
    values = [
        (field, str(getattr(person, field)).casefold()) for field in (*CALLS, "pseudonym") if getattr(person, field)
    ]
    for field, value in values:
        if (field, value) in first:
            raise ValueError(f'the {field} "{getattr(person, field)}" is that of line {first[field, value]}')
    first.update(dict.fromkeys(values, person.line))
