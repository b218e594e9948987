"""Add, update, merge, suspend and withdraw users, and draw their pseudonyms.

Users are imported from a roster or added one by one. A pseudonym is two words, drawn with the ladder's key, for public
standings.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlalchemy import Connection

from arena.coup import derive_key
from arena.escaping import escape_control
from arena.referee import read_record, write_record
from ladder import store
from ladder.ladder import STAFF_USER, Ladder, get_user
from ladder.settings import LadderError
from ladder.users.roster import SIGNED_UP, TAKEN_OVER, Roster, RosterEntry, RosterRemark, UserMatcher, list_signed_up
from ladder.users.teams import leave_current_team

ADJECTIVES = """
Able Agile Amber Ample Ancient Azure Bold Brave Brief Bright Brisk Broad Bronze Calm Candid Careful Cheerful Civil
Clear Clever Cosy Crisp Curious Daring Deep Deft Distant Eager Early Easy Even Exact Fair Famous Fast Fine Firm
Fleet Fond Frank Free Fresh Gentle Giant Glad Golden Grand Great Green Happy Hardy Hidden Honest Humble Ideal Jolly
Keen Kind Light Little Lively Long Loud Loyal Lucky Mellow Merry Mighty Mild Modest Neat Nimble Noble Novel Olive
Patient Plain Polite Prompt Proud Pure Quick Quiet Rapid Rare Ready Royal Sage Scarlet Secret Serene Sharp Silent
Silver Sincere Smart Solid Steady Still Sunny Swift Tall Tidy Tranquil True Vivid Warm Wise
"""
ANIMALS = """
Adder Albatross Alpaca Antelope Badger Bat Bear Beaver Bee Beetle Bison Boar Bream Buffalo Camel Carp Cat Cheetah
Chough Cod Condor Coot Cormorant Crab Crane Cricket Crow Curlew Deer Dingo Dolphin Dove Dragonfly Duck Eagle Eel
Egret Elk Falcon Ferret Finch Fox Frog Gazelle Gecko Gibbon Goose Grouse Gull Hare Hawk Hedgehog Heron Hornet Horse
Ibex Ibis Jackal Jackdaw Jay Kestrel Kite Koala Lark Lemur Leopard Linnet Lion Lizard Llama Lobster Lynx Magpie
Marten Mole Moose Moth Mouse Newt Ocelot Octopus Osprey Otter Owl Panda Panther Parrot Pelican Penguin Perch Pike
Plover Pony Puffin Puma Quail Rabbit Raven Robin Salmon Seal Shrew Skylark Sparrow Squid Stoat Stork Swan Tapir Tern
Thrush Tiger Toad Trout Turtle Viper Vole Walrus Weasel Whale Wolf Wombat Wren Yak Zebra
"""
MAX_PAIRS_TRIED = 50  # that are tried before a number is added


def draw_pseudonym(key: bytes, login: str, taken: Collection[str]) -> str:
    """Return a pseudonym that isn't taken. Without the key it reveals nothing about the person.

    `taken` are pseudonyms in lower case.
    """
    adjectives, animals = ADJECTIVES.split(), ANIMALS.split()
    for attempt in count():
        number = int.from_bytes(derive_key(key, f"pseudonym|{attempt}|{login}"), "big")
        number, adjective = divmod(number, len(adjectives))
        number, animal = divmod(number, len(animals))
        more = f" {2 + number % 998}" if attempt >= MAX_PAIRS_TRIED else ""
        name = f"{adjectives[adjective]} {animals[animal]}{more}"
        if name.lower() not in taken:
            return name
    raise AssertionError("counting doesn't end")


def is_pseudonym(connection: Connection, name: str, own: Collection[int] = ()) -> bool:
    """Return whether a name is a user's pseudonym, except for the users with the ids `own`; "-" and "_" are spaces."""
    words = name.casefold().replace("-", " ").replace("_", " ").split()
    return any(user.pseudonym.casefold().split() == words for user in store.all_users(connection) if user.id not in own)


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
        owners = store.all_users(connection, merged=True)
        intake = _UserImporter(owners, persons, key, roster is None, list_signed_up(connection, owners), take_over)
        wrong = list(roster.wrong) if roster else []
        for person in sorted(persons, key=intake.directory.was_merged):
            try:
                intake.take(person)
            except ValueError as error:
                wrong.append(RosterRemark(person.line, str(error)))
        left_out = tuple(sorted(wrong, key=_line_number))
        if left_out and not partial:
            raise _make_import_error(left_out, source if roster else None, intake.signed_up)
        for user in intake.taken_over:
            for credential in store.all_credentials(connection, user.login):
                store.expire_credential(connection, credential.id)
            store.set_user_shows_name(connection, user.login, False, ladder.clock())
            why = f"{user.login}{TAKEN_OVER} {source}"
            leave_current_team(connection, user, actor, why, ladder.clock())
            store.log_action(connection, store.AuditEntry(actor, "import", why, ladder.clock(), user_id=user.id))
        added, changed = store.save_users(connection, intake.wanted.values(), ladder.clock())
        if added or changed:
            one = next(iter(intake.wanted.values())).login if len(persons) == 1 else None
            about = None if one is None else store.find_user(connection, one)
            out = f", {len(left_out)} left out" if left_out else ""
            why = f"{source}: {added} added, {changed} changed{out}"
            store.log_action(
                connection,
                store.AuditEntry(actor, "import", why, ladder.clock(), user_id=None if about is None else about.id),
            )
        remarks = tuple(sorted([*(roster.remarks if roster else ()), *intake.remarks], key=_line_number))
        signed_up = tuple(intake.signed_up)
        taken = UserImport(added, changed, intake.absent(), left_out, remarks, intake.list_changes(), signed_up)
        then(connection, taken)
        return taken

    return ladder.database.write(act)


