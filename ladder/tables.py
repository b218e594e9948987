"""Open and close table sessions for people and remote programs, and assign their slots.

One invitation link leads to the first free slot of a table; a public table needs no link. A person's slot belongs to a
user, or to a guest with a secret of their own. So the opener can't see the player's cards. A program's slot belongs to
the holder of its token, or to the account that the slot names. Slots change only between matches."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Le, MaxLen
from sqlalchemy import Connection

from arena.bots import normal_name
from arena.coup import ABOUT, PRESETS, Ruleset, seat_counts
from arena.escaping import escape_control
from arena.formatting import format_count
from ladder import store
from ladder.bot_pages import list_bots
from ladder.chat import limit_chat_mode
from ladder.ladder import STAFF_USER, Ladder, get_accepted_version, get_acting_user, get_version, transaction
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.settings import ChatMode, LadderError, UserTableSettings
from ladder.standings import view_standings
from ladder.users import fold_name, hash_secret, is_pseudonym

_WRONG_LINK = "this table can only be joined by its invitation link.\nAsk the user that opened it."
_USUAL_SEATS = 4  # of a table whose opener hasn't chosen a number
_INVITED_MOVE_S = 60  # for a move at a table to which a player invites: an absent player doesn't hold up the others
FROZEN_REASON = "the ladder is frozen"


@dataclass(frozen=True, slots=True)
class OpenTableRequest:
    """A request to open a table.

    rules: a preset, None for the ladder's own. games: of the match. move_time_s: a user's seconds for each move, None
    without a clock. bots: names or version refs. user_seats: seats for other users. program_seats: seats for their
    remote bots. has_own_seat: whether the opener plays. program: the name of the opener's remote bot, None without one.
    allow_spectators: whether other viewers may watch. chat: when players may chat, at most as ladder.toml allows.
    is_public: whether others may join without the invitation link. starts_itself: whether the match begins once all
    seats are taken; otherwise the opener starts it.
    """

    rules: str | None = None
    games: Annotated[int, Ge(1), Le(20)] = 1
    move_time_s: Annotated[int, Ge(5), Le(600)] | None = None
    bots: Annotated[tuple[str, ...], MaxLen(10)] = ()
    user_seats: Annotated[int, Ge(0), Le(10)] = 0
    program_seats: Annotated[int, Ge(0), Le(10)] = 0
    has_own_seat: bool = False
    program: str | None = None
    allow_spectators: bool = True
    chat: ChatMode = ChatMode.OFF
    is_public: bool = False
    starts_itself: bool = True


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new table session. secrets: the tokens of programs' slots, by number; they are shown only once."""

    session: store.TableSession
    secrets: dict[int, str]


@dataclass(frozen=True, slots=True)
class TableAccess:
    """A client's access to a table: the number of its slot, or None for a spectator."""

    session: store.TableSession
    slot: int | None


class NoFreeSeatError(LadderError):
    """All seats of a table are taken, or it has ended."""


def get_rules(ladder: Ladder, name: str | None) -> Ruleset:
    """Return the ladder's own rules for None, else those of a preset.

    Raises LadderError if the preset doesn't exist.
    """
    ladder_rules = ladder.play.settings.rules
    if name in (None, ladder_rules.name):
        return ladder_rules
    if name not in PRESETS:
        raise LadderError(
            f'the preset "{escape_control(name or "")}" doesn\'t exist.\nThe presets are {", ".join(PRESETS)}.'
        )
    return PRESETS[name]


@dataclass(frozen=True, slots=True)
class OfferedRuleset:
    """A ruleset for tables: its name, a phrase about it, and the largest number of players."""

    name: str
    about: str
    max_seats: int


def list_rulesets(ladder: Ladder) -> list[OfferedRuleset]:
    """Return the rulesets that tables may have: the ladder's own, then the other presets."""
    ladder_rules = ladder.play.settings.rules
    rulesets = [ladder_rules, *(rules for rules in PRESETS.values() if rules.name != ladder_rules.name)]
    return [
        OfferedRuleset(rules.name, ABOUT.get(rules.name, "rules of this ladder"), rules.max_seats) for rules in rulesets
    ]


