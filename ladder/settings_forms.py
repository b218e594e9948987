"""List the settings of ladder.toml as forms, and change them there.

The file stays the truth: a change keeps comments, order and all that a form doesn't show. Only a person on the machine
may change the database, the sign-in provider and the public address."""

import hashlib
import math
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    dumped_settings = settings.model_dump(mode="python")
    for deadline, values in zip(settings.deadlines, dumped_settings["deadlines"], strict=True):
        if "grace_minutes" not in deadline.model_fields_set:
            values["grace_minutes"] = None  # `parse_settings` filled it in
    for table, (definition, is_list) in _list_tables().items():
        dumped = dumped_settings[table]
        items: list[tuple[int | None, Any]] = [*enumerate(dumped), (None, {})] if is_list else [(None, dumped)]
        for index, item in items:
            fields = _make_fields(definition, item, bots)
            forms.append(SettingForm(table, definition["title"], is_list, index, definition["description"], fields))
    return tuple(forms)


def _make_fields(
    definition: Mapping[str, Any], values: Mapping[str, Any], bots: Sequence[str]
) -> tuple[SettingField, ...]:
    """Return the fields of a table, but for locked settings. definition: its JSON schema, as in `_list_tables`."""
    required = definition.get("required", ())
    return tuple(
        _make_field(name, shape, values.get(name), name not in required, bots)
        for name, shape in definition["properties"].items()
        if name not in LOCKED_KEYS
    )


def hash_settings(folder: Path) -> str:
    """Return the SHA-256 of the ladder.toml in a folder, in hex, by which a form knows that the file didn't change."""
    return hashlib.sha256((folder / SETTINGS_FILE).read_bytes()).hexdigest()


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def change_settings(
    ladder: Ladder,
    table: str,
    index: int | None,
    *,
    values: Mapping[str, str],
    sha256: str,
    actor: str,
    remove: bool = False,
    confirmed: bool = True,
) -> None:
    """Change a table of ladder.toml, or add, change or remove an item of a list.

    index: of the item, None to add one. values: those of a form by name; a time has its zone in `zone`. sha256: of the
    file that the form was made from. Raises LadderError, without a change, if a value is invalid, there is no such
    item, or the file has changed since; if not `confirmed`, UnconfirmedError for a change of what counts and a deadline
    in the past.
    """
    if table not in _list_tables():
        raise LadderError(f'"{table}" can\'t be changed here.\nChange {SETTINGS_FILE} on the machine.')
    _require_unchanged(ladder, sha256)
    old = read_settings(ladder.path)  # raises if the file is invalid: no form can correct it
    old_text = (ladder.path / SETTINGS_FILE).read_text(encoding="utf-8-sig")
    text, changes = _edit_table(old_text, table, index, values, remove)
    new = parse_settings(text, Path(SETTINGS_FILE))
    if not changes:
        return
    new_names: dict[str, str | None] = {deadline.name: deadline.name for deadline in old.deadlines}
    if table == "deadlines" and index is not None:
        new_names[old.deadlines[index].name] = None if remove else new.deadlines[index].name
    change = _SettingsChange(old, new, text, new_names)
    entry = store.AuditEntry(actor, "configure", "; ".join(changes), ladder.clock())

    def store_change(connection: Connection) -> None:
        _require_unchanged(ladder, sha256, text)
        if table == "baselines":
            _require_bots(connection, new)
        _store_change(connection, ladder, change, entry, confirmed)

    ladder.database.write(store_change)


@dataclass(frozen=True, slots=True)
class _SettingsChange:
    """A change of ladder.toml to `text`. new_names: of all old deadlines, by old names; None for a removed one."""

    old: LadderSettings
    new: LadderSettings
    text: str
    new_names: Mapping[str, str | None]


def _store_change(
    connection: Connection, ladder: Ladder, change: _SettingsChange, entry: store.AuditEntry, confirmed: bool
) -> None:
    """Rename extensions, log a change by its entry and write the file, unless an earlier call did.

    Raises LadderError if a renamed deadline has released grades or the file can't be written; UnconfirmedError as
    `change_settings` does, before the file is written.
    """
    is_written = hash_settings(ladder.path) == _hash_text(change.text)
    if is_written and store.has_audit_entry(connection, entry):
        return
    old_versions = list_counting_versions(connection, change.old)
    _rename_deadlines(connection, change.new_names)
    past_deadlines = _list_newly_past_deadlines(change.old, change.new, entry.created_at)
    notices = _list_notices(connection, change, past_deadlines, entry.reason)
    # Versions that count at other new deadlines can still change.
    names = {*change.new_names.values(), *(deadline.name for deadline in past_deadlines)}
    new_versions = list_counting_versions(connection, change.new)
    require_confirmation(
        {(change.new_names[name] or name, login): versions for (name, login), versions in old_versions.items()},
        {(name, login): versions for (name, login), versions in new_versions.items() if name in names},
        notices,
        confirmed,
    )
    store.log_action(connection, entry)
    _replace_file(ladder.path / SETTINGS_FILE, change.text)


