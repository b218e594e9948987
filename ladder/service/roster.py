"""A class's roster: CSV, from a spreadsheet or as Canvas and Moodle export it, read into people. Pure.

The header tells what the columns are, in any order and under any of the names in COLUMNS; others are passed over. All
that is wrong is told at once, with its line: a roster is taken in whole or not at all.
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
    "name": ("name", "full name", "student", "student name", "display name"),
    "first": ("first name", "firstname", "given name", "forename"),
    "last": ("last name", "lastname", "surname", "family name"),
    "number": ("number", "id number", "sis user id", "student id", "student number", "matriculation number"),
    "section": ("section", "sections", "class", "group", "groups"),
    "pseudonym": ("pseudonym", "alias"),
    "staff": ("staff",),
}

SEPARATORS = ",;\t"
LONGEST = 100  # characters, as the database has room for
MOST_BYTES = 8_000_000
TOLD = 3  # problems of a roster that are told; the others are counted
# Logins that are nobody's, and whose they are: what was decided tells them apart from people's.
RESERVED = {"staff": "the reference bots'", "ladder": "the ladder's own"}
_NO_PERSON = re.compile(r"(muted|manual posting.*)?", re.IGNORECASE)  # cells of a row of Canvas' that is no student's


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a roster. None: the roster says nothing of it."""

    line: int
    login: str
    name: str | None = None
    email: str | None = None
    number: str | None = None
    section: str | None = None
    pseudonym: str | None = None
    staff: bool | None = None


def parse_roster(data: bytes, file: str) -> list[Person]:
    """Return the people of a roster, in its order. Raises LadderError, with lines, for what can't be taken in."""
    text = _text(data, file)
    rows = _rows(text, file)
    if not rows:
        raise LadderError(f"{file} is empty.\nA roster has a header, such as login,name,section, and a line for each.")
    _, header = rows[0]
    places = _places(header, file)
    problems: list[str] = []
    people: list[Person] = []
    for line, row in rows[1:]:
        if _is_canvas_extra(row, places):
            continue
        try:
            people.append(_person(line, row, header, places))
        except ValueError as problem:
            problems.append(f"line {line}: {problem}")
    problems += _twins(people)
    if problems:
        more = f"; and {len(problems) - TOLD} more" if len(problems) > TOLD else ""
        raise LadderError(f"{file}, {'; '.join(problems[:TOLD])}{more}.\nNobody was taken in: mend it, and try again.")
    if not people:
        raise LadderError(f"{file} has a header and no people.\nWrite a line for each below it.")
    return people


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
    if data[:4] == b"PK\x03\x04":
        raise LadderError(f"{file} is a spreadsheet or a zip, no CSV.\n{advice}")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LadderError(f"{file} is UTF-16.\n{advice}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = 1 + data.count(b"\n", 0, problem.start)
        raise LadderError(
            f"{file}, line {line}: byte {data[problem.start]:#04x} is no UTF-8; Latin-1, perhaps.\n"
            f"{advice} Or: iconv -f latin1 -t utf-8"
        ) from None
    if "\0" in text:
        raise LadderError(f"{file}, line {1 + text.count(chr(10), 0, text.index(chr(0)))}: no CSV has NUL.\n{advice}")
    return text


def _rows(text: str, file: str) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of all rows that aren't blank; the separator is what the first line has most of."""
    first = text.strip().split("\n")[0].split("\r")[0]
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    line = 1
    try:
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
    """Return which column is where. Raises LadderError for a header that tells no login."""
    found: dict[str, int] = {}
    for place, heading in enumerate(header):
        words = re.sub(r"[\s_.-]+", " ", heading).strip().casefold()
        column = next((column for column, names in COLUMNS.items() if words in names), None)
        if column in found:
            raise LadderError(
                f'{file}, line 1: "{shown(header[found[column]])}" and "{shown(heading)}" both tell the {column}.\n'
                "Leave one away."
            )
        if column is not None:
            found[column] = place
    if "login" not in found and "email" not in found:
        raise LadderError(
            f"{file}, line 1: no column tells the login or the email: {shown(', '.join(header))[:200]}.\n"
            "The header needs one of them, such as login,name,section."
        )
    return found


def _is_canvas_extra(row: Sequence[str], places: dict[str, int]) -> bool:
    """Tell whether a row is one of Canvas' that is no student's: points, posting policies, the test student."""
    name = row[places["name"]] if "name" in places and places["name"] < len(row) else ""
    return name in ("Points Possible", "Student, Test") or all(_NO_PERSON.fullmatch(each) for each in row)


# --- the people -------------------------------------------------------------------------------------------------------


def _person(line: int, row: Sequence[str], header: Sequence[str], places: dict[str, int]) -> Person:
    """Return the person of a row. Raises ValueError."""
    if len(row) > len(header) and any(row[len(header) :]):
        raise ValueError(
            f"it has {len(row)} cells, and the header {len(header)} (is a comma in a cell without quotes?)"
        )
    told = {column: row[place] for column, place in places.items() if place < len(row)}
    email = told.get("email") or None
    login = told.get("login") or email
    if login is None:
        raise ValueError("it has no login" if "login" in places else "it has no email")
    full = " ".join(filter(None, (told.get("first"), told.get("last"))))
    person = Person(
        line=line,
        login=login,
        name=told.get("name") or full or None,
        email=email,
        number=told.get("number") or None,
        section=told.get("section") or None,
        pseudonym=told.get("pseudonym") or None,
        staff=_yes(told["staff"]) if "staff" in told else None,
    )
    _check_all(person)
    return person


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
    if field in ("login", "email", "number") and cell(value) != value:
        raise ValueError(f'the {field} "{value}" begins with "{value[0]}", which spreadsheets take for a formula')
    if field == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        raise ValueError(f'"{value}" is no email')
    if field == "login" and value.casefold() in RESERVED:
        raise ValueError(f'the login "{value}" is {RESERVED[value.casefold()]}')


def _twins(people: Sequence[Person]) -> list[str]:
    """Return what is wrong with people that are told twice."""
    problems = []
    for field in ("login", "email", "number", "pseudonym"):
        first: dict[str, int] = {}
        for person in people:
            value = getattr(person, field)
            if value is None or (field == "email" and person.email == person.login):
                continue
            if value.casefold() in first:
                problems.append(f'line {person.line}: the {field} "{value}" is that of line {first[value.casefold()]}')
            first.setdefault(value.casefold(), person.line)
    return problems
