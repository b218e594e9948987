"""Add and update users, from a roster or one by one."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.ladder import Ladder
from ladder.settings import LadderError
from ladder.users.pseudonyms import draw_pseudonym, fold_name
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


def import_users(
    ladder: Ladder,
    people: Roster | RosterEntry,
    actor: str,
    source: str,
    *,
    partial: bool = False,
    take_over: Collection[str] = (),
    dry_run: bool = False,
) -> UserImport:
    """Add users, and update known ones with the given values; these keep their logins and pseudonyms.

    people: a roster, or the entry of one user, which must match the user by login. source: its name, for the audit log.
    partial: whether entries that can't be imported are skipped. take_over: logins of accounts made by a sign-up link
    that may be imported; each loses its credentials, its team, and the agreement to show its name. dry_run: whether
    nothing is changed.

    An entry can't be imported if its line is invalid, its user is ambiguous, its pseudonym is taken, a known user's
    staff status would change, or its user made the account and isn't in `take_over`. Raises LadderError, which lists
    these entries, unless `partial`; then nothing has changed. For a merged user, a roster only fills in missing values.
    """
    is_roster = isinstance(people, Roster)
    roster = people if isinstance(people, Roster) else Roster((people,))
    key = ladder.pseudonym_key()

    def import_all(connection: Connection) -> UserImport:
        users = store.all_users(connection, merged=True)
        importer = _UserImporter(users, roster.people, key, not is_roster, list_signed_up(connection, users), take_over)
        skipped = importer.match_all(roster.wrong)
        if skipped and not partial:
            raise _make_import_error(skipped, source if is_roster else None, importer.signed_up)
        _empty_taken_over(connection, importer.taken_over, actor, source, ladder.clock())
        added, changed = store.save_users(connection, importer.wanted.values(), ladder.clock())
        result = importer.summarize(added, changed, skipped, roster.remarks)
        if added or changed:
            _log_import(connection, result, importer.only_login, actor, source, ladder.clock())
        if dry_run:
            raise _DryRunError(result)
        return result

    try:
        return ladder.database.write(import_all)
    except _DryRunError as end:
        return end.result


class _DryRunError(Exception):
    """Roll an import back."""

    def __init__(self, result: UserImport) -> None:
        super().__init__()
        self.result = result


def _log_import(
    connection: Connection, result: UserImport, only_login: str | None, actor: str, source: str, now: float
) -> None:
    """Log an import with its numbers. only_login: as of `_UserImporter`."""
    reason = f"{source}: {result.added} added, {result.changed} changed"
    if result.skipped:
        reason += f", {len(result.skipped)} left out"
    only_user = None if only_login is None else store.find_user(connection, only_login)
    user_id = None if only_user is None else only_user.id
    store.log_action(connection, store.AuditEntry(actor, "import", reason, now, user_id=user_id))


def _empty_taken_over(connection: Connection, users: Iterable[store.User], actor: str, source: str, now: float) -> None:
    """Revoke the credentials of accounts that users made themselves, their consents and teams, and log it.

    These must not pass to the people of the roster.
    """
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


class _UserImporter:
    """Matches entries with users, one by one, and collects the users to save and remarks on lines.

    wanted: the users to save, by id. signed_up: logins of accounts that users made themselves and that block their
    lines. taken_over: such accounts that are imported.
    """

    def __init__(
        self,
        users: Sequence[store.User],
        people: Sequence[RosterEntry],
        key: bytes,
        by_login: bool,
        signed_up_ids: Collection[int],
        take_over: Collection[str],
    ) -> None:
        """Begin with these users and the entries to match.

        key: of the pseudonyms to draw. by_login: whether each entry must match its user by the login. signed_up_ids: of
        the users that made their accounts themselves. take_over: the logins of those that may be imported.
        """
        self.wanted: dict[int, store.User] = {}
        self.remarks: list[RosterRemark] = []
        self.signed_up: list[str] = []
        self.taken_over: list[store.User] = []
        self._people = people
        self._matcher = UserMatcher(users)
        self._signed_up_ids = signed_up_ids
        self._take_over = {login.casefold() for login in take_over}
        self._old_users = {user.id: user for user in users}
        self._current_ids = {
            user.id for user in users if user.merged_into is None and not (user.withdrawn or user.waiting or user.staff)
        }
        self._lines: dict[int, int] = {}  # of the imported entries, by user id
        self._pseudonyms = {fold_name(user.pseudonym) for user in users}
        self._reserved = self._pseudonyms | {fold_name(person.pseudonym) for person in people if person.pseudonym}
        self._key = key
        self._by_login = by_login

    @property
    def only_login(self) -> str | None:
        """The login of the user to save if there is one entry; None if there are more, or it can't be imported."""
        return next((user.login for user in self.wanted.values() if len(self._people) == 1), None)

    def match_all(self, wrong: Iterable[RosterRemark]) -> tuple[RosterRemark, ...]:
        """Match all entries; return those that can't be imported, and the `wrong` ones, by line."""
        skipped = list(wrong)
        for person in sorted(self._people, key=self._matcher.was_merged):
            try:
                self._match(person)
            except ValueError as error:
                skipped.append(RosterRemark(person.line, str(error)))
        return tuple(sorted(skipped, key=_get_line))

    def _match(self, person: RosterEntry) -> None:
        """Add the user of an entry to `wanted`, unless the user was merged and an earlier line named the remaining one.

        Raises ValueError if the entry can't be imported.
        """
        is_merged = self._matcher.was_merged(person)
        user = self._matcher.find(person) or self._make_user(person)
        self._require_matching(person, user)
        login, line = escape_control(user.login), self._lines.get(user.id)
        if line is not None and not is_merged:
            raise ValueError(f"the same user as in line {line}")
        if line is not None:
            self.remarks.append(RosterRemark(person.line, f"skipped: merged with {login} of line {line}"))
            return
        if user.id in self._signed_up_ids:
            self._take_over_account(user)
        if user.withdrawn:
            text = f"{login} left the course; the import doesn't readmit the user"
            self.remarks.append(RosterRemark(person.line, text))
        self.wanted[user.id] = _fill_missing(user, person) if is_merged else _apply_entry(user, person)
        self._lines[user.id] = person.line
        self._matcher.add(self.wanted[user.id])

    def _require_matching(self, person: RosterEntry, user: store.User) -> None:
        """Raise ValueError if an entry must name its user's login and doesn't, or would change the staff status."""
        login = escape_control(user.login)
        if self._by_login and not self._matcher.has_login(user, person.login):
            raise ValueError(f'the email "{escape_control(person.email or "")}" belongs to {login}')
        if user.id > 0 and person.staff not in (None, user.staff):
            status = "staff" if user.staff else "not staff"
            remedy = f"for the other role, add a second login and withdraw {login}"
            raise ValueError(f"{login} is {status}, and a roster can't change that; {remedy}")

    def _take_over_account(self, user: store.User) -> None:
        """Take over an account that its user made, if the import may. Raises ValueError if it may not."""
        if user.login.casefold() not in self._take_over:
            self.signed_up.append(user.login)
            raise ValueError(f"{escape_control(user.login)} {SIGNED_UP}")
        self.taken_over.append(user)

    def summarize(
        self, added: int, changed: int, skipped: tuple[RosterRemark, ...], remarks: Iterable[RosterRemark]
    ) -> UserImport:
        """Return the import with its numbers of added and changed users. remarks: those of the roster."""
        return UserImport(
            added=added,
            changed=changed,
            absent=len(self._current_ids - set(self._lines)),
            skipped=skipped,
            remarks=tuple(sorted([*remarks, *self.remarks], key=_get_line)),
            changes=self._list_changes(),
            signed_up=tuple(self.signed_up),
        )

    def _list_changes(self) -> tuple[UserChange, ...]:
        """Return the users to add or change, without those that stay as they are."""
        changes = []
        for user in self.wanted.values():
            old_user = self._old_users.get(user.id)
            fields = tuple(_list_changed_fields(old_user, user))
            if fields:
                changes.append(UserChange(user.login, old_user is None, fields))
        return tuple(changes)

    def _make_user(self, person: RosterEntry) -> store.User:
        """Return a new user, with a negative id until it is saved, and remark on a known user of the same name.

        The user gets the pseudonym of the entry, or a drawn one. Raises ValueError if the line has no login, or its
        pseudonym is taken.
        """
        namesakes = self._matcher.list_namesakes(person)
        namesake = escape_control(namesakes[0]) if namesakes else None
        if person.login is None:
            problem = "no user has this identifier, and the line has no login, email or student_id"
            if namesake is not None:
                problem += f"; {namesake} has the same name, but a name alone doesn't identify a user"
            raise ValueError(problem)
        if person.pseudonym is not None and fold_name(person.pseudonym) in self._pseudonyms:
            raise ValueError(f'the pseudonym "{escape_control(person.pseudonym)}" belongs to another user')
        if namesake is not None:
            login = escape_control(person.login)
            text = f"{login} is new; {namesake} has the same name: merge them if they are one user"
            self.remarks.append(RosterRemark(person.line, text))
        pseudonym = person.pseudonym or draw_pseudonym(self._key, person.login, self._reserved)
        self._pseudonyms.add(fold_name(pseudonym))
        self._reserved.add(fold_name(pseudonym))
        user = store.User(person.login, person.name or person.login, pseudonym, id=-person.line)
        self._matcher.add(user)
        return user