def _require_unchanged(ladder: Ladder, sha256: str, new_text: str | None = None) -> None:
    """Raise LadderError if ladder.toml has another hash than the one that a form was made from.

    new_text: a text that it may also have, since a call whose commit had no answer is repeated.
    """
    allowed = {sha256} if new_text is None else {sha256, _hash_text(new_text)}
    if hash_settings(ladder.path) not in allowed:
        raise LadderError(
            "another form or program changed the settings meanwhile.\nLoad the page again, and repeat your change."
        )


def _edit_table(
    text: str, table: str, index: int | None, values: Mapping[str, str], remove: bool
) -> tuple[str, list[str]]:
    """Return the text of ladder.toml after a change, and its changes as texts; parameters as of `change_settings`.

    Raises LadderError if a value can't be parsed, or there is no such item.
    """
    import tomlkit  # which only changes need

    definition, is_list = _list_tables()[table]
    document: Any = tomlkit.parse(text)
    if is_list:
        items = document.setdefault(table, tomlkit.aot())
        if not isinstance(items, tomlkit.items.AoT):  # `deadlines = []`, to which no table can be added
            document[table] = items = tomlkit.item([dict(item) for item in document.pop(table)] or tomlkit.aot())
        changes = _edit_items(items, table, index, None if remove else values)
        if not items:
            del document[table]
    elif remove or index is not None:
        raise LadderError(_NO_ITEM)
    else:
        section = document.setdefault(table, tomlkit.table())
        changes = _set_values(table, section, definition["properties"], values)
    return tomlkit.dumps(document), changes


_NO_ITEM = "this item doesn't exist.\nLoad the page again."


def _edit_items(items: Any, table: str, index: int | None, values: Mapping[str, str] | None) -> list[str]:
    """Set an item's values in a list of tables of TOML; return the changes as texts.

    index: None for a new item. values: None to remove the item. Raises LadderError as `_edit_table` does.
    """
    import tomlkit

    shapes = _list_tables()[table][0]["properties"]
    if index is None and values is not None:
        item = tomlkit.table()
        changes = _set_values(table, item, shapes, values)
        items.append(item)
        return changes
    if index is None or not 0 <= index < len(items):
        raise LadderError(_NO_ITEM)
    name = items[index]["name"]
    if values is None:
        del items[index]
        return [f"{table}: removed {name}"]
    return _set_values(f'{table} "{name}"', items[index], shapes, values)


def _list_newly_past_deadlines(old: LadderSettings, new: LadderSettings, now: float) -> list[Deadline]:
    """Return the deadlines that are over by `now`, a Unix time, and have an end that the old settings didn't have."""
    old_ends = {deadline.closes for deadline in old.deadlines}
    return [deadline for deadline in new.deadlines if deadline.closes < now and deadline.closes not in old_ends]


def _list_notices(
    connection: Connection, change: _SettingsChange, past_deadlines: Iterable[Deadline], reason: str
) -> list[str]:
    """Return what staff must confirm, after the change of names. past_deadlines: those that are newly over.

    reason: what changes, as the audit log shows it.
    """
    notices = [
        describe_past_end(f"The deadline {deadline.name}", deadline.at.timestamp(), deadline)
        for deadline in past_deadlines
    ]
    has_grades = any(not version.is_reference for version in store.accepted_versions(connection))
    if has_grades and _changes_measurements(change.old, change.new):
        changes = describe_settings(reason)
        notices.append(f"Grades of all users, except released ones, are computed again: {changes}")
    logins = _list_users_without_extension(connection, change.old, change.new)
    if logins:
        notices.append(f"Extensions end before the new time of the deadline, and give no more time: {logins}")
    old_times, new_times = ({each.at.timestamp() for each in one.deadlines} for one in (change.old, change.new))
    finals = [final.name for final in store.all_finals(connection) if final.deadline_at in old_times - new_times]
    if finals:
        notices.append(f"Finals keep the versions that counted at the old time: {', '.join(finals)}")
    for name, new_name in change.new_names.items():
        if new_name is None:
            notices += _describe_removal(connection, name)
    return notices


def _list_users_without_extension(connection: Connection, old: LadderSettings, new: LadderSettings) -> str:
    """Return the logins of users whose extension of a deadline ends before the deadline's new time, as one text."""
    old_times = {deadline.at for deadline in old.deadlines}
    new_times = {deadline.name: deadline.at.timestamp() for deadline in new.deadlines if deadline.at not in old_times}
    users = {
        extension.user_id
        for extension in store.extensions_in_force(connection)
        if (extension.extended_until or math.inf) <= new_times.get(extension.deadline, 0)
    }
    return _list_logins(connection, users)


