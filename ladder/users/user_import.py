"""Add and update users, from a roster or one by one."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.ladder import STAFF_USER, Ladder
from ladder.settings import LadderError
from ladder.users.pseudonyms import draw_pseudonym
from ladder.users.roster import SIGNED_UP, TAKEN_OVER, Roster, RosterEntry, RosterRemark, UserMatcher, list_signed_up
from ladder.users.teams import leave_current_team

_IMPORTED_FIELDS = ("name", "email", "student_id", "section", "canvas_id", "moodle_id")
MAX_LISTED_REMARKS = 20  # in a message about lines that can't be imported; the others are counted


@dataclass(frozen=True, slots=True)
class UserChange:
    """A user that an import adds or changes. fields: (name, value before, value after); before: None if it is added."""

    login: str
    is_new: bool
    fields: tuple[tuple[str, str | None, str], ...]


@dataclass(frozen=True, slots=True)
class UserImport:
    """The numbers of added users, of changed users, and of users that the roster lacks, which stay.

    skipped: lines that weren't imported, with reasons. remarks: further notices for staff, by line. changes: of each
    user that was added or changed. signed_up: logins of skipped lines whose accounts their users made by a sign-up
    link; `take_over` imports them.
    """

    added: int
    changed: int
    absent: int
    skipped: tuple[RosterRemark, ...] = ()
    remarks: tuple[RosterRemark, ...] = ()
    changes: tuple[UserChange, ...] = ()
    signed_up: tuple[str, ...] = ()


ImportCallback = Callable[[Connection, UserImport], object]


def import_users(
    ladder: Ladder,
    people: Roster | Sequence[RosterEntry],
    actor: str,
    source: str,
    *,
    then: ImportCallback = lambda connection, taken: None,
    partial: bool = False,
    take_over: Collection[str] = (),
) -> UserImport:
    """Add users, and update known ones with the given values; these keep their logins and pseudonyms.

    All changes, the audit entries, which name `source`, and the writes of `then` are one transaction. For a merged
    user, a roster only fills in missing values. An entry that isn't from a roster must match the user by login.

    Raises LadderError with all entries that can't be imported, or, if `partial`, skips these: the line is invalid, the
    user is ambiguous, the pseudonym is taken, a known user's staff status would change, or the account was made by a
    sign-up link and its login isn't in `take_over`. An account that is taken over loses all its links, sessions,
    tokens, passwords and provider accounts, its team, and the agreement to show its name.
    """
    roster = people if isinstance(people, Roster) else None
    persons = people.people if isinstance(people, Roster) else tuple(people)
    key = ladder.pseudonym_key()

    def act(connection: Connection) -> UserImport:
        """Match all entries with users, save them, and log what was imported."""
        owners = store.all_users(connection, merged=True)
        importer = _UserImporter(owners, persons, key, roster is None, list_signed_up(connection, owners), take_over)
        left_out = importer.take_all(roster.wrong if roster else ())
        if left_out and not partial:
            raise _make_import_error(left_out, source if roster else None, importer.signed_up)
        _empty_taken_over(connection, importer.taken_over, actor, source, ladder.clock())
        added, changed = store.save_users(connection, importer.wanted.values(), ladder.clock())
        if added or changed:
            reason = f"{source}: {added} added, {changed} changed"
            if left_out:
                reason += f", {len(left_out)} left out"
            only_user = None
            if len(persons) == 1:
                only_user = store.find_user(connection, next(iter(importer.wanted.values())).login)
            user_id = None if only_user is None else only_user.id
            store.log_action(connection, store.AuditEntry(actor, "import", reason, ladder.clock(), user_id=user_id))
        remarks = tuple(sorted([*(roster.remarks if roster else ()), *importer.remarks], key=_line_number))
        signed_up = tuple(importer.signed_up)
        result = UserImport(added, changed, importer.absent(), left_out, remarks, importer.list_changes(), signed_up)
        then(connection, result)
        return result

    return ladder.database.write(act)


def _empty_taken_over(connection: Connection, users: Iterable[store.User], actor: str, source: str, now: float) -> None:
    """Take from accounts that users made themselves what must not pass to the people of the roster."""
    for user in users:
        for credential in store.all_credentials(connection, user.login):
            store.expire_credential(connection, credential.id)
        store.set_user_shows_name(connection, user.login, shows_name=False, timestamp=now)
        reason = f"{user.login}{TAKEN_OVER} {source}"
        leave_current_team(connection, user, actor, reason, now)
        store.log_action(connection, store.AuditEntry(actor, "import", reason, now, user_id=user.id))


class RosterImportError(LadderError):
    """Entries can't be imported. options: of a command, which skip the lines, or import them all the same."""

    def __init__(self, message: str, options: Sequence[str]) -> None:
        super().__init__(message)
        self.options = options