def open_session(ladder: Ladder, request: OpenTableRequest, login: str) -> OpenedSession:
    """Open a table as requested, for the user of a login; return its session, and the tokens of programs' slots.

    Raises LadderError for an invalid request, a user that is locked out, an exceeded quota or a frozen ladder.
    """
    rules = get_rules(ladder, request.rules)
    own_seats = request.has_own_seat + (request.program is not None)
    people_and_programs = own_seats + request.user_seats + request.program_seats
    if not people_and_programs:
        raise LadderError("the table would have only bots.\nAdd a player or a remote bot.")
    problem = rules.problem(len(request.bots) + people_and_programs)
    if problem:
        raise LadderError(problem)
    try:
        program = None if request.program is None else normal_name(request.program)
    except ValueError as error:
        raise LadderError(f"{error}.\nGive the remote bot another name.") from None
    tokens = [secrets.token_urlsafe(24) for _ in range(request.program_seats)]
    session = _insert_session(ladder, replace(request, program=program), login, tokens, ladder.clock())
    return OpenedSession(session, dict(enumerate(tokens, len(request.bots) + own_seats + request.user_seats)))


@transaction
def _insert_session(
    connection: Connection, ladder: Ladder, request: OpenTableRequest, login: str, tokens: Sequence[str], now: float
) -> store.TableSession:
    """Insert the session that a user opens at `now`, which also identifies it in a repeated call.

    tokens: of the remote bots of other users. Raises LadderError as `open_session` does.
    """
    opener, settings = get_acting_user(connection, login), ladder.settings.tables
    inserted_id = store.find_session_opened_at(connection, opener.id, now)
    if inserted_id is not None:  # the second call of a function whose commit had no answer
        return get_session(connection, inserted_id)
    bots = [get_accepted_version(connection, name) for name in request.bots]
    if request.program is not None and is_pseudonym(connection, request.program, (opener.id,)):
        raise LadderError(f'"{request.program}" is the pseudonym of another user.\nGive the remote bot another name.')
    _require_may_open(connection, opener, bots, settings)
    session = store.TableSession(
        id=0,  # until it is stored
        login=opener.login,
        pseudonym=opener.pseudonym,
        opened_at=now,
        rules=get_rules(ladder, request.rules).name,
        games=request.games,
        move_time_s=request.move_time_s,
        allow_spectators=request.allow_spectators,
        is_public=request.is_public,
        starts_itself=request.starts_itself,
        slots=tuple(_make_first_slots(request, opener, bots, tokens)),
        chat=limit_chat_mode(request.chat, settings.chat),
    )
    return get_session(connection, store.insert_session(connection, session))


def _make_first_slots(
    request: OpenTableRequest, opener: store.User, bots: Sequence[store.Version], tokens: Sequence[str]
) -> list[store.SessionSlot]:
    """Return the slots of a new table: the bots', the opener's, other users', then those of the tokens' programs."""
    slots = [store.SessionSlot(store.BOT, version.id) for version in bots]
    if request.has_own_seat:
        slots.append(store.SessionSlot(store.PERSON, login=opener.login, name=opener.pseudonym))
    if request.program is not None:
        slots.append(store.SessionSlot(store.PROGRAM, login=opener.login, name=request.program))
    slots += [store.SessionSlot(store.PERSON)] * request.user_seats
    slots += [_make_program_slot(number, token) for number, token in enumerate(tokens, 1)]
    return slots


def _require_may_open(
    connection: Connection, opener: store.User, bots: Sequence[store.Version], settings: UserTableSettings
) -> None:
    """Raise LadderError if the ladder is frozen, a bot may not play, or too many tables are open."""
    if store.is_frozen(connection):
        raise LadderError(f"{FROZEN_REASON}, so no table can be opened.\nAsk the staff.")
    for version in bots:
        if not _may_play(connection, version):
            raise LadderError(f"{escape_control(version.version_ref)} is suspended or not accepted.\nName another bot.")
    counts = store.count_open_sessions(connection)
    tables = counts.get(opener.login, 0)
    if tables >= settings.max_per_user and not opener.staff:
        raise LadderError(f"you have {format_count(tables, 'open table')}, and no more are allowed.\nClose one first.")
    if sum(counts.values()) >= settings.max_total:
        raise LadderError(f"no more tables than {settings.max_total} may be open.\nTry again later.")


def _make_program_slot(number: int, token: str) -> store.SessionSlot:
    return store.SessionSlot(store.PROGRAM, name=f"program {number}", token_sha256=hash_secret(token))


def get_session(connection: Connection, id: int) -> store.TableSession:
    """Return a table session. Raises LadderError if it doesn't exist."""
    session = store.find_session(connection, id)
    if session is None:
        raise LadderError(f"the ladder has no table {id}.\nSee the list of tables.")
    return session


