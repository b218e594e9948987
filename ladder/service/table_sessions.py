"""Open and close table sessions for people and remote programs, and assign their slots.

A person's slot belongs to the first user that opens its link: from then on to that session's user, or to a guest with
a secret of their own. So the creator of the link can't see the player's cards. A program's slot belongs to the holder
of its token, or to the account that the slot names."""

import secrets
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen
from sqlalchemy import Connection

from arena.bots import escape_control, normal_name
from arena.coup import PRESETS, Ruleset
from ladder.permissions import Viewer
from ladder.service.accounts import hash_secret
from ladder.service.chat import limit_chat_mode
from ladder.service.ladder import Ladder, get_accepted_version, get_acting_user
from ladder.service.settings import ChatMode, LadderError
from ladder.store.database import (
    ACCEPTED,
    BOT,
    CLOSED,
    PERSON,
    PROGRAM,
    RunnerRecord,
    SessionSlot,
    TableSession,
    Version,
    count_open_sessions,
    disabled_versions,
    end_session,
    find_session,
    find_session_opened_at,
    find_user,
    get_version_by_id,
    insert_session,
    is_frozen,
    is_port_on_this_machine,
    list_live_runners,
    sessions_of_server,
    set_slot_secret,
    take_slot,
)

_NO_SEAT = "This link was used or replaced, or its table is closed: ask for another one."
FROZEN_REASON = "the ladder is frozen"


@dataclass(frozen=True, slots=True)
class OpenTableRequest:
    """A request to open a table.

    rules: a preset, None for the ladder's own. move_time_s: the time per move of people, None without a clock. bots:
    names or version refs. me: whether the opener has a slot. program: the name of the opener's own program, if it has a
    slot. people, programs: slots for others. allow_spectators: whether other viewers may watch.
    chat: when people may chat, at most as ladder.toml allows.
    """

    rules: str | None = None
    games: Annotated[int, Ge(1), Le(20)] = 1
    move_time_s: Annotated[int, Ge(5), Le(600)] | None = None
    bots: Annotated[tuple[str, ...], MaxLen(10)] = ()
    people: Annotated[int, Ge(0), Le(10)] = 0
    programs: Annotated[int, Ge(0), Le(10)] = 0
    me: bool = False
    program: str | None = None
    allow_spectators: bool = True
    chat: ChatMode = ChatMode.OFF


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new table session. secrets: of its slots, by number; they are shown only once."""

    session: TableSession
    secrets: dict[int, str]


@dataclass(frozen=True, slots=True)
class TableAccess:
    """A client's access to a table: the number of its slot, or None for a spectator."""

    session: TableSession
    slot: int | None


def get_rules(ladder: Ladder, name: str | None) -> Ruleset:
    """Return the ladder's own rules for None, else those of a preset. Raises LadderError."""
    own = ladder.play.settings.rules
    if name in (None, own.name):
        return own
    if name not in PRESETS:
        raise LadderError(
            f'the preset "{escape_control(name or "")}" doesn\'t exist.\nThe presets are {", ".join(PRESETS)}.'
        )
    return PRESETS[name]