class _PreviewError(Exception):
    """Roll an import back. The argument is the UserImport."""


def preview_import(ladder: Ladder, people: Roster, source: str) -> UserImport:
    """Return what `import_users` would do with the valid lines of a roster, without any change.

    Raises LadderError as `import_users` does.
    """

    def end(connection: Connection, taken: UserImport) -> None:
        raise _PreviewError(taken)

    try:
        return import_users(ladder, people, STAFF_USER.login, source, then=end, partial=True)
    except _PreviewError as preview:
        taken: UserImport = preview.args[0]
        return taken


class _UserImporter:
    """Matches entries with users, one by one, and collects the users to save and remarks on lines."""

    def __init__(
        self,
        owners: Sequence[store.User],
        people: Sequence[RosterEntry],
        key: bytes,
        by_login: bool,
        signed_up_ids: Collection[int],
        take_over: Collection[str],
    ) -> None:
        self._persons = people
        self.directory = UserMatcher(owners)
        self.wanted: dict[int, store.User] = {}
        self.remarks: list[RosterRemark] = []
        self.signed_up: list[str] = []  # logins of lines that weren't imported
        self.taken_over: list[store.User] = []
        self._signed_up_ids = signed_up_ids
        self._take_over = {login.casefold() for login in take_over}
        self._before = {user.id: user for user in owners}
        self._current_ids = {
            user.id
            for user in owners
            if user.merged_into is None and not (user.withdrawn or user.waiting or user.staff)
        }
        self._lines: dict[int, int] = {}
        self._pseudonyms = {user.pseudonym.casefold() for user in owners}
        self._reserved = self._pseudonyms | {each.pseudonym.casefold() for each in people if each.pseudonym}
        self._key = key
        self._by_login = by_login

    def take(self, person: RosterEntry) -> None:
        """Import one entry. Raises ValueError if that isn't possible."""
        merged = self.directory.was_merged(person)
        user = self.directory.find(person) or self._make_user(person)
        name, line = escape_control(user.login), self._lines.get(user.id)
        if self._by_login and not self.directory.is_called(user, person.login):
            raise ValueError(f'the email "{escape_control(person.email or "")}" belongs to {name}')
        if user.id > 0 and person.staff not in (None, user.staff):
            remedy = f"for the other role, add a second login and withdraw {name}"
            raise ValueError(f"{name} is {'' if user.staff else 'not '}staff, and a roster can't change that; {remedy}")
        if line is not None and not merged:
            raise ValueError(f"the same user as in line {line}")
        if line is not None:
            self.remarks.append(RosterRemark(person.line, f"skipped: merged with {name} of line {line}"))
            return
        if user.id in self._signed_up_ids:
            if user.login.casefold() not in self._take_over:
                self.signed_up.append(user.login)
                raise ValueError(f"{name} {SIGNED_UP}")
            self.taken_over.append(user)
        if user.withdrawn:
            self.remarks.append(
                RosterRemark(person.line, f"{name} left the course; the import doesn't readmit the user")
            )
        self.wanted[user.id] = _fill_missing(user, person) if merged else _apply_entry(user, person)
        self._lines[user.id] = person.line
        self.directory.add(self.wanted[user.id])

    def take_all(self, wrong: Iterable[RosterRemark]) -> tuple[RosterRemark, ...]:
        """Take all entries; return those that can't be imported, and the `wrong` ones, by line."""
        left_out = list(wrong)
        for person in sorted(self._persons, key=self.directory.was_merged):
            try:
                self.take(person)
            except ValueError as error:
                left_out.append(RosterRemark(person.line, str(error)))
        return tuple(sorted(left_out, key=_line_number))

    def list_changes(self) -> tuple[UserChange, ...]:
        """Return the users to add or change, without those that stay as they are."""
        found = []
        for user in self.wanted.values():
            before = self._before.get(user.id)
            names = (*_IMPORTED_FIELDS, "staff")
            pairs = [(name, getattr(before, name) if before else None, getattr(user, name)) for name in names]
            fields = tuple((name, old or None, str(new)) for name, old, new in pairs if new and old != new)
            if fields:
                found.append(UserChange(user.login, before is None, fields))
        return tuple(found)

    def absent(self) -> int:
        """Return the number of current users without an entry."""
        return len(self._current_ids - set(self._lines))

    def _make_user(self, person: RosterEntry) -> store.User:
        """Return a new user, with a negative id until it is saved.

        Raises ValueError if the line has no login, or its pseudonym is taken.
        """
        same = self.directory.namesakes(person)
        if person.login is None:
            problem = "no user has this identifier, and the line has no login, email or student_id"
            if same:
                problem += f"; {escape_control(same[0])} has the same name, but a name alone doesn't identify a user"
            raise ValueError(problem)
        if person.pseudonym is not None and person.pseudonym.casefold() in self._pseudonyms:
            raise ValueError(f'the pseudonym "{escape_control(person.pseudonym)}" belongs to another user')
        if same:
            text = (
                f"{escape_control(person.login)} is new; {escape_control(same[0])} has the same name: merge them if "
                "they are one user"
            )
            self.remarks.append(RosterRemark(person.line, text))
        pseudonym = person.pseudonym or draw_pseudonym(self._key, person.login, self._reserved)
        self._pseudonyms.add(pseudonym.casefold())
        self._reserved.add(pseudonym.casefold())
        user = store.User(person.login, person.name or person.login, pseudonym, id=-person.line)
        self.directory.add(user)
        return user


