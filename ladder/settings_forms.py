"""List the settings of ladder.toml as forms, and change them there.

The file stays the truth: a change keeps comments, order and all that a form doesn't show. Only a person on the machine
may change the database, the sign-in provider and the public address."""

import hashlib
import math
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.deadlines import describe_past_end, list_counting_versions, require_confirmation
from ladder.ladder import Ladder
from ladder.settings import SETTINGS_FILE, Deadline, LadderError, LadderSettings, parse_settings, read_settings

_FIRST_TABLES = ("course", "deadlines", "baselines", "lateness", "quotas")  # that each course needs
# Headings and labels of forms, where the name of the table or the beginning of the description isn't one.
_TITLES = {"auto_disable": "Failing bots", "checks": "Checks of submissions", "retention": "Storage", "web": "Pages"}
_TITLES["tables"] = "Live tables"
_LABELS = {"title": "Name of the course", "logo": "Icon", "name": "Name", "at": "Due at", "points": "Points"}
_LABELS |= {
    "contact": "Contact",
    "measured_hours": "Hours of games",
    "beats": "Beats",
    "max_fault_percent": "Faults in percent",
}
_LABELS |= {"min_games": "Games", "min_win_rate_percent": "Win rate in percent"}
_LABELS |= {"public": "Public", "banner": "Notice", "allow_guests": "Guests", "pace": "Pace", "chat": "Chat"}
_LABELS |= {"endurance_seconds": "Seconds of endurance", "penalty_percent_per_day": "Penalty per day"}
LOCKED_TABLES, LOCKED_KEYS = ("database", "sign_in"), ("base_url",)


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting in a form. kind: boolean, integer, number, string, choice, bot or date-time.

    label, help: the question, and what explains it, maybe "".
    value: as the form shows it, "" if the file doesn't set it and there is no default. choices: of a choice or bot.
    attributes: the limits as attributes of an HTML input.
    """

    name: str
    kind: str
    label: str
    help: str
    value: str
    choices: tuple[str, ...]
    attributes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SettingForm:
    """The form of a table, or of an item of a list of tables. index: of the item; None for a new one, or no list."""

    table: str
    title: str
    is_list: bool
    index: int | None
    help: str
    fields: tuple[SettingField, ...]


def list_setting_forms(settings: LadderSettings, bots: Sequence[str] = ()) -> tuple[SettingForm, ...]:
    """Return the forms of all settings that staff may change; lists end with the form of a new item.

    bots: the names that are offered where a setting is a bot.
    """
    forms = []
    for table, (definition, is_list) in _list_tables().items():
        given = settings.model_dump(mode="python")[table]
        rows: list[tuple[int | None, Any]] = [*enumerate(given), (None, {})] if is_list else [(None, given)]
        for index, values in rows:
            if values.get("grace_minutes") == settings.lateness.grace_minutes and is_list:
                values |= {"grace_minutes": None}  # it was filled in
            fields = tuple(
                _make_field(name, shape, values.get(name), name not in definition.get("required", ()), bots)
                for name, shape in definition["properties"].items()
                if name not in LOCKED_KEYS
            )
            forms.append(SettingForm(table, definition["title"], is_list, index, definition["description"], fields))
    return tuple(forms)


def hash_settings(folder: Path) -> str:
    """Return the SHA-256 of the ladder.toml in a folder, in hex, by which a form knows that the file didn't change."""
    return hashlib.sha256((folder / SETTINGS_FILE).read_bytes()).hexdigest()


