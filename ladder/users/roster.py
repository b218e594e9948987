"""Parse a class roster (CSV, Canvas or Moodle export) into people, and match them to existing users. Pure.

The header names the columns, in any order and under any of the names in ROSTER_COLUMNS; other columns are ignored.
Unreadable lines are returned with the reason. Several rosters can name one person: they match the same user."""

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import Connection

from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from ladder.settings import LadderError
from ladder.store import User, list_audit_entries
from ladder.users.pseudonyms import fold_name

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
_COLUMNS_BY_HEADING = {heading: column for column, headings in ROSTER_COLUMNS.items() for heading in headings}
IDENTITY_COLUMNS = ("student_id", "email", "login", "canvas_id", "moodle_id")  # the columns that identify a user

SEPARATORS = ",;\t"  # a colon, too, where the header has none of them: Moodle offers it
_SAVE_ADVICE = "Save it as CSV UTF-8."
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
    """Parse a roster. file: its name, for messages.

    Raises LadderError if it isn't one, RosterEncodingError if it may be one in Windows-1252.
    """
    all_rows = read_rows(data, file)
    if not all_rows:
        raise LadderError(f"{file} is empty.\nA roster has a header, such as login,name,section, and a line for each.")
    (_, header), *rows = all_rows
    columns = _find_columns(header, file)
    roster = _parse_rows(header, columns, rows)
    if not roster.people and not roster.wrong:
        raise LadderError(f"{file} has a header, but no users.\nAdd a line for each user.")
    name_index = columns.get("name", len(header))
    names = {line: row[name_index] for line, row in rows if name_index < len(row)}
    ignored_columns = _remark_ignored_columns(header, columns, rows)
    return replace(roster, remarks=(*ignored_columns, *roster.remarks, *_remark_turned_names(roster.people, names)))


def _parse_rows(header: Sequence[str], columns: Mapping[str, int], rows: Sequence[tuple[int, list[str]]]) -> Roster:
    """Return the entries of rows, with remarks on single lines. columns: indices by name. rows: (line, cells)."""
    wrong: list[RosterRemark] = []
    remarks: list[RosterRemark] = []
    people: list[RosterEntry] = []
    lines: dict[tuple[str, str], int] = {}  # by (field, folded value) of all people
    for line, row in rows:
        cells = {column: row[index] for column, index in columns.items() if index < len(row)}
        if _is_canvas_header(row, cells):
            continue
        try:
            _require_fitting_row(row, header)
            person = _parse_person(line, cells)
            if "canvas_id" in columns and _is_test_student(person):
                remarks.append(RosterRemark(line, f"skipped: {person.name} is Canvas' test student"))
                continue
            _register_line(person, lines)
        except ValueError as error:
            wrong.append(RosterRemark(line, str(error)))
            continue
        people.append(person)
        remarks += _remark_shortened_numbers(person)
    return Roster(tuple(people), tuple(wrong), tuple(remarks))


def _is_canvas_header(row: Sequence[str], cells: Mapping[str, str]) -> bool:
    """Return whether a row without identifiers is one of Canvas' below the header: points possible, or policies.

    cells: those of known columns, by column.
    """
    if any(cells.get(column) for column in IDENTITY_COLUMNS):
        return False
    return row[0] == "Points Possible" or all(_NO_PERSON.fullmatch(cell) for cell in row)


def _remark_ignored_columns(
    header: Sequence[str], columns: Mapping[str, int], rows: Sequence[tuple[int, list[str]]]
) -> list[RosterRemark]:
    """Return a remark on the columns that have values and aren't imported; none for exports of Canvas and Moodle.

    columns: the indices of those that are imported, by name. rows: (line, cells) without the header.
    """
    if {"id", "identifier"} & {normalize_heading(header[index]) for index in columns.values()}:  # exports have many
        return []
    names = [
        _name_ignored_column(heading)
        for index, heading in enumerate(header)
        if index not in columns.values() and any(index < len(row) and row[index] for _, row in rows)
    ]
    return [RosterRemark(1, f"columns that aren't imported: {', '.join(names)}")] if names else []


def _name_ignored_column(heading: str) -> str:
    if normalize_heading(heading) == "id":
        return "ID (if it is Canvas', name it canvas_id)"
    return escape_control(heading) or "one without a heading"


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
    person, *others = turned
    more = f", and so on in {format_count(len(others), 'other line')}" if others else ""
    return [RosterRemark(person.line, f'"{escape_control(names[person.line])}" becomes "{person.name}"{more}')]


def make_roster_entry(
    login: str, name: str | None, email: str | None, section: str | None, pseudonym: str | None
) -> RosterEntry:
    """Return an entry with these values. Raises LadderError for invalid ones."""
    person = RosterEntry(1, login, name, email, None, section, pseudonym)
    try:
        _require_valid_entry(person)
    except ValueError as error:
        raise LadderError(f"{error}.") from None
    return person