class _PreviewError(Exception):
    """Rolls an import back. The argument is the UserImport."""


def preview_import(ladder: Ladder, people: Roster, source: str) -> UserImport:
    """Return what `import_users` would do with the valid lines of a roster, without any change. Raises LadderError."""

    def end(connection: Connection, taken: UserImport) -> None:
        raise _PreviewError(taken)

    try:
        return import_users(ladder, people, STAFF_USER.login, source, end, partial=True)
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
            raise ValueError(f"{name} is {'' if user.staff else 'not '}staff, and a roster can't change that")
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
        """Return a new user, with a negative id until it is saved. Raises ValueError."""
        same = self.directory.namesakes(person)
        if person.login is None:
            like = (
                f"; {escape_control(same[0])} has the same name, but a name alone doesn't identify a user"
                if same
                else ""
            )
            raise ValueError(f"no user has this identifier, and the line has no login, email or student_id{like}")
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


def _make_import_error(wrong: Sequence[RosterRemark], source: str | None, signed_up: Sequence[str]) -> LadderError:
    options = " ".join(f"--take-over {escape_control(login)}" for login in signed_up[:MAX_LISTED_REMARKS])
    remedy = f" To take accounts over, which ends all their sign-ins: {options}" if signed_up else ""
    if source is None:
        other = ", or import a roster on the page Users" if signed_up else ""
        return LadderError(f"{wrong[0].text}.\nNothing was changed.{remedy}{other}")
    lines = [f"line {each.line}: {each.text}" for each in wrong[:MAX_LISTED_REMARKS]]
    if len(wrong) == 1:
        lines = [f"{source}, {lines[0]}."]
    else:
        more = [f"and {len(wrong) - MAX_LISTED_REMARKS} more lines"] if len(wrong) > MAX_LISTED_REMARKS else []
        lines = [f"{source}: {len(wrong)} lines can't be imported.", *lines, *more]
    lines.append(f"No line was imported. Correct the lines, or skip them: --partial{'.' if remedy else ''}{remedy}")
    return LadderError("\n".join(lines))