def unplayable_reason(connection: Connection, session: store.TableSession) -> str | None:
    """Return the reason why no match can start at a table, such as a suspended player; None if one can."""
    if store.is_frozen(connection):
        return FROZEN_REASON
    for slot in session.slots:
        if slot.version is not None and not _may_play(connection, store.get_version_by_id(connection, slot.version)):
            return "one of its bots is suspended or disabled"
    for login in {session.login, *(slot.login for slot in session.slots if slot.login)}:
        owner = store.find_user(connection, login)
        if owner is not None and (owner.suspended or owner.withdrawn):
            return f"a player, or its opener, {'is suspended' if owner.suspended else 'left the course'}"
    return None


def find_table_access(ladder: Ladder, id: int, viewer: Viewer, secret: str | None) -> TableAccess | None:
    """Return a user's access to a table, by account or a guest's secret; None if there is no such table.

    For a spectator, the caller checks whether spectators are allowed.
    """
    digest = None if secret is None else hash_secret(secret)
    return _find_seat(ladder, id, store.PERSON, viewer.login if viewer.can_write else None, digest)


def find_program_access(ladder: Ladder, id: int, viewer: Viewer, token: str) -> TableAccess | None:
    """Return a program's access, by the slot's token or its account's token; None for any other token."""
    access = _find_seat(ladder, id, store.PROGRAM, viewer.login if viewer.can_write else None, hash_secret(token))
    return None if access is None or access.slot is None else access


def _find_seat(ladder: Ladder, id: int, kind: str, login: str | None, digest: str | None) -> TableAccess | None:
    """Return a session with the slot of a secret's digest, else of a login; None for an unknown session.

    A viewer without a slot gets None as its number.
    """
    session = ladder.database.read_with_retry(lambda connection: store.find_session(connection, id))
    if session is None:
        return None
    slots = [slot for slot in session.slots if slot.kind == kind and not slot.is_free]
    by_secret = [slot.number for slot in slots if digest is not None and slot.token_sha256 == digest]
    by_login = [slot.number for slot in slots if login is not None and slot.login == login]
    return TableAccess(session, next(iter([*by_secret, *by_login]), None))


def find_table_server(ladder: Ladder, session: store.TableSession) -> store.RunnerRecord | None:
    """Return the table server that plays a table or, before one has claimed it, the one with the fewest tables.

    None if this machine has neither.
    """

    def choose_server(connection: Connection) -> store.RunnerRecord | None:
        servers = store.list_live_runners(connection, table_servers=True)
        local = [server for server in servers if store.is_port_on_this_machine(server)]
        if session.table_server is not None:
            return next((server for server in local if server.id == session.table_server), None)
        return min(local, key=lambda server: len(store.sessions_of_server(connection, server.id)), default=None)

    return ladder.database.read_with_retry(choose_server)


def join_table(ladder: Ladder, id: int, code: str, login: str | None, name: str = "") -> str | None:
    """Give a user, or a guest with a name, the first free seat of a table; return a guest's new secret, else None.

    code: that of the invitation link, which a public table and its opener don't need. A user who has a seat keeps it.
    Raises NoFreeSeatError if no seat is free, LadderError for a wrong link or name, or if guests aren't allowed.
    """
    return _take_free_slot(ladder, id, code, login=login, name=name, secret=secrets.token_urlsafe(24))


@transaction
def _take_free_slot(
    connection: Connection, ladder: Ladder, id: int, code: str, *, login: str | None, name: str, secret: str
) -> str | None:
    """Do `join_table`, with its errors; a guest's slot gets the secret, which also identifies a repeated call."""
    session, now = get_session(connection, id), ladder.clock()
    if any(slot.token_sha256 == hash_secret(secret) for slot in session.slots):
        return secret  # the second call of a function whose commit had no answer
    if _has_seat(session, login):
        return None
    free_slot = _get_free_slot(ladder, session, code, login)
    if login is not None:
        user = get_acting_user(connection, login)
        store.give_slot(connection, id, free_slot.number, now, name=user.pseudonym, user_id=user.id)
        return None
    if not ladder.settings.tables.allow_guests:
        raise LadderError("this ladder allows no guests.\nSign in first, and open the link again.")
    guest_name = _make_guest_name(connection, session, name)
    store.give_slot(connection, id, free_slot.number, now, name=guest_name, token_sha256=hash_secret(secret))
    return secret