# --- the text ---------------------------------------------------------------------------------------------------------


def _decode_text(data: bytes, file: str) -> str:
    """Return a roster's text. Raises LadderError if it is too large or no text in UTF-8, with the way to convert it.

    The error is a RosterEncodingError if the text may be Windows-1252.
    """
    _require_text_file(data, file)
    try:
        return data.decode("utf-8-sig").lstrip("\ufeff")  # a script adds one to the spreadsheet's
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        byte = f"{data[error.start]:#04x}"
        message = (
            f"{file}, line {line}: byte {byte} isn't valid UTF-8; the file may be Windows-1252.\n"
            f"{_SAVE_ADVICE} Or: iconv -f windows-1252 -t utf-8"
        )
        raise RosterEncodingError(message, data.decode("cp1252", "replace").encode()) from None


def _require_text_file(data: bytes, file: str) -> None:
    """Raise LadderError for a file that is too large, a spreadsheet, a zip, UTF-16, or has a NUL character."""
    if len(data) > MAX_ROSTER_BYTES:
        raise LadderError(f"{file} has {len(data)} bytes: too large for a roster.")
    if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise LadderError(f"{file} isn't a CSV file, but a spreadsheet or a zip.\n{_SAVE_ADVICE}")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LadderError(f"{file} is UTF-16.\n{_SAVE_ADVICE}")
    text, nul, _ = data.partition(b"\0")
    if nul:
        line = 1 + text.count(b"\n")
        raise LadderError(
            f"{file} isn't a CSV file, but perhaps a picture: line {line} has a NUL character.\n{_SAVE_ADVICE}"
        )


def read_rows(data: bytes, file: str) -> list[tuple[int, list[str]]]:
    """Return (line, cells) of all rows that aren't blank, as `_find_separator` separates them.

    A row of several lines has the number of its first one, from 1. Raises LadderError for anything but CSV in UTF-8,
    RosterEncodingError as `parse_roster` does.
    """
    text = _decode_text(data, file)
    separator_line = re.match(r'"?sep=(.)"?[\r\n]+', text, re.IGNORECASE)  # Excel's
    separator = _find_separator(text[separator_line.end() :] if separator_line else text)
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


def _find_separator(text: str) -> str:
    """Return the most frequent of SEPARATORS in the header of a CSV, outside quotes; a colon if it has only colons."""
    header = re.sub('"[^"]*"', "", text.strip().split("\n")[0].split("\r")[0])
    separator = max(SEPARATORS, key=header.count)
    return ":" if separator not in header and ":" in header else separator


def _find_columns(header: Sequence[str], file: str) -> dict[str, int]:
    """Return the index of each known column. Raises LadderError if none identifies users, or two are for one value.

    If Canvas has a column of its own and a teacher added one of the same name, Canvas' column, the first, counts.
    """
    indices: dict[str, int] = {}
    headings = [normalize_heading(heading) for heading in header]
    is_canvas = "id" in headings and bool({"student", "lastname", "sis login id"} & set(headings))
    for index, heading in enumerate(headings):
        column = _COLUMNS_BY_HEADING.get(heading)
        if column is None or (heading == "id" and not is_canvas):
            continue
        if column not in indices:
            indices[column] = index
        elif not is_canvas:
            used, repeated = escape_control(header[indices[column]]), escape_control(header[index])
            raise LadderError(
                f'{file}, line 1: "{used}" and "{repeated}" are columns for the {column}.\nRemove one of them.'
            )
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
    """Return whether an entry is the test student that Canvas makes for teachers.

    Its login is a digest, or missing if the file has no column for it. A real user of that name has a student_id or
    another login.
    """
    if person.student_id is not None:
        return False
    login = person.login or ""
    has_no_login = login in ("", f"canvas-{person.canvas_id}")
    if person.name == "Test Student" and (has_no_login or re.fullmatch("[0-9a-f]+", login)):
        return True
    return _TEST_LOGIN.fullmatch(login) is not None


# --- the people -------------------------------------------------------------------------------------------------------


def _parse_person(line: int, cells: Mapping[str, str]) -> RosterEntry:
    """Return the entry of a row, given as cells by column.

    Raises ValueError if the row identifies no user or a cell isn't valid.
    """
    texts = {
        field.name: cells.get(field.name) or None
        for field in fields(RosterEntry)
        if field.name not in ("line", "staff")
    }
    if not any(texts[column] for column in IDENTITY_COLUMNS):
        raise ValueError("no login, email or student_id")
    full_name = " ".join(filter(None, (cells.get("first"), cells.get("last"))))
    texts["name"] = _put_first_name_first(texts["name"] or "") or full_name or None
    canvas_login = f"canvas-{texts['canvas_id']}" if texts["canvas_id"] else None
    texts["login"] = texts["login"] or texts["email"] or texts["student_id"] or canvas_login
    person = RosterEntry(line=line, staff=_parse_staff(cells["staff"]) if "staff" in cells else None, **texts)
    _require_valid_entry(person)
    return person