def merge_users(ladder: Ladder, old: str, new: str, actor: str, reason: str) -> bool:
    """Merge user `old` into `new`; return False if they are merged already.

    Bots, challenges, tables, chat lines, extensions and team memberships move to `new`; results stay. Waiting rated
    matches between bots of both are cancelled. The old login then means `new` in commands, rosters and at a provider;
    its links, sessions, tokens and password are revoked.

    Raises LadderError for an unknown login, the login "staff", equal logins, or if only one of both is staff, if only
    one is suspended, if only `new` is withdrawn, or if only `new` was made by a sign-up link.
    """

    def act(connection: Connection) -> bool:
        into = get_participant(connection, new)
        merged = next((each for each in store.all_users(connection, merged=True) if each.login == old), None)
        if merged is not None and merged.merged_into is not None:
            if merged.merged_into == into.id:
                return False
            became = get_participant(connection, old)
            raise LadderError(
                f"{escape_control(old)} is already merged into {escape_control(became.login)}.\nMerge "
                f"{escape_control(became.login)} instead."
            )
        before = get_participant(connection, old)
        _check(before, into, list_signed_up(connection, [before, into]))
        now = ladder.clock()
        store.log_action(
            connection,
            store.AuditEntry(actor, "merge", f"{before.login} is {into.login}: {reason}", now, user_id=into.id),
        )
        store.leave_team(connection, before.id, now)  # the remaining user keeps their own
        store.merge_user_rows(connection, before, into, now)
        store.cancel_unplayable(connection, now)
        return True

    return ladder.database.write(act)


def _check(old: store.User, new: store.User, signed_up: Collection[int]) -> None:
    """Raise LadderError for two users that can't be merged unless another decision is made first.

    signed_up: the ids of those that made their accounts by a sign-up link. Such an account keeps its sign-ins if it
    remains, so it can't get what belongs to an account of a roster.
    """
    names = f"{escape_control(old.login)} and {escape_control(new.login)}"
    if old.id == new.id:
        raise LadderError(f"{names} are the same user.\nName the login to merge, then the login that stays.")
    if old.staff != new.staff:
        raise LadderError(f"one of {names} is staff.\nStaff can only be merged with staff.")
    if old.suspended != new.suspended:
        raise LadderError(f"one of {names} is suspended.\nSuspend both or neither first: arena ladder suspend")
    if new.id in signed_up and old.id not in signed_up:
        raise LadderError(f"{escape_control(new.login)} {SIGNED_UP}.\nMerge it into {escape_control(old.login)}.")
    if new.withdrawn and not old.withdrawn:
        raise LadderError(
            f"{escape_control(new.login)} left the course.\nReadmit the user first: arena ladder users withdraw --undo"
        )


def set_suspended(ladder: Ladder, login: str, suspended: bool, actor: str, reason: str) -> bool:
    """Suspend a user, or undo it; return False if this applies already.

    Bots of a suspended user don't play, submissions are rejected, and nothing counts for grades. Queued matches with
    them are cancelled, except in finals, where results of others depend on them. Raises LadderError for an unknown
    login and for the login "staff".
    """

    def act(connection: Connection) -> bool:
        user = get_participant(connection, login)
        if user.suspended == suspended:
            return False
        now = ladder.clock()
        store.log_action(
            connection, store.AuditEntry(actor, "suspend" if suspended else "unsuspend", reason, now, user_id=user.id)
        )
        store.set_user_suspended(connection, user.id, suspended)
        if suspended:
            _stop_versions(connection, user, "its owner is suspended", now)
        return True

    return ladder.database.write(act)