def _get_free_slot(ladder: Ladder, session: store.TableSession, code: str, login: str | None) -> store.SessionSlot:
    """Return the first free slot of a table.

    Raises LadderError for a wrong link that is needed, NoFreeSeatError without a slot.
    """
    can_join = _is_invitation_code(ladder, session, code) or session.is_public or login == session.login
    if not can_join:
        raise LadderError(_WRONG_LINK)
    free_slot = next((slot for slot in session.slots if slot.is_free), None)
    if session.status == store.CLOSED or free_slot is None:
        raise NoFreeSeatError("no seat is free at this table.\nWait for the end of the match, or join another table.")
    return free_slot


def _is_invitation_code(ladder: Ladder, session: store.TableSession, code: str) -> bool:
    """Return whether a code is that of a table's invitation link, in a time that doesn't depend on the code."""
    return hmac.compare_digest(code.encode(), ladder.invitation_code(session.id, session.renewals).encode())


def _make_guest_name(connection: Connection, session: store.TableSession, name: str) -> str:
    """Return a guest's name as others see it, such as "Ada (guest)".

    Raises LadderError if it isn't valid, a user's pseudonym, or a name of the table. A login isn't refused: guests
    would learn which logins exist.
    """
    try:
        base_name = normal_name(name)
    except ValueError as error:
        raise LadderError(f"{error}.\nChoose another name.") from None
    guest_name = f"{base_name} (guest)"
    used_names = {fold_name(slot.name or "") for slot in session.slots}
    if is_pseudonym(connection, base_name) or fold_name(guest_name) in used_names:
        raise LadderError("another player has this name.\nChoose another name.")
    return guest_name


def quick_play(ladder: Ladder, login: str | None, name: str = "", invites: bool = False) -> tuple[int, str | None]:
    """Join the oldest public table with a free seat, else open one with bots; if `invites`, open one for people.

    Return the table's id, and a guest's new secret, None for a user. Raises LadderError if the ladder has no bot that
    can play, or as `join_table` and `open_session` do.
    """
    joinable_tables = [] if invites else _list_joinable_tables(ladder, login)
    for session in joinable_tables:
        try:
            return session.id, join_table(ladder, session.id, "", login, name)
        except NoFreeSeatError:  # another player was faster
            continue
    request = _make_quick_request(ladder, invites)
    if login is not None:
        return open_session(ladder, replace(request, has_own_seat=True), login).session.id, None
    return _open_for_guest(ladder, request, name)


def _list_joinable_tables(ladder: Ladder, login: str | None) -> list[store.TableSession]:
    """Return the public tables with a free seat at which the user of a login doesn't sit yet, oldest first."""

    def list_open(connection: Connection) -> list[store.TableSession]:
        return store.find_sessions(connection, store.list_session_ids(connection, ended=False))

    return [
        session
        for session in ladder.database.read_with_retry(list_open)
        if session.is_public and not _has_seat(session, login) and any(slot.is_free for slot in session.slots)
    ]


def _make_quick_request(ladder: Ladder, invites: bool) -> OpenTableRequest:
    """Return the request to open a table of the usual size, with seats for invited users or with random bots.

    Raises LadderError if no bot can play.
    """
    opponents = usual_seats(ladder.play.settings.rules) - 1
    if invites:
        return OpenTableRequest(user_seats=opponents, starts_itself=False, move_time_s=_INVITED_MOVE_S)
    return OpenTableRequest(bots=draw_bots([bot.name for bot in list_table_bots(ladder)], opponents))


def _has_seat(session: store.TableSession, login: str | None) -> bool:
    return login is not None and any(slot.kind == store.PERSON and slot.login == login for slot in session.slots)


def _open_for_guest(ladder: Ladder, request: OpenTableRequest, name: str) -> tuple[int, str]:
    """Open a table of the staff with a seat for a guest, who takes it; return its id and the guest's secret.

    If the guest can't take the seat, the table is closed again. Raises LadderError if guests aren't allowed or have
    opened too many tables, or as `open_session` and `join_table` do.
    """
    if not ladder.settings.tables.allow_guests:
        raise LadderError("this ladder allows no guests.\nSign in to open a table.")
    max_tables = ladder.settings.tables.max_total // 2
    counts = ladder.database.read_with_retry(store.count_open_sessions)
    if counts.get(STAFF_USER.login, 0) >= max_tables:
        raise LadderError(f"guests have opened {max_tables} tables, and no more are allowed.\nTry again later.")
    session = open_session(ladder, replace(request, user_seats=request.user_seats + 1), STAFF_USER.login).session
    try:
        secret = join_table(ladder, session.id, ladder.invitation_code(session.id), None, name)
    except LadderError:
        close_session(ladder, session.id, STAFF_VIEWER)
        raise
    assert secret is not None, "guests have one"
    return session.id, secret