def _get_line(remark: RosterRemark) -> int:
    return remark.line


def _list_changed_fields(old_user: store.User | None, user: store.User) -> Iterator[tuple[str, str | None, str]]:
    """Yield (field, old value, new value) of each imported field that has another value now."""
    for field in (*_IMPORTED_FIELDS, "staff"):
        old = None if old_user is None else getattr(old_user, field)
        new = getattr(user, field)
        if new and old != new:
            yield field, old or None, str(new)


def _apply_entry(user: store.User, person: RosterEntry) -> store.User:
    """Return a user with the given values of an entry; others stay."""
    values = {field: getattr(person, field) or getattr(user, field) for field in _IMPORTED_FIELDS}
    return replace(user, **values, staff=user.staff if person.staff is None else person.staff)


def _fill_missing(user: store.User, person: RosterEntry) -> store.User:
    """Return a user with values of an entry for a user that was merged into it, but only if its own are missing.

    The entry's moodle_id replaces the user's own: each worksheet of Moodle has others.
    """
    fields = ("email", "student_id", "section", "canvas_id")
    values = {field: getattr(user, field) or getattr(person, field) for field in fields}
    return replace(user, **values, moodle_id=person.moodle_id or user.moodle_id)


def _make_import_error(
    wrong: Sequence[RosterRemark], source: str | None, signed_up: Sequence[str]
) -> RosterImportError:
    """Return the error that lists the wrong lines, at most MAX_LISTED_REMARKS, and what to do.

    source: the name of the roster, None for one user.
    """
    options = [f"--take-over {escape_control(login)}" for login in signed_up[:MAX_LISTED_REMARKS]]
    if source is None:
        hint = " To take the account over, which ends all its sign-ins, import it in a roster." if signed_up else ""
        return RosterImportError(f"{wrong[0].text}.\nNothing was changed.{hint}", options)
    problems = [f"line {remark.line}: {remark.text}" for remark in wrong[:MAX_LISTED_REMARKS]]
    if len(wrong) > MAX_LISTED_REMARKS:
        problems.append(f"and {len(wrong) - MAX_LISTED_REMARKS} more lines")
    if len(wrong) == 1:
        cause = f"{source}, {problems[0]}."
    else:
        cause = "\n".join([f"{source}: {len(wrong)} lines can't be imported.", *problems])
    alternative = ", or take the accounts over, which ends all their sign-ins" if signed_up else ""
    remedy = f"No line was imported. Correct the lines, or skip them{alternative}."
    return RosterImportError(f"{cause}\n{remedy}", ["--partial", *options])