def change_settings(
    ladder: Ladder,
    table: str,
    index: int | None,
    *,
    given: Mapping[str, str],
    sha256: str,
    actor: str,
    remove: bool = False,
    confirmed: bool = True,
) -> bool:
    """Change a table of ladder.toml, or add, change or remove an item of a list; return False if nothing changes.

    given: the values of a form by name; a time has its zone in `zone`. sha256: of the file that the form was made
    from. Raises LadderError, without a change, if a value is invalid or the file has changed since; if not `confirmed`,
    UnconfirmedError for a change of what counts and a deadline in the past.
    """
    import tomlkit  # which only changes need

    tables, path = _list_tables(), ladder.path / SETTINGS_FILE
    if table not in tables:
        raise LadderError(f'"{table}" can\'t be changed here.\nChange {SETTINGS_FILE} on the machine.')
    definition, is_list = tables[table]
    if hash_settings(ladder.path) != sha256:
        raise LadderError(f"{SETTINGS_FILE} was changed meanwhile.\nLoad the page again, and repeat your change.")
    old = read_settings(ladder.path)  # what is wrong already is a person's to correct
    document: Any = tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    rows = document.setdefault(table, tomlkit.aot() if is_list else tomlkit.table())
    if is_list and not isinstance(rows, tomlkit.items.AoT):  # `deadlines = []`, to which no table can be added
        document[table] = rows = tomlkit.item([dict(row) for row in document.pop(table)] or tomlkit.aot())
    if index is not None and not 0 <= index < len(rows):
        raise LadderError("this item doesn't exist.\nLoad the page again.")
    renamed = rows[index]["name"] if table == "deadlines" and index is not None else None
    if remove and index is not None:
        changes = [f"{table}: removed {rows[index]['name']}"]
        del rows[index]
    else:
        row = (tomlkit.table() if index is None else rows[index]) if is_list else rows
        item = table if not is_list or index is None else f'{table} "{row["name"]}"'
        changes = _set_values(item, row, definition["properties"], given)
        if is_list and index is None:
            rows.append(row)
    if is_list and not rows:
        del document[table]
    text = tomlkit.dumps(document)
    settings = parse_settings(text, Path(SETTINGS_FILE))

    new_name = row["name"] if renamed is not None and not remove and row["name"] != renamed else None

    def act(connection: Connection) -> None:
        """Log the change and write the file, with the confirmation that the versions that count may change."""
        before, names = list_counting_versions(connection, old), {each.name: each.name for each in old.deadlines}
        if table == "baselines":
            _require_bots(connection, settings)
        if renamed is not None and new_name is not None:
            _rename_deadline(connection, renamed, new_name)
            names[renamed] = new_name
        past, notices = _list_notices(connection, old, settings, "; ".join(changes), ladder.clock())
        if renamed is not None and remove:
            notices += _describe_removal(connection, renamed)
        before = {(names[name], login): text for (name, login), text in before.items()}
        names |= {each.name: each.name for each in past}  # versions that count at other new deadlines can still change
        after = list_counting_versions(connection, settings)
        after = {key: text for key, text in after.items() if key[0] in names.values()}
        require_confirmation(before, after, notices, confirmed)
        store.log_action(connection, store.AuditEntry(actor, "configure", "; ".join(changes), ladder.clock()))
        _replace_file(path, text)

    if changes:
        ladder.database.write(act)
    return bool(changes)


def _list_notices(
    connection: Connection, old: LadderSettings, new: LadderSettings, change: str, now: float
) -> tuple[list[Deadline], list[str]]:
    """Return the new deadlines that are over already, and what staff must confirm about them and about grades."""
    known = [each.closes for each in old.deadlines]
    past = [each for each in new.deadlines if each.closes < now and each.closes not in known]
    notices = [describe_past_end(f"The deadline {each.name}", each.at.timestamp(), each) for each in past]
    has_grades = any(not version.is_reference for version in store.accepted_versions(connection))
    hours, known_hours = ({each.at: each.measured_hours for each in settings.deadlines} for settings in (new, old))
    measures = any(hours[at] != known_hours[at] for at in hours if at in known_hours)
    if (new.baselines != old.baselines or measures) and has_grades:
        what = describe_settings(change)
        notices.append(f"Grades of all users, except released ones, are computed again: {what}")
    unmoved = [each.at for each in old.deadlines]
    moved = {each.name: each.at.timestamp() for each in new.deadlines if each.at not in unmoved}
    extensions = store.extensions_in_force(connection)
    ended = {each.user_id for each in extensions if (each.extended_until or math.inf) <= moved.get(each.deadline, 0)}
    if ended:
        logins = _list_logins(connection, ended)
        notices.append(f"Extensions end before the new time of the deadline, and give no more time: {logins}")
    return past, notices


def _list_logins(connection: Connection, ids: Collection[int]) -> str:
    return ", ".join(user.login for user in store.all_users(connection) if user.id in ids)


def _describe_removal(connection: Connection, deadline: str) -> list[str]:
    """Return what a ladder keeps of a removed deadline, and doesn't use: its extensions and released grades."""
    extended = {each.user_id for each in store.extensions_in_force(connection) if each.deadline == deadline}
    logins = _list_logins(connection, extended)
    released = [each.name for each in store.all_releases(connection) if each.scope == ("deadline", deadline)]
    notices = [f"Extensions don't apply any more: {logins}"] if logins else []
    return notices + ([f"Grades lose their tab for what was released as: {', '.join(released)}"] if released else [])


def _require_bots(connection: Connection, settings: LadderSettings) -> None:
    """Raise LadderError if a baseline names a bot that doesn't exist."""
    for each in settings.baselines:
        if each.beats is not None and store.find_bot(connection, each.beats) is None:
            raise LadderError(f'beats: there is no bot "{escape_control(each.beats)}".\nCorrect its name.')


def _rename_deadline(connection: Connection, old: str, new: str) -> None:
    """Give a deadline's extensions its new name. Raises LadderError if its grades are released."""
    if ("deadline", old) in [release.scope for release in store.all_releases(connection)]:
        raise LadderError(f'name: grades of "{old}" are released, so its name stays.\nAdd a deadline.')
    store.rename_extensions(connection, old, new)