def is_opened_by_guest(session: store.TableSession) -> bool:
    """Return whether a table was opened for a guest: the staff's, with no user at it."""
    people = [slot for slot in session.slots if slot.kind == store.PERSON]
    return session.login == STAFF_USER.login and all(slot.login is None for slot in people)


def name_inviter(session: store.TableSession) -> str:
    """Return who invites to a table: its opener, or the first guest at a table that was opened for a guest."""
    guests = [slot.name for slot in session.slots if slot.kind == store.PERSON and slot.name is not None]
    return guests[0] if guests and is_opened_by_guest(session) else session.pseudonym


def usual_seats(rules: Ruleset) -> int:
    """Return the number of seats of a new table whose opener hasn't chosen one: as near to _USUAL_SEATS as allowed."""
    return min(seat_counts(rules), key=lambda seats: abs(seats - _USUAL_SEATS))


def draw_bots(names: Sequence[str], total: int) -> tuple[str, ...]:
    """Return this many of these names of bots at random; a name repeats only if there are too few.

    Raises LadderError without a name.
    """
    if not names:
        raise LadderError("the ladder has no bots to play with.\nOpen a table, and invite other players.")
    bots: list[str] = []
    while len(bots) < total:
        bots += secrets.SystemRandom().sample(names, min(len(names), total - len(bots)))
    return tuple(bots)


def record_presence(ladder: Ladder, logins: Sequence[str]) -> None:
    """Store that users have a page open. Raises DatabaseError if the database can't be reached."""
    now = ladder.clock()
    ladder.database.write(lambda connection: store.set_users_seen(connection, logins, now))


@dataclass(frozen=True, slots=True)
class TableBot:
    """A bot that can be added to a table. name: the version ref. rank: the range of its ranks, empty without one.

    rating: the value, and the low and high end of its 95 % interval; None without a rating.
    """

    name: str
    rank: tuple[int, ...]
    rating: tuple[float, float | None, float | None] | None


def list_table_bots(ladder: Ladder) -> list[TableBot]:
    """Return the active versions that may play at tables: rated ones in order of rank, then the others by name."""
    with ladder.reading(PUBLIC_VIEWER) as context:
        rows = {row.version_ref: row for row in view_standings(context).items}
        active = [bot for bot in list_bots(context, limit=None).items if bot.active_version]
        names = [f"{bot.bot}@{bot.active_version}" for bot in active]
        playable = [name for name in names if _may_play(context.connection, get_version(context.connection, name))]
    table_bots = []
    for name in playable:
        row = rows.get(name)
        rating = None if row is None else (row.rating.value, row.rating.low, row.rating.high)
        table_bots.append(TableBot(name, () if row is None else tuple(row.rank_range), rating))
    return sorted(table_bots, key=lambda bot: (not bot.rank, bot.rank, bot.name))


def change_slots(
    ladder: Ladder,
    id: int,
    *,
    bots: Sequence[str] = (),
    places: Sequence[str] = (),
    remove: Sequence[int] = (),
    free: Sequence[int] = (),
    rules: str | None = None,
) -> store.TableSession:
    """Change the slots or the rules of a table that plays no match, and return its session.

    bots: version refs, for each of which a slot is added. places: the kind, PERSON or PROGRAM, of each other new slot.
    remove: numbers of slots. free: numbers of slots that lose their players. rules: the name of the new ruleset; None
    to keep it. Raises LadderError if the table has ended, a bot may not play, or the ruleset doesn't exist or doesn't
    allow the new number of players.
    """
    old_numbers: set[int] | None = None  # those of the slots before the change

    def change_once(connection: Connection) -> store.TableSession:
        """Change the slots. A repeated call, after a commit's answer was lost, changes nothing."""
        nonlocal old_numbers
        session, now = get_session(connection, id), ladder.clock()
        numbers = {slot.number for slot in session.slots}
        if old_numbers is None:
            old_numbers = numbers
        elif numbers != old_numbers:
            return session
        new_rules = get_rules(ladder, session.rules if rules is None else rules)
        added_slots = _make_added_slots(connection, session, new_rules, bots, places, len(remove))
        store.insert_slots(connection, id, added_slots, now)  # first, so that no number is used again
        if remove:
            store.delete_slots(connection, id, remove, now)
        for number in free:
            store.free_slot(connection, id, number, now)
        if rules is not None:
            store.set_session_rules(connection, id, rules, now)
        return get_session(connection, id)

    return ladder.database.write(change_once)