def open_session(ladder: Ladder, wanted: OpenTableRequest, login: str) -> OpenedSession:
    """Open a table. Raises LadderError for an invalid request, an exceeded quota or a frozen ladder."""
    now, most = ladder.clock(), ladder.settings.tables
    rules = get_rules(ladder, wanted.rules)
    own = [PERSON] * wanted.me + [PROGRAM] * (wanted.program is not None)
    kinds = [BOT] * len(wanted.bots) + own + [PERSON] * wanted.people + [PROGRAM] * wanted.programs
    if PERSON not in kinds and PROGRAM not in kinds:
        raise LadderError("the table would have only bots.\nAdd a player or a remote bot.")
    problem = rules.problem(len(kinds))
    if problem:
        raise LadderError(problem)
    try:
        program = None if wanted.program is None else normal_name(wanted.program)
    except ValueError as error:
        raise LadderError(f"{error}.\nGive the remote bot another name.") from None
    first = len(wanted.bots) + len(own)
    drawn = {slot: secrets.token_urlsafe(24) for slot in range(first, len(kinds))}

    def act(connection: Connection) -> TableSession:
        owner = get_acting_user(connection, login)
        known = find_session_opened_at(connection, owner.id, now)
        if known is not None:  # the second call of a function whose commit had no answer
            return get_session(connection, known)
        bots = [get_accepted_version(connection, name) for name in wanted.bots]
        if is_frozen(connection):
            raise LadderError(f"{FROZEN_REASON}, so no table can be opened.\nAsk the staff.")
        for version in bots:
            if not _may_play(connection, version):
                raise LadderError(
                    f"{escape_control(version.version_ref)} is suspended or not accepted.\nName another bot."
                )
        counts = count_open_sessions(connection)
        if counts.get(login, 0) >= most.max_per_user and not owner.staff:
            raise LadderError(f"you have {counts[login]} open tables, and no more are allowed.\nClose one first.")
        if sum(counts.values()) >= most.max_total:
            raise LadderError(f"{most.max_total} tables are open, and no more are allowed.\nTry again later.")
        slots = [SessionSlot(BOT, version.id) for version in bots]
        names = {PERSON: owner.pseudonym, PROGRAM: program}
        slots += [SessionSlot(kind, login=login, name=names[kind]) for kind in own]
        programs = 0
        for slot, secret in drawn.items():
            programs += kinds[slot] == PROGRAM
            called = f"program {programs}" if kinds[slot] == PROGRAM else None
            slots.append(SessionSlot(kinds[slot], name=called, token_sha256=hash_secret(secret)))
        id = insert_session(
            connection,
            owner,
            now,
            rules.name,
            wanted.games,
            wanted.move_time_s,
            wanted.allow_spectators,
            slots,
            limit_chat_mode(wanted.chat, most.chat),
        )
        return get_session(connection, id)

    return OpenedSession(ladder.database.write(act), drawn)


def get_session(connection: Connection, id: int) -> TableSession:
    """Return a table session. Raises LadderError."""
    session = find_session(connection, id)
    if session is None:
        raise LadderError(f"the ladder has no table {id}.\nSee the list of tables.")
    return session


def unplayable_reason(connection: Connection, session: TableSession) -> str | None:
    """Return the reason why no match can start at a table, such as a suspended player; None if one can."""
    if is_frozen(connection):
        return FROZEN_REASON
    for slot in session.slots:
        if slot.version is not None and not _may_play(connection, get_version_by_id(connection, slot.version)):
            return "one of its bots is suspended or disabled"
    for login in {session.login, *(slot.login for slot in session.slots if slot.login)}:
        owner = find_user(connection, login)
        if owner is not None and (owner.suspended or owner.withdrawn):
            return f"a player, or its opener, {'is suspended' if owner.suspended else 'left the course'}"
    return None


def find_table_access(ladder: Ladder, id: int, viewer: Viewer, secret: str | None) -> TableAccess | None:
    """Return a user's access to a table, by account or a guest's secret; None if there is no such table.

    For a spectator, the caller checks whether spectators are allowed.
    """
    digest = None if secret is None else hash_secret(secret)
    return _seat(ladder, id, PERSON, viewer.login if viewer.can_write else None, digest)


def find_program_access(ladder: Ladder, id: int, viewer: Viewer, token: str) -> TableAccess | None:
    """Return a program's access, by the slot's token or its account's token; None for any other token."""
    access = _seat(ladder, id, PROGRAM, viewer.login if viewer.can_write else None, hash_secret(token))
    return None if access is None or access.slot is None else access


def _seat(ladder: Ladder, id: int, kind: str, login: str | None, digest: str | None) -> TableAccess | None:
    session = ladder.database.read_with_retry(lambda connection: find_session(connection, id))
    if session is None:
        return None
    for by_secret in (True, False):
        for number, slot in enumerate(session.slots):
            if slot.kind == kind and slot.name is not None:
                if by_secret and digest is not None and slot.token_sha256 == digest:
                    return TableAccess(session, number)
                if not by_secret and login is not None and slot.login == login:
                    return TableAccess(session, number)
    return TableAccess(session, None)