def _changes_measurements(old: LadderSettings, new: LadderSettings) -> bool:
    """Return whether baselines differ, or the hours of games of a deadline that both settings have, by its time."""
    old_hours = {deadline.at: deadline.measured_hours for deadline in old.deadlines}
    new_hours = {deadline.at: deadline.measured_hours for deadline in new.deadlines}
    return new.baselines != old.baselines or any(
        old_hours.get(time, hours) != hours for time, hours in new_hours.items()
    )


def _list_logins(connection: Connection, ids: Collection[int]) -> str:
    return ", ".join(user.login for user in store.all_users(connection) if user.id in ids)


def _describe_removal(connection: Connection, deadline: str) -> list[str]:
    """Return what a ladder keeps of a removed deadline, and doesn't use: its extensions and released grades."""
    extensions = store.extensions_in_force(connection)
    users = {extension.user_id for extension in extensions if extension.deadline == deadline}
    logins = _list_logins(connection, users)
    releases = [release for release in store.all_releases(connection) if release.scope == ("deadline", deadline)]
    notices = []
    if logins:
        notices.append(f"Extensions don't apply any more: {logins}")
    if releases:
        names = ", ".join(release.name for release in releases)
        notices.append(f"Grades lose their tab for what was released as: {names}")
    return notices


def _require_bots(connection: Connection, settings: LadderSettings) -> None:
    """Raise LadderError if a baseline names a bot that doesn't exist."""
    for baseline in settings.baselines:
        if baseline.beats is not None and store.find_bot(connection, baseline.beats) is None:
            raise LadderError(f'beats: there is no bot "{escape_control(baseline.beats)}".\nCorrect its name.')


def _rename_deadlines(connection: Connection, new_names: Mapping[str, str | None]) -> None:
    """Give the extensions of deadlines the new names. Raises LadderError if grades of a renamed one are released."""
    released = {release.scope for release in store.all_releases(connection)}
    for old, new in new_names.items():
        if new is None or new == old:
            continue
        if ("deadline", old) in released:
            raise LadderError(f'name: grades of "{old}" are released, so its name stays.\nAdd a deadline.')
        store.rename_extensions(connection, old, new)


@cache
def _list_tables() -> dict[str, tuple[dict[str, Any], bool]]:
    """Return (JSON schema, whether it is a list) for each table of ladder.toml that may be changed."""
    schema = LadderSettings.model_json_schema()
    tables = {}
    for name in dict.fromkeys((*_FIRST_TABLES, *schema["properties"])):
        shape = schema["properties"][name]
        if name not in LOCKED_TABLES:
            definition = _resolve(schema, _follow_reference(schema, shape.get("items", shape)))
            tables[name] = (definition | {"title": _TITLES.get(name, name.capitalize())}, "items" in shape)
    return tables


def _follow_reference(schema: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """Return the definition that a shape of a JSON schema refers to, directly or, before pydantic 2.9, in an allOf."""
    reference = shape["allOf"][0]["$ref"] if "allOf" in shape else shape["$ref"]
    definition: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]]
    return definition