@cache
def _list_tables() -> dict[str, tuple[dict[str, Any], bool]]:
    """Return (JSON schema, whether it is a list) for each table of ladder.toml that may be changed."""
    schema = LadderSettings.model_json_schema()
    found = {}
    for name in dict.fromkeys((*_FIRST_TABLES, *schema["properties"])):
        shape = schema["properties"][name]
        if name not in LOCKED_TABLES:
            reference = shape.get("items", shape).get("$ref") or shape["allOf"][0]["$ref"]
            definition = _resolve(schema, schema["$defs"][reference.rpartition("/")[2]])
            found[name] = (definition | {"title": _TITLES.get(name, name.capitalize())}, "items" in shape)
    return found


def _resolve(schema: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """Return a table's schema in which each property has its own type: without references and alternatives of null."""
    properties = {}
    for name, shape in definition["properties"].items():
        inner = shape | shape.get("anyOf", [{}])[0]
        if "$ref" in inner:
            inner = schema["$defs"][inner["$ref"].rpartition("/")[2]] | inner
        properties[name] = inner
    return definition | {"properties": properties}


_ATTRIBUTES = {"minimum": "min", "maximum": "max", "maxLength": "maxlength"}


def _make_label(name: str, shape: Mapping[str, Any]) -> str:
    return _LABELS.get(name) or re.split("[,:;.]", shape["description"].replace("`", ""))[0]


def describe_settings(reason: str) -> str:
    """Return the reason of a change of settings with the titles and labels of the forms instead of names."""
    tables = _list_tables()

    def name(found: re.Match[str]) -> str:
        table, item, key = found.groups(default="")
        shape = tables[table][0]["properties"].get(key) if table in tables else None
        return f"{tables[table][0]['title']}{item}, {_make_label(key, shape)}: " if shape else found.group()

    return re.sub(r'(?:(?<=; )|^)(\w+)( "[^"]*")?\.(\w+): ', name, reason)


def _make_field(name: str, shape: dict[str, Any], value: Any, optional: bool, bots: Sequence[str]) -> SettingField:
    """Return the field of a setting by its JSON schema. bots: the choices of a setting that is a bot."""
    kind = "choice" if "enum" in shape else "bot" if name == "beats" else str(shape.get("format", shape["type"]))
    attributes = {html: shape[key] for key, html in _ATTRIBUTES.items() if key in shape}
    if not optional or (kind in ("integer", "number") and shape.get("default") is not None):  # empty isn't 0
        attributes["required"] = True
    if kind in ("integer", "number"):
        attributes["step"] = 1 if kind == "integer" else "any"
    text = _format_value(value)
    choices = tuple(dict.fromkeys(("", *bots, text))) if kind == "bot" else tuple(shape.get("enum", ()))
    label = _make_label(name, shape)
    help = shape["description"].replace("`", "").removeprefix(label).lstrip(",:;. ")
    return SettingField(name, kind, label, help, text, choices, attributes)


def _format_value(value: Any) -> str:
    """Return a setting's value as the text of a form, "" for None."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _set_values(table: str, row: Any, shapes: Mapping[str, Any], given: Mapping[str, str]) -> list[str]:
    """Set a table's values from a form, except unset ones that stay at their default; return the changes as text."""
    changes = []
    for name, shape in shapes.items():
        if name in LOCKED_KEYS or (name not in given and shape.get("type") != "boolean"):
            continue
        new = _parse_value(name, shape, given.get(name, "").strip(), given.get("zone", "").strip())
        old = row.get(name)
        if new == old or (old is None and new == shape.get("default")):
            continue
        before, after = (f"{each:.15g}" if isinstance(each, float) else each for each in (old, new))
        changes.append(f"{table}.{name}: {'none' if old is None else before} → {'none' if new is None else after}")
        if new is None:
            del row[name]
        else:
            row[name] = new
    return changes


def _parse_value(name: str, shape: Mapping[str, Any], text: str, zone: str) -> Any:
    """Return a form's value for TOML, None for an empty one.

    Raises LadderError if the text isn't such a value, or the time zone is unknown.
    """
    kind = shape.get("format", shape.get("type"))
    try:
        if kind == "boolean":
            return text == "true"
        if not text:
            return None
        if kind in ("integer", "number"):
            return int(text) if kind == "integer" else float(text)
        if kind == "date-time":
            has_offset = re.fullmatch(r"[+-]\d\d:\d\d|Z", zone)
            at = datetime.fromisoformat(text + (zone if has_offset else ""))
            at = at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone or "UTC"))
            return datetime.fromisoformat(at.isoformat(timespec="seconds"))  # with an offset, as TOML has it
        return text
    except (KeyError, OSError):  # a folder of zones is an OSError
        raise LadderError(f'zone: there is no time zone "{escape_control(zone)}".\nCorrect its name.') from None
    except ValueError:
        what = {"integer": "a whole number", "number": "a number"}.get(kind or "", "a date with a time of day")
        raise LadderError(f'{name}: "{escape_control(text)}" isn\'t {what}.\nCorrect this value.') from None


def _replace_file(path: Path, text: str) -> None:
    """Replace a file at once, so that no reader sees half of it; its mode stays.

    Raises LadderError if the file can't be written.
    """
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        raise LadderError(f"{path} can't be written: {error.strerror}.\nMake its folder writable.") from None