def find_table_server(ladder: Ladder, session: TableSession) -> RunnerRecord | None:
    """Return this machine's table server that plays a table, else the one with the fewest tables; None without one."""

    def read(connection: Connection) -> RunnerRecord | None:
        runners = [each for each in list_live_runners(connection, table_servers=True) if is_port_on_this_machine(each)]
        if session.table_server is not None:
            return next((runner for runner in runners if runner.id == session.table_server), None)
        return min(runners, key=lambda runner: len(sessions_of_server(connection, runner.id)), default=None)

    return ladder.database.read_with_retry(read)


def join_table(ladder: Ladder, id: int, link: str, login: str | None, name: str = "") -> str | None:
    """Assign the slot of a link to a user or guest; return a guest's new secret, None for a user.

    A guest who opens the link again and sends the secret keeps the slot. Raises LadderError.
    """
    secret, now = secrets.token_urlsafe(24), ladder.clock()
    guests = ladder.settings.tables.allow_guests

    def act(connection: Connection) -> str | None:
        session = get_session(connection, id)
        taken = {slot.token_sha256: slot for slot in session.slots if slot.kind == PERSON and slot.token_sha256}
        if login is not None and any(slot.kind == PERSON and slot.login == login for slot in session.slots):
            return None
        if hash_secret(secret) in taken:
            return secret  # the second call of a function whose commit had no answer
        slot = taken.get(hash_secret(link))
        if slot is None:
            raise LadderError(_NO_SEAT)
        if slot.name is not None:
            return link
        number = session.slots.index(slot)
        if login is not None:
            owner = get_acting_user(connection, login)
            take_slot(connection, id, number, owner.id, owner.pseudonym, None, now)
            return None
        if not guests:
            raise LadderError("this ladder allows no guests.\nSign in first, and open the link again.")
        try:
            called = f"{normal_name(name)} (guest)"
        except ValueError as error:
            raise LadderError(f"{error}.\nChoose another name.") from None
        if any(other.name == called for other in session.slots):
            raise LadderError("that name is already used at this table.\nChoose another name.")
        take_slot(connection, id, number, None, called, hash_secret(secret), now)
        return secret

    return ladder.database.write(act)


def renew_slot_secret(ladder: Ladder, id: int, slot: int, viewer: Viewer) -> str:
    """Replace the link or the token of a slot; the old one is revoked. Raises LadderError."""
    secret = secrets.token_urlsafe(24)

    def act(connection: Connection) -> None:
        session = _kept(connection, id, viewer)
        free = 0 <= slot < len(session.slots) and _by_secret(session.slots[slot])
        if session.status == CLOSED or not free:
            raise LadderError(f"slot {slot} of table {id} has no invitation link.\nSee the page of the table.")
        set_slot_secret(connection, id, slot, hash_secret(secret))

    ladder.database.write(act)
    return secret


def _by_secret(slot: SessionSlot) -> bool:
    """Return whether a slot is opened by a secret and not taken by a person yet."""
    return (slot.kind == PROGRAM and slot.login is None) or (slot.kind == PERSON and slot.name is None)


def close_session(ladder: Ladder, id: int, viewer: Viewer) -> bool:
    """End a table, as its opener or staff; return False if it has already ended. Raises LadderError."""
    now = ladder.clock()

    def act(connection: Connection) -> bool:
        session = _kept(connection, id, viewer)
        by = "its opener" if viewer.login == session.login else "the staff"
        return end_session(connection, id, f"closed by {by}", now)

    return ladder.database.write(act)


def _kept(connection: Connection, id: int, viewer: Viewer) -> TableSession:
    session = get_session(connection, id)
    if not viewer.can("table:close", session.login):
        raise LadderError(f"you didn't open table {id}.\nAsk the user that opened it, or the staff.")
    return session


def _may_play(connection: Connection, version: Version) -> bool:
    return version.status == ACCEPTED and not version.is_locked_out and version.id not in disabled_versions(connection)
