"""Parse a class roster (CSV, Canvas or Moodle export) into people, and match them to existing users. Pure.

The header names the columns, in any order and under any of the names in ROSTER_COLUMNS; other columns are ignored.
Unreadable lines are returned with the reason. Several rosters can name one person: they match the same user."""

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection

from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from ladder.settings import LadderError
from ladder.store import User, list_audit_entries

ROSTER_COLUMNS: dict[str, tuple[str, ...]] = {
    "login": ("login", "login id", "username", "user name", "sis login id", "account"),
    "email": ("email", "e mail", "email address", "e mail address", "mail"),
    "name": ("name", "full name", "student", "student name", "display name", "first name / last name"),
    "first": ("first name", "firstname", "given name", "forename"),
    "last": ("last name", "lastname", "surname", "family name"),
    "student_id": (
        "number",
        "id number",
        "sis user id",
        "student id",
        "student number",
        "matriculation number",
        "matrikelnummer",
    ),
    "section": ("section", "sections", "class", "group", "groups"),
    "pseudonym": ("pseudonym", "alias"),
    "staff": ("staff",),
    "canvas_id": ("canvas id", "id"),  # "id" in Canvas' own exports alone
    "moodle_id": ("identifier",),
}
IDENTITY_COLUMNS = ("student_id", "email", "login", "canvas_id", "moodle_id")  # the columns that identify a user

SEPARATORS = ",;\t"  # a colon, too, where the header has none of them: Moodle offers it
MAX_VALUE_CHARS = 100  # characters, as in the database
MAX_ROSTER_BYTES = 8_000_000
# Logins that belong to no user: actors of the audit log.
RESERVED_LOGINS = {"staff": "it owns the reference bots", "ladder": "the ladder uses it"}
_NO_PERSON = re.compile(r"(muted|manual posting.*)?", re.IGNORECASE)  # cells of a row of Canvas' that is no student's
# What a spreadsheet or a script makes of a text that it takes for a number, a date or a formula.
_MANGLED = re.compile(
    r"(?i:[+-]?\d+([.,]\d+)?E[+-]\d{2,3})|\d+\.0|\d{1,3}(,\d{3})+(\.0+)?|#([A-Z0-9/]+[!?]|N/?[AV]|#+)"
    r"|\d{1,2}-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(-\d+)?"
)
_SHORTENED = re.compile(r"\d{15}0+")  # spreadsheets keep 15 digits
# After a name and a comma. "Md" is a first name.
_SUFFIX = re.compile(r"((?i:Jr|Sr|II|III|IV|Ph\.?D|M\.?Sc|B\.?Sc|M\.?A|B\.?A)|M\.D|MD)\.?")
_TEST_LOGIN = re.compile(r"[0-9a-f]{40}")  # Canvas' for its test student: a digest


class RosterEncodingError(LadderError):
    """A CSV file isn't UTF-8, but may be Windows-1252. converted: its contents, converted to UTF-8."""

    def __init__(self, message: str, converted: bytes) -> None:
        super().__init__(message)
        self.converted = converted


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """A person in a roster; fields are None if the roster lacks them.

    login: the first of login, email, student_id and canvas_id that is given. Without any, the entry can't become a
    user.
    """

    line: int
    login: str | None
    name: str | None = None
    email: str | None = None
    student_id: str | None = None
    section: str | None = None
    pseudonym: str | None = None
    staff: bool | None = None
    canvas_id: str | None = None
    moodle_id: str | None = None