def _put_first_name_first(name: str) -> str:
    """Return a name in spoken order: "Ada Lovelace" for "Lovelace, Ada", but "Martin King, Jr." as it is."""
    parts = [part.strip() for part in name.split(",")]
    suffixes = [part for part in parts[1:] if _SUFFIX.fullmatch(part)]
    last_name, *first_names = [part for part in parts if part not in suffixes] or [name]
    if not first_names:
        return name
    return ", ".join([f"{first_names[0]} {last_name}".strip(), *first_names[1:], *suffixes])


def _parse_staff(answer: str) -> bool:
    answers = {"": False, "no": False, "false": False, "0": False, "yes": True, "true": True, "1": True, "x": True}
    if answer.casefold() not in answers:
        raise ValueError(f'staff must be yes or no, not "{escape_control(answer)}"')
    return answers[answer.casefold()]


def _require_valid_entry(person: RosterEntry) -> None:
    """Raise ValueError for an entry with a value that `_require_valid_value` rejects."""
    for field in fields(person):
        value = getattr(person, field.name)
        if isinstance(value, str):
            _require_valid_value(field.name, value)


def _require_valid_value(field: str, value: str) -> None:
    """Raise ValueError for a value that can't be displayed, stored, or written to a gradebook."""
    if not value.strip():
        raise ValueError(f"the {field} is empty")
    if not value.isprintable():
        raise ValueError(f'the {field} "{escape_control(value)}" has unprintable characters')
    if len(value) > MAX_VALUE_CHARS:
        raise ValueError(f"the {field} is longer than {MAX_VALUE_CHARS} characters")
    if field in IDENTITY_COLUMNS:
        _require_unconverted(field, value)
    if "\ufffd" in value:
        raise ValueError(f'the {field} "{value}" has letters that were lost in another encoding')
    if field == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        raise ValueError(f'"{value}" isn\'t a valid email')
    if field == "login":
        _require_valid_login(value)


def _require_unconverted(field: str, value: str) -> None:
    """Raise ValueError for an identifier that a spreadsheet has converted, or would take for a formula."""
    if escape_csv_cell(value) != value:
        raise ValueError(f'the {field} "{value}" begins with "{value[0]}", and would be a formula in a spreadsheet')
    if _MANGLED.fullmatch(value):
        advice = "format the column as text, and enter the value again"
        raise ValueError(f'the {field} "{value}" was converted by a spreadsheet: {advice}')


def _require_valid_login(login: str) -> None:
    if re.search(r"\s", login):
        raise ValueError(f'the login "{login}" contains a space')
    if login.casefold() in RESERVED_LOGINS:
        raise ValueError(f'the login "{login}" is reserved: {RESERVED_LOGINS[login.casefold()]}')


def _remark_shortened_numbers(person: RosterEntry) -> list[RosterRemark]:
    """Return a remark on each value that a spreadsheet may have rounded: long numbers that end in zeros."""
    values = [(field, getattr(person, field)) for field in ("student_id", "canvas_id")]
    return [
        RosterRemark(person.line, f'a spreadsheet may have removed digits from the {field} "{value}"')
        for field, value in values
        if value and _SHORTENED.fullmatch(value)
    ]


def _register_line(person: RosterEntry, lines: dict[tuple[str, str], int]) -> None:
    """Add the line of an entry to `lines`: by (field, folded value) of its identifiers and pseudonym.

    Raises ValueError, without a change, if an earlier line has one of them.
    """
    values = {(field, fold_ascii_case(value)): value for field in IDENTITY_COLUMNS if (value := getattr(person, field))}
    if person.pseudonym:
        values["pseudonym", fold_name(person.pseudonym)] = person.pseudonym
    for (field, folded_value), value in values.items():
        if (field, folded_value) in lines:
            raise ValueError(f'the {field} "{value}" is also in line {lines[field, folded_value]}')
    lines.update(dict.fromkeys(values, person.line))


_Key = tuple[str, str]  # a column, "login" also for emails, and a value without the case of ASCII letters