def _make_added_slots(
    connection: Connection,
    session: store.TableSession,
    rules: Ruleset,
    bots: Sequence[str],
    places: Sequence[str],
    removed: int,
) -> list[store.SessionSlot]:
    """Return new slots for bots, then for the kinds of `places`, at a table from which `removed` slots go.

    Raises LadderError if the table has ended or gets too many players for the rules, or a bot may not play.
    """
    versions = [get_accepted_version(connection, name) for name in bots]
    total = len(session.slots) - removed + len(bots) + len(places)
    is_full = total > max(seat_counts(rules))
    if session.status == store.CLOSED or is_full or not all(_may_play(connection, version) for version in versions):
        raise LadderError(
            f"table {session.id} has ended or is full, or a bot is suspended.\nSee the page of the table."
        )
    program_number = 1 + sum(slot.kind == store.PROGRAM for slot in session.slots)
    slots = [store.SessionSlot(store.BOT, version.id) for version in versions]
    for kind in places:
        if kind == store.PERSON:
            slots.append(store.SessionSlot(store.PERSON))
        else:
            slots.append(_make_program_slot(program_number, secrets.token_urlsafe(24)))
    return slots


def renew_program_token(ladder: Ladder, id: int, number: int, viewer: Viewer) -> str:
    """Replace the token of a program's slot, given by number, and return the new one; the old one is revoked.

    Raises LadderError if the viewer may not, the table has ended, or the slot has no token.
    """
    token = secrets.token_urlsafe(24)

    def replace_token(connection: Connection) -> None:
        session = _get_managed_session(connection, id, viewer)
        numbers_with_token = {slot.number for slot in session.slots if slot.has_token}
        if session.status == store.CLOSED or number not in numbers_with_token:
            raise LadderError(f"slot {number} of table {id} has no token.\nSee the page of the table.")
        store.set_slot_secret(connection, id, number, hash_secret(token))

    ladder.database.write(replace_token)
    return token


def renew_invitation(ladder: Ladder, id: int, viewer: Viewer) -> None:
    """Replace the invitation link of a table; the old one is invalid, and players stay.

    Raises LadderError if the viewer may not, or the table has ended.
    """
    renewals_by_call: list[int] = []  # that each call of `renew_once` finds

    def renew_once(connection: Connection) -> None:
        session = _get_managed_session(connection, id, viewer)
        renewals_by_call.append(session.renewals)
        if session.status == store.CLOSED:
            raise LadderError(f"table {id} has ended.\nOpen another table.")
        if session.renewals == renewals_by_call[0]:  # else the second call of a function whose commit had no answer
            entry = store.AuditEntry(str(viewer.login), store.RENEWED, f"table {id}", ladder.clock())
            store.log_action(connection, entry)

    ladder.database.write(renew_once)


def is_invited(ladder: Ladder, id: int, code: str) -> bool:
    """Return whether a code is that of a table's invitation link."""
    session = ladder.database.read_with_retry(lambda connection: store.find_session(connection, id))
    return session is not None and _is_invitation_code(ladder, session, code)


@transaction
def close_session(connection: Connection, ladder: Ladder, id: int, viewer: Viewer) -> bool:
    """End a table, as its opener or staff; return False if it has already ended.

    Raises LadderError if the viewer is neither, or there is no such table.
    """
    session = _get_managed_session(connection, id, viewer)
    actor = "its opener" if viewer.login == session.login else "the staff"
    return store.end_session(connection, id, f"closed by {actor}", ladder.clock())


def _get_managed_session(connection: Connection, id: int, viewer: Viewer) -> store.TableSession:
    """Return a session that the viewer manages. Raises LadderError if it doesn't exist, or the viewer may not."""
    session = get_session(connection, id)
    if not viewer.can("table:close", session.login):
        raise LadderError(f"you didn't open table {id}.\nAsk the user that opened it, or the staff.")
    return session


def _may_play(connection: Connection, version: store.Version) -> bool:
    return (
        version.status == store.ACCEPTED
        and not version.is_locked_out
        and version.id not in store.disabled_versions(connection)
    )