@dataclass(frozen=True, slots=True)
class RosterRemark:
    """A remark on a line of a roster: why it can't be imported, or what staff should know."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Roster:
    """The entries of a roster, in order; remarks on unreadable lines; and the skipped lines, which are no users."""

    people: tuple[RosterEntry, ...]
    wrong: tuple[RosterRemark, ...] = ()
    remarks: tuple[RosterRemark, ...] = ()


def parse_roster(data: bytes, file: str) -> Roster:
    """Parse a roster. Raises LadderError if it isn't one, RosterEncodingError if it isn't UTF-8."""
    rows = read_rows(data, file)
    if not rows:
        raise LadderError(f"{file} is empty.\nA roster has a header, such as login,name,section, and a line for each.")
    _, header = rows.pop(0)
    columns = _find_columns(header, file)
    remarks = _remark_ignored_columns(header, columns, rows)
    wrong: list[RosterRemark] = []
    people: list[RosterEntry] = []
    lines: dict[tuple[str, str], int] = {}  # by (field, value) of all people
    for line, row in rows:
        if row[0] == "Points Possible" or all(_NO_PERSON.fullmatch(cell) for cell in row):
            continue  # rows of a Canvas export: points possible, posting policies
        try:
            _require_fitting_row(row, header)
            cells = {column: row[index] for column, index in columns.items() if index < len(row)}
            person = _read_person(line, cells)
            if "canvas_id" in columns and _is_test_student(person):
                remarks.append(RosterRemark(line, f"skipped: {person.name} is Canvas' test student"))
                continue
            _refuse_twin(person, lines)
        except ValueError as error:
            wrong.append(RosterRemark(line, str(error)))
            continue
        people.append(person)
        for text in _shortened(person):
            remarks.append(RosterRemark(line, f"a spreadsheet may have removed digits from {text}"))
    if not people and not wrong:
        raise LadderError(f"{file} has a header, but no users.\nAdd a line for each user.")
    name_index = columns.get("name", len(header))
    names = {line: row[name_index] for line, row in rows if name_index < len(row)}
    remarks += _remark_turned_names(people, names)
    return Roster(tuple(people), tuple(wrong), tuple(remarks))


def _remark_ignored_columns(
    header: Sequence[str], columns: dict[str, int], rows: Sequence[tuple[int, list[str]]]
) -> list[RosterRemark]:
    """Return a remark on the columns that have values and aren't imported; none for exports of Canvas and Moodle.

    columns: the indices of those that are imported, by name. rows: (line, cells) without the header.
    """
    if {"id", "identifier"} & {normalize_heading(header[index]) for index in columns.values()}:  # exports have many
        return []
    ignored = [
        "ID (if it is Canvas', name it canvas_id)"
        if normalize_heading(heading) == "id"
        else escape_control(heading) or "one without a heading"
        for index, heading in enumerate(header)
        if index not in columns.values() and any(index < len(row) and row[index] for _, row in rows)
    ]
    return [RosterRemark(1, f"columns that aren't imported: {', '.join(ignored)}")] if ignored else []


def _require_fitting_row(row: Sequence[str], header: Sequence[str]) -> None:
    """Raise ValueError for a row that repeats the header, or has more cells than it."""
    if row == header:
        raise ValueError("this line repeats the header; does the file contain two rosters?")
    if any(row[len(header) :]):
        cells = f"{len(row)} cells, but the header has {len(header)}"
        raise ValueError(f"{cells}; quote cells that contain the separator")


def _remark_turned_names(people: Sequence[RosterEntry], names: dict[int, str]) -> list[RosterRemark]:
    """Return a remark on the first name that is written in another order than in the file. names: of the file, by line.

    There is one remark for all of them, since usually the order of all names differs.
    """
    turned = [person for person in people if names.get(person.line, "") not in ("", person.name)]
    if not turned:
        return []
    first = turned[0]
    more = f", and so on in {format_count(len(turned) - 1, 'other line')}" if turned[1:] else ""
    return [RosterRemark(first.line, f'"{escape_control(names[first.line])}" becomes "{first.name}"{more}')]


def make_roster_entry(
    login: str, name: str | None, email: str | None, section: str | None, pseudonym: str | None
) -> RosterEntry:
    """Return an entry with these values. Raises LadderError for invalid ones."""
    person = RosterEntry(1, login, name, email, None, section, pseudonym)
    try:
        _check_all(person)
    except ValueError as error:
        raise LadderError(f"{error}.") from None
    return person


# --- the text ---------------------------------------------------------------------------------------------------------


def _decode_text(data: bytes, file: str) -> str:
    """Return a roster's text. Raises LadderError for a file that isn't UTF-8, with the way to convert it."""
    if len(data) > MAX_ROSTER_BYTES:
        raise LadderError(f"{file} has {len(data)} bytes: too large for a roster.")
    advice = "Save it as CSV UTF-8."
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise LadderError(f"{file} isn't a CSV file, but a spreadsheet or a zip.\n{advice}")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LadderError(f"{file} is UTF-16.\n{advice}")
    if (before := data.partition(b"\0")[0]) != data:
        line = 1 + before.count(b"\n")
        raise LadderError(f"{file} isn't a CSV file, but perhaps a picture: line {line} has a NUL character.\n{advice}")
    try:
        text = data.decode("utf-8-sig").lstrip("\ufeff")  # a script adds one to the spreadsheet's
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        message = (
            f"{file}, line {line}: byte {data[error.start]:#04x} isn't valid UTF-8; the file may be Windows-1252.\n"
        )
        message += f"{advice} Or: iconv -f windows-1252 -t utf-8"
        raise RosterEncodingError(message, data.decode("cp1252", "replace").encode()) from None
    return text


def read_rows(data: bytes, file: str) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of all rows that aren't blank; the separator is the most frequent one in the first line.

    Raises LadderError for anything but CSV in UTF-8.
    """
    text = _decode_text(data, file)
    separator_line = re.match(r'"?sep=(.)"?[\r\n]+', text, re.IGNORECASE)  # Excel's
    header = text[separator_line.end() if separator_line else 0 :].strip().split("\n")[0].split("\r")[0]
    separator = max(SEPARATORS, key=header.count)
    if separator not in header and ":" in header:
        separator = ":"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    line = 1
    try:
        if separator_line:
            next(reader)
            line = 2
        for cells in reader:
            row = [unicodedata.normalize("NFC", cell.strip()) for cell in cells]
            if any(row):
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise LadderError(f"{file}, line {line}: this isn't valid CSV: {error}.\nLook for an unclosed quote.") from None
    return rows