def _line_number(remark: RosterRemark) -> int:
    return remark.line


def _apply_entry(user: store.User, person: RosterEntry) -> store.User:
    """Return a user with the given values of an entry; others stay."""
    values = {field: getattr(person, field) or getattr(user, field) for field in _IMPORTED_FIELDS}
    return replace(user, **values, staff=user.staff if person.staff is None else person.staff)


def _fill_missing(user: store.User, person: RosterEntry) -> store.User:
    """Return a user with values of an entry for a user that was merged into it, but only if its own are missing."""
    fields = ("email", "student_id", "section", "canvas_id")
    values = {field: getattr(user, field) or getattr(person, field) for field in fields}
    return replace(user, **values, moodle_id=person.moodle_id or user.moodle_id)


def _make_import_error(
    wrong: Sequence[RosterRemark], source: str | None, signed_up: Sequence[str]
) -> RosterImportError:
    """Return the error that lists the wrong lines, at most MAX_LISTED_REMARKS, and what to do. source: None for one
    user."""
    options = [f"--take-over {escape_control(login)}" for login in signed_up[:MAX_LISTED_REMARKS]]
    if source is None:
        remedy = " To take the account over, which ends all its sign-ins, import it in a roster." if signed_up else ""
        return RosterImportError(f"{wrong[0].text}.\nNothing was changed.{remedy}", options)
    lines = [f"line {each.line}: {each.text}" for each in wrong[:MAX_LISTED_REMARKS]]
    if len(wrong) == 1:
        lines = [f"{source}, {lines[0]}."]
    else:
        more = [f"and {len(wrong) - MAX_LISTED_REMARKS} more lines"] if len(wrong) > MAX_LISTED_REMARKS else []
        lines = [f"{source}: {len(wrong)} lines can't be imported.", *lines, *more]
    remedy = ", or take the accounts over, which ends all their sign-ins" if signed_up else ""
    lines.append(f"No line was imported. Correct the lines, or skip them{remedy}.")
    return RosterImportError("\n".join(lines), ["--partial", *options])