class UserMatcher:
    """An index of users by student_id, email, login and platform ids; the case of ASCII letters doesn't matter.

    An identifier of a merged user leads to the user that it was merged into. The email of an account that waits for
    approval isn't used. Emails and logins are interchangeable: one platform's login is another's email.
    """

    def __init__(self, owners: Iterable[User]) -> None:
        self._owners: dict[int, User] = {}
        self._ids: defaultdict[_Key, set[int]] = defaultdict(set)
        self._unmerged_keys: set[_Key] = set()  # those of owners that weren't merged
        for user in owners:
            self.add(user)

    def add(self, user: User) -> None:
        """Add a user, or the new values of one that is in the index."""
        fields = ("login",) if user.waiting else IDENTITY_COLUMNS
        keys = {_make_key(field, value) for field in fields if (value := getattr(user, field))}
        for key in keys:
            self._ids[key].add(user.id if user.merged_into is None else user.merged_into)
        if user.merged_into is None:
            self._owners[user.id] = user
            self._unmerged_keys |= keys

    def find(self, person: RosterEntry) -> User | None:
        """Return the user that an entry identifies, None for a new user. Raises ValueError if it is ambiguous."""
        identifiers = self._list_known_identifiers(person)
        user_ids = set[int]().union(*(self._ids[key] for key in identifiers))
        if len(user_ids) > 1:
            conflict = ", ".join(
                f"{text} belongs to {self._join_logins(self._ids[key])}" for key, text in identifiers.items()
            )
            raise ValueError(f"{conflict}: correct the line, or merge the accounts")
        if not user_ids:
            return None
        user = self._owners[user_ids.pop()]
        if user.waiting:
            raise ValueError(f"{escape_control(user.login)} waits for approval: approve or refuse the account first")
        has_known_number = any(kind == "student_id" for kind, _ in identifiers)
        if not has_known_number and _contradicts(person, user):
            login, student_id = escape_control(user.login), escape_control(user.student_id or "")
            raise ValueError(
                f"{next(iter(identifiers.values()))} belongs to {login}, whose student_id is {student_id}: correct the "
                "line, or change the student_id with a roster of login,student_id"
            )
        return user

    def was_merged(self, person: RosterEntry) -> bool:
        """Return whether an entry is known only by identifiers of a merged user."""
        identifiers = self._list_known_identifiers(person)
        return bool(identifiers) and self._unmerged_keys.isdisjoint(identifiers)

    def has_login(self, user: User, login: str | None) -> bool:
        """Return whether the login belongs to the user, or to a user that was merged into the user."""
        return user.id in self._ids.get(_make_key("login", login or ""), ())

    def list_namesakes(self, person: RosterEntry) -> list[str]:
        """Return the logins of the users with an entry's name."""
        name = (person.name or "").casefold()
        return [user.login for user in self._owners.values() if name and user.name.casefold() == name]

    def _list_known_identifiers(self, person: RosterEntry) -> dict[_Key, str]:
        """Return an entry's identifiers that belong to users: the key in the index, and the identifier as text."""
        identifiers: dict[_Key, str] = {}
        for field in IDENTITY_COLUMNS:
            value = getattr(person, field) or ""
            key = _make_key(field, value)
            if value and key in self._ids:
                identifiers.setdefault(key, f'the {field} "{escape_control(value)}"')
        return identifiers

    def _join_logins(self, ids: Iterable[int]) -> str:
        return " and ".join(escape_control(self._owners[id].login) for id in sorted(ids))


def _make_key(field: str, value: str) -> _Key:
    return "login" if field == "email" else field, fold_ascii_case(value)


def _contradicts(person: RosterEntry, user: User) -> bool:
    """Return whether an entry's student_id differs from the user's, unless the entry has the user's login."""
    if not person.student_id or not user.student_id or person.student_id.casefold() == user.student_id.casefold():
        return False
    has_own_login = person.login not in (None, person.email)
    return not (has_own_login and str(person.login).casefold() == user.login.casefold())


SIGNED_UP = "signed up by a link, so this may be another person"  # follows a login
TAKE_OVER_FIRST = "take the account over by a roster first, or name the login in a command for one user"
TAKEN_OVER = ", who had signed up, is taken over:"  # follows a login in an entry of the audit log


def list_signed_up(connection: Connection, owners: Sequence[User]) -> set[int]:
    """Return the ids of users that made their accounts by a sign-up link, but for those that were taken over."""
    logins, signed_up_ids = {user.id: user.login for user in owners}, set[int]()
    for entry in list_audit_entries(connection, actions=("import",)):  # the oldest first
        if entry.user_id is None or entry.user_id not in logins:
            continue
        login = logins[entry.user_id]
        if entry.reason.startswith(f"{login}{TAKEN_OVER}"):
            signed_up_ids.discard(entry.user_id)
        elif entry.reason.startswith(f"{login} signed up"):
            signed_up_ids.add(entry.user_id)
    return signed_up_ids