def _find_columns(header: Sequence[str], file: str) -> dict[str, int]:
    """Return the index of each known column. Raises LadderError if the header has no column that identifies users.

    If Canvas has a column of its own and a teacher added one of the same name, Canvas' column, the first, counts.
    """
    indices: dict[str, int] = {}
    headings = [normalize_heading(heading) for heading in header]
    is_canvas = "id" in headings and bool({"student", "lastname", "sis login id"} & set(headings))
    for index, heading in enumerate(headings):
        column = next((column for column, names in ROSTER_COLUMNS.items() if heading in names), None)
        if column is None or (heading == "id" and not is_canvas) or (column in indices and is_canvas):
            continue
        if column in indices:
            first, second = escape_control(header[indices[column]]), escape_control(header[index])
            raise LadderError(
                f'{file}, line 1: "{first}" and "{second}" are columns for the {column}.\nRemove one of them.'
            )
        indices[column] = index
    if not any(column in indices for column in IDENTITY_COLUMNS):
        raise LadderError(
            f"{file}, line 1: no column contains the login, email or student_id: "
            f"{escape_control(', '.join(header))[:200]}.\n"
            "Add one to the header, such as login,name,section."
        )
    return indices


def fold_ascii_case(text: str) -> str:
    """Return the text in lower case, but only its ASCII letters: str.casefold would merge different logins."""
    return text.encode().lower().decode()


def normalize_heading(heading: str) -> str:
    """Return a column's heading in lower case, with one space between words."""
    return re.sub(r"[\s_.-]+", " ", heading).strip().casefold()


def _is_test_student(person: RosterEntry) -> bool:
    """Return whether an entry is the test student that Canvas makes for teachers: its login is a digest, without an id.

    A real user of that name has a student_id or another login.
    """
    login = "" if person.login in (None, f"canvas-{person.canvas_id}") else str(person.login)
    named = person.name == "Test Student" and re.fullmatch(r"[0-9a-f]*", login)
    return person.student_id is None and bool(named or _TEST_LOGIN.fullmatch(login))


# --- the people -------------------------------------------------------------------------------------------------------


def _read_person(line: int, row: dict[str, str]) -> RosterEntry:
    """Return the entry of a row, given as cells by column.

    Raises ValueError if the row identifies no user or a cell isn't valid.
    """
    texts = {
        field.name: row.get(field.name) or None for field in fields(RosterEntry) if field.name not in ("line", "staff")
    }
    if not any(texts[column] for column in IDENTITY_COLUMNS):
        raise ValueError("no login, email or student_id")
    full = " ".join(filter(None, (row.get("first"), row.get("last"))))
    texts["name"] = _forwards(texts["name"] or "") or full or None
    by_canvas = f"canvas-{texts['canvas_id']}" if texts["canvas_id"] else None
    texts["login"] = texts["login"] or texts["email"] or texts["student_id"] or by_canvas
    person = RosterEntry(line=line, staff=_yes(row["staff"]) if "staff" in row else None, **texts)
    _check_all(person)
    return person