def _resolve(schema: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """Return a table's schema in which each property has its own type: without references and alternatives of null."""
    properties = {}
    for name, shape in definition["properties"].items():
        inner = shape | shape.get("anyOf", [{}])[0]
        if "$ref" in inner:
            inner = _follow_reference(schema, inner) | inner
        properties[name] = inner
    return definition | {"properties": properties}


_ATTRIBUTES = {"minimum": "min", "maximum": "max", "maxLength": "maxlength"}


def _make_label(name: str, shape: Mapping[str, Any]) -> str:
    return _LABELS.get(name) or re.split("[,:;.]", shape["description"].replace("`", ""))[0]


def describe_settings(reason: str) -> str:
    """Return the reason of a change of settings, as the audit log has it, with the titles and labels of the forms.

    For example, `quotas.max_upload_mb: 16 → 8` becomes "Quotas, Size of an upload: 16 → 8".
    """
    tables = _list_tables()

    def label_setting(match: re.Match[str]) -> str:
        table, item, key = match.groups(default="")
        if table not in tables or key not in ("", *tables[table][0]["properties"]):
            return match.group()
        definition, _ = tables[table]
        if not key:
            return f"{definition['title']}{item}: "
        return f"{definition['title']}{item}, {_make_label(key, definition['properties'][key])}: "

    return re.sub(r'(?:(?<=; )|^)(\w+)( "[^"]*")?(?:\.(\w+))?: ', label_setting, reason)


def _make_field(name: str, shape: dict[str, Any], value: Any, optional: bool, bots: Sequence[str]) -> SettingField:
    """Return the field of a setting by its JSON schema. bots: the choices of a setting that is a bot."""
    text = _format_value(value)
    kind, choices = str(shape.get("format", shape["type"])), tuple(shape.get("enum", ()))
    if choices:
        kind = "choice"
    elif name == "beats":
        kind, choices = "bot", tuple(dict.fromkeys(("", *bots, text)))
    label = _make_label(name, shape)
    help = shape["description"].replace("`", "").removeprefix(label).lstrip(",:;. ")
    return SettingField(name, kind, label, help, text, choices, _list_attributes(name, shape, kind, optional))


def _list_attributes(name: str, shape: Mapping[str, Any], kind: str, optional: bool) -> dict[str, object]:
    """Return the attributes of the HTML input of a setting, as `SettingField` has them."""
    attributes = {html: shape[key] for key, html in _ATTRIBUTES.items() if key in shape}
    is_number = kind in ("integer", "number")
    if not optional or (is_number and shape.get("default") is not None):  # empty isn't 0
        attributes["required"] = True
    if name == "name" and "pattern" in shape:
        attributes |= {"pattern": r"[A-Za-z0-9_\-]{1,40}", "title": "Letters, digits, - and _"}
    if is_number:
        attributes["step"] = 1 if kind == "integer" else "any"
    return attributes


def _format_value(value: Any) -> str:
    """Return a setting's value as the text of a form, "" for None."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value)


def _set_values(label: str, section: Any, shapes: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    """Set the values of a TOML table from a form, except unset ones that stay at their default.

    label: begins each of the changes, which are returned as texts. shapes: the JSON schema of each value. values: of
    the form, which has no value for a box that isn't ticked. Raises LadderError if one can't be parsed.
    """
    changes = []
    for name, shape in shapes.items():
        is_in_form = name in values or shape.get("type") == "boolean"
        if name in LOCKED_KEYS or not is_in_form:
            continue
        text = values.get(name, "").strip()
        new = _parse_value(name, shape, text, values.get("zone", "").strip())
        old = section.get(name)
        is_default = old is None and new == shape.get("default")
        if new == old or is_default or _is_as_shown(old, new, text):
            continue
        changes.append(f"{label}.{name}: {_describe_value(old)} → {_describe_value(new)}")
        if new is None:
            del section[name]
        else:
            section[name] = new
    return changes


def _is_as_shown(old: Any, new: Any, text: str) -> bool:
    """Return whether a form's text is a value as forms show it: without seconds, or without all digits of a number.

    new: the value of the text, which has the form's zone.
    """
    if isinstance(old, datetime):
        return len(text) == len("2026-12-01T23:59") and _format_value(new) == _format_value(old)
    return text == _format_value(old)


def _describe_value(value: Any) -> str:
    """Return a setting's value as the audit log shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, ""):
        return "none"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


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
            number = text if re.fullmatch("[-+.0-9eE]+", text) else ""  # Python also parses 1_000 and wide digits
            return int(number) if kind == "integer" else float(number)
        return _parse_local_time(text, zone) if kind == "date-time" else text
    except (KeyError, OSError):  # a folder of zones is an OSError
        raise LadderError(f'zone: there is no time zone "{escape_control(zone)}".\nCorrect its name.') from None
    except ValueError:
        noun = {"integer": "a whole number", "number": "a number"}.get(kind or "", "a date with a time of day")
        raise LadderError(f'{name}: "{escape_control(text)}" isn\'t {noun}.\nCorrect this value.') from None


def _parse_local_time(text: str, zone: str) -> datetime:
    """Return a time of a form with an offset, as TOML has it. zone: an offset or a name, "" for UTC.

    Raises ValueError if the text is no time, KeyError or OSError if there is no such zone.
    """
    has_offset = re.fullmatch(r"[+-]([01]\d|2[0-3]):[0-5]\d|Z", zone)
    time = datetime.fromisoformat(text + (zone if has_offset else ""))
    try:
        zoned_time = time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone or "UTC"))
    except ValueError:  # of a path, such as ../x
        raise KeyError(zone) from None
    return datetime.fromisoformat(zoned_time.isoformat(timespec="seconds"))


def _replace_file(path: Path, text: str) -> None:
    """Replace a file at once, so that no reader sees half of it; its mode stays.

    Raises LadderError if the file can't be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            new_path = Path(folder, path.name)
            with new_path.open("w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new_path, path)
    except OSError as error:
        raise LadderError(f"{path} can't be written: {error.strerror}.\nMake its folder writable.") from None