def set_withdrawn(ladder: Ladder, login: str, gone: bool, actor: str, reason: str) -> bool:
    """Withdraw a user from the course, or reinstate the user; return False if this applies already.

    The effect is that of a suspension; in addition, the user isn't in grades. Raises LadderError as `set_suspended`.
    """

    def act(connection: Connection) -> bool:
        user = get_participant(connection, login)
        if user.withdrawn == gone:
            return False
        if store.list_audit_entries(connection, user_id=user.id, actions=("erase",)):
            raise LadderError(f"the data of {escape_control(login)} was erased.\nAdd a new user.")
        now = ladder.clock()
        store.log_action(
            connection, store.AuditEntry(actor, "leave" if gone else "return", reason, now, user_id=user.id)
        )
        store.set_user_withdrawn(connection, user.id, gone)
        if gone:
            _stop_versions(connection, user, "its owner left the course", now)
        return True

    return ladder.database.write(act)


class UnfinishedTasksError(LadderError):
    """A user can't be erased yet: a check or a match needs the files of the user's bots."""


_LATER = "; the data can be erased when its matches have ended and its finals are revealed"


def erase_user(ladder: Ladder, login: str, actor: str, reason: str, later: bool = False) -> str:
    """Withdraw a user and erase the personal data for good; return the login that replaces the old one.

    Results stay under the pseudonym. Raises LadderError as `set_withdrawn` and for staff, and UnfinishedTasksError
    unless `later`: then the user is only withdrawn until `list_erasable` returns it, and keeps the login.
    """

    def act(connection: Connection) -> str:
        user, now = get_participant(connection, login), ladder.clock()
        if user.staff:
            raise LadderError(f"{escape_control(login)} is staff.\nOnly data of users who are no staff can be erased.")
        store.set_user_withdrawn(connection, user.id, True)
        _stop_versions(connection, user, "its owner left the course", now)
        if store.has_unfinished_tasks(connection, user.id):
            if later:
                store.log_action(connection, store.AuditEntry(actor, "leave", reason + _LATER, now, user_id=user.id))
                return user.login
            raise UnfinishedTasksError(
                f"a bot of {escape_control(login)} is being checked, or plays, perhaps at a table or in a final that "
                "isn't revealed.\n"
                "Nothing was erased. Withdraw the user now, and erase the data when this has ended."
            )
        erased = store.erase_user_rows(connection, user.id, now, _rename_player)
        for action in ("leave", "erase"):
            store.log_action(connection, store.AuditEntry(actor, action, reason, now, user_id=user.id))
        return erased

    return ladder.database.write(act)


def list_erasable(connection: Connection) -> list[str]:
    """Return the logins of withdrawn users whose data was to be erased later, and can be erased now."""
    reasons = {
        entry.user_id: entry.reason for entry in store.list_audit_entries(connection, actions=("leave", "erase"))
    }
    return [
        user.login
        for user in store.all_users(connection)
        if user.withdrawn
        and reasons.get(user.id, "").endswith(_LATER)
        and not store.has_unfinished_tasks(connection, user.id)
    ]


def _rename_player(text: str, player: int, name: str) -> str:
    """Return a record's text with another name of a player. With open names, the handle is the name, too."""
    record = read_record(text)
    header = record.header
    bots = (*header.bots[:player], name, *header.bots[player + 1 :])
    handles = bots if header.settings.open_names else header.handles
    return write_record(replace(record, header=replace(header, bots=bots, handles=handles)))


def get_participant(connection: Connection, login: str) -> store.User:
    """Return the user of a login. Raises LadderError, also for the login "staff"."""
    user = get_user(connection, login)
    if user.login == STAFF_USER.login:
        raise LadderError(
            "staff owns the reference bots, and can't be suspended or withdrawn.\n"
            "Disable a bot instead: arena ladder disable"
        )
    return user


def _stop_versions(connection: Connection, user: store.User, reason: str, now: float) -> None:
    """Cancel the queued matches of an owner's bots, except in finals."""
    for bot in store.all_bots(connection):
        for version in store.versions_of(connection, bot.id) if bot.owner_id == user.id else ():
            store.cancel_queued_matches(connection, reason, now, version.id, (store.RATED, store.CHALLENGE))