def _forwards(name: str) -> str:
    """Return a name in spoken order: "Ada Lovelace" for "Lovelace, Ada", but "Martin King, Jr." as it is."""
    parts = [part.strip() for part in name.split(",")]
    suffixes = [part for part in parts[1:] if _SUFFIX.fullmatch(part)]
    last, *rest = [part for part in parts if part not in suffixes] or [name]
    return ", ".join([f"{rest[0]} {last}".strip(), *rest[1:], *suffixes]) if rest else name


def _yes(answer: str) -> bool:
    answers = {"": False, "no": False, "false": False, "0": False, "yes": True, "true": True, "1": True, "x": True}
    if answer.casefold() not in answers:
        raise ValueError(f'staff must be yes or no, not "{escape_control(answer)}"')
    return answers[answer.casefold()]


def _check_all(person: RosterEntry) -> None:
    for field in fields(person):
        value = getattr(person, field.name)
        if isinstance(value, str):
            _check(field.name, value)


def _check(field: str, value: str) -> None:
    """Raise ValueError for a value that can't be displayed, stored, or written to a gradebook."""
    if not value.strip():
        raise ValueError(f"the {field} is empty")
    if not value.isprintable():
        raise ValueError(f'the {field} "{escape_control(value)}" has unprintable characters')
    if len(value) > MAX_VALUE_CHARS:
        raise ValueError(f"the {field} is longer than {MAX_VALUE_CHARS} characters")
    if field in IDENTITY_COLUMNS and escape_csv_cell(value) != value:
        raise ValueError(f'the {field} "{value}" begins with "{value[0]}", and would be a formula in a spreadsheet')
    if field in IDENTITY_COLUMNS and _MANGLED.fullmatch(value):
        advice = "format the column as text, and enter the value again"
        raise ValueError(f'the {field} "{value}" was converted by a spreadsheet: {advice}')
    if "\ufffd" in value:
        raise ValueError(f'the {field} "{value}" has letters that were lost in another encoding')
    if field == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        raise ValueError(f'"{value}" isn\'t a valid email')
    if field == "login" and re.search(r"\s", value):
        raise ValueError(f'the login "{value}" contains a space')
    if field == "login" and value.casefold() in RESERVED_LOGINS:
        raise ValueError(f'the login "{value}" is reserved: {RESERVED_LOGINS[value.casefold()]}')


def _shortened(person: RosterEntry) -> list[str]:
    """Return the values that a spreadsheet may have rounded: long numbers that end in zeros."""
    values = [(field, getattr(person, field)) for field in ("student_id", "canvas_id")]
    return [f'the {field} "{value}"' for field, value in values if value and _SHORTENED.fullmatch(value)]


def _refuse_twin(person: RosterEntry, lines: dict[tuple[str, str], int]) -> None:
    """Raise ValueError for an entry with the same identifier or pseudonym as an earlier line, else add it to `lines`.

    lines: by (field, value without case).
    """
    fields = [field for field in (*IDENTITY_COLUMNS, "pseudonym") if getattr(person, field)]
    keys = [(field, getattr(person, field).casefold()) for field in fields]
    for key in keys:
        if key in lines:
            field, _ = key
            raise ValueError(f'the {field} "{getattr(person, field)}" is also in line {lines[key]}')
    lines.update(dict.fromkeys(keys, person.line))


class UserMatcher:
    """An index of users by student_id, email, login and platform ids; the case of ASCII letters doesn't matter.

    An identifier of a merged user leads to the user that it was merged into. The email of an account that waits for
    approval isn't used. Emails and logins are interchangeable: one platform's login is another's email.
    """

    def __init__(self, owners: Iterable[User]) -> None:
        self._owners: dict[int, User] = {}
        self._called: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._now: set[tuple[str, str]] = set()  # the keys of owners that weren't merged
        for user in owners:
            self.add(user)

    def add(self, user: User) -> None:
        """Add a user, whose id isn't in the index yet."""
        id = user.id if user.merged_into is None else user.merged_into
        if user.merged_into is None:
            self._owners[id] = user
        for field in ("login",) if user.waiting else IDENTITY_COLUMNS:
            if value := getattr(user, field):
                self._called[_kind(field), fold_ascii_case(value)].add(id)
                if user.merged_into is None:
                    self._now.add((_kind(field), fold_ascii_case(value)))

    def find(self, person: RosterEntry) -> User | None:
        """Return the user that an entry identifies, None for a new user. Raises ValueError if it is ambiguous."""
        known = self._list_known(person)
        user_ids = set[int]().union(*(self._called[key] for key in known))
        if len(user_ids) > 1:
            conflict = ", ".join(f"{text} belongs to {self._logins(self._called[key])}" for key, text in known.items())
            raise ValueError(f"{conflict}: correct the line, or merge the accounts")
        if not user_ids:
            return None
        user = self._owners[user_ids.pop()]
        if user.waiting:
            raise ValueError(f"{escape_control(user.login)} waits for approval: approve or refuse the account first")
        is_by_number = any(kind == "student_id" for kind, _ in known)
        if not is_by_number and _contradicts(person, user):
            login, student_id = escape_control(user.login), escape_control(user.student_id or "")
            raise ValueError(
                f"{next(iter(known.values()))} belongs to {login}, whose student_id is {student_id}: correct the line, "
                "or change the student_id with a roster of login,student_id"
            )
        return user

    def was_merged(self, person: RosterEntry) -> bool:
        """Return whether an entry is known only by identifiers of a merged user."""
        known = self._list_known(person)
        return bool(known) and self._now.isdisjoint(known)

    def is_called(self, user: User, login: str | None) -> bool:
        """Return whether the login belongs to the user, or to a user that was merged into the user."""
        return user.id in self._called[_kind("login"), fold_ascii_case(login or "")]

    def namesakes(self, person: RosterEntry) -> list[str]:
        """Return the logins of the users with an entry's name."""
        name = (person.name or "").casefold()
        return [user.login for user in self._owners.values() if name and user.name.casefold() == name]

    def _list_known(self, person: RosterEntry) -> dict[tuple[str, str], str]:
        """Return an entry's identifiers that belong to users: the key in the index, and the identifier as text."""
        known: dict[tuple[str, str], str] = {}
        for field in IDENTITY_COLUMNS:
            value = getattr(person, field) or ""
            key = (_kind(field), fold_ascii_case(value))
            if value and key in self._called:
                known.setdefault(key, f'the {field} "{escape_control(value)}"')
        return known

    def _logins(self, ids: Iterable[int]) -> str:
        return " and ".join(escape_control(self._owners[id].login) for id in sorted(ids))


def _kind(field: str) -> str:
    return "login" if field == "email" else field


def _contradicts(person: RosterEntry, user: User) -> bool:
    """Return whether an entry's student_id differs from the user's, unless the entry has the user's login."""
    if not person.student_id or not user.student_id or person.student_id.casefold() == user.student_id.casefold():
        return False
    by_login = person.login not in (None, person.email) and str(person.login).casefold() == user.login.casefold()
    return not by_login


SIGNED_UP = "signed up by a link, so this may be another person"  # follows a login
TAKE_OVER_FIRST = "take the account over by a roster first, or name the login in a command for one user"
TAKEN_OVER = ", who had signed up, is taken over:"  # follows a login in an entry of the audit log


def list_signed_up(connection: Connection, owners: Sequence[User]) -> set[int]:
    """Return the ids of users that made their accounts by a sign-up link, but for those that were taken over."""
    logins, signed_up = {user.id: user.login for user in owners}, set[int]()
    for entry in list_audit_entries(connection, actions=("import",)):
        if entry.user_id is None or entry.user_id not in logins:
            continue
        login = logins[entry.user_id]
        if entry.reason.startswith(f"{login}{TAKEN_OVER}"):
            signed_up.discard(entry.user_id)
        elif entry.reason.startswith(f"{login} signed up"):
            signed_up.add(entry.user_id)
    return signed_up
