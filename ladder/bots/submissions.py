"""Accept or reject submissions: one becomes the next version of a bot, or is rejected with the reason."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import BotArchive, BotError, load_bots, normal_name, read_submission_in_process
from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from ladder import store
from ladder.activation import find_disabling
from ladder.bot_quotas import bots_in_quota, bots_of_party
from ladder.bots.pages import BotPage, RemainingQuota
from ladder.clock import DAY_S, format_local_time, require_past
from ladder.deadlines import DeadlineSummary, deadlines_of_user, find_grace_deadline
from ladder.ladder import STAFF_USER, Ladder, get_acting_user, get_user, make_viewer, require_unsuspended
from ladder.permissions import hide_fields
from ladder.settings import LadderError, LadderSettings
from ladder.users import SIGNED_UP, TAKE_OVER_FIRST, is_pseudonym, list_signed_up
from ladder.view_context import ViewContext

_NAMING = "Give the bot another name."


@dataclass(frozen=True, slots=True)
class AcceptedSubmission:
    """An accepted submission. late_for: the deadline in whose grace period it came. remaining: for today.

    duplicate: no version was added, because these files are a version already.
    disabled_reason: why the version can't become active until staff activates it; None if it can.
    received_at: Unix time of submission; None for a reference bot.
    """

    version_ref: str
    name: str
    number: int
    version: int
    duplicate: bool
    late_for: str | None
    remaining: int | None
    disabled_reason: str | None = None
    received_at: float | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A bot's files, to be submitted under a name. submitted_by: a login.

    name: None for the only bot of the user or team, else the name in the files.
    received_at: the Unix time of submission if staff sets it, replacing an earlier one of the same files; None: now.
    """

    login: str
    name: str | None
    bundle: BotArchive
    submitted_by: str
    received_at: float | None = None


def submit_bot(
    ladder: Ladder,
    path: Path,
    login: str,
    *,
    name: str | None = None,
    received: float | None = None,
    by: str | None = None,
    after_pseudonym: bool = False,
) -> AcceptedSubmission:
    """Submit a file, folder, zip or tar as a new version of a bot of the user or a teammate, to be checked.

    Without a name this is the next version of the owner's only bot; else the files name the bot, or, after_pseudonym,
    the pseudonym names a first one, since names are public and staff's files may contain the user's.
    The same files submitted twice in a row are one version. received, by: `received_at` and `submitted_by` of the
    Submission; if staff sets the time, the daily quota doesn't apply. Raises BotError if the files aren't a bot,
    LadderError for an unknown user, another user's bot, an exceeded quota, or a time in the future.
    """
    settings = ladder.settings
    with ladder.database.read() as connection:
        get_acting_user(connection, login)
        if after_pseudonym:
            name = name or _get_only_bot_name(connection, login)
    require_past(received, ladder.clock())
    bundle = read_submission_in_process(path, max_bytes=settings.quotas.max_upload_mb << 20)
    submission = Submission(login, name and normalize_bot_name(name), bundle, by or login, received)
    now = ladder.clock()
    return ladder.database.write(lambda connection: _store_submission(connection, settings, submission, now))


@dataclass(frozen=True, slots=True)
class BulkSubmission:
    """The result of many users' submissions, by login: accepted, or rejected with the reason."""

    accepted: dict[str, AcceptedSubmission]
    rejected: dict[str, str]


def submit_folder(ladder: Ladder, folder: Path, received: float | None, by: str) -> BulkSubmission:
    """Submit the contents of each subfolder for the user whose login is its name.

    The contents become a version of the user's only bot; a first bot is named after the pseudonym. Raises LadderError
    without subfolders, OSError if the folder can't be read. received: Unix time; None: now.
    """
    with ladder.database.read() as connection:
        owners = store.all_users(connection)
        ids = list_signed_up(connection, owners)
        signed_up = {user.login for user in owners if user.id in ids}
    result = BulkSubmission({}, {})
    for subfolder in _list_visible(folder):
        if not subfolder.is_dir():
            continue
        login = subfolder.name
        try:
            path = _find_submitted_path(subfolder)
            if login in signed_up:
                raise LadderError(f"{escape_control(login)} {SIGNED_UP}.\nInstead, {TAKE_OVER_FIRST}.")
            result.accepted[login] = submit_bot(
                ladder, path, login, name=None, received=received, by=by, after_pseudonym=True
            )
        except (BotError, LadderError) as error:
            result.rejected[login] = str(error)
    if not (result.accepted or result.rejected):
        raise LadderError(
            f"{escape_control(folder)} has no subfolders.\n"
            "Put each user's files into a subfolder with the login as its name."
        )
    return result


def _find_submitted_path(subfolder: Path) -> Path:
    """Return the only file or folder in a user's subfolder, else the subfolder. Raises LadderError for a symlink."""
    contents = _list_visible(subfolder)
    if any(path.is_symlink() for path in (subfolder, *contents)):
        raise LadderError("the folder is or contains a symbolic link.\nCopy the files there.")
    return contents[0] if len(contents) == 1 else subfolder


def _list_visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _get_only_bot_name(connection: Connection, login: str) -> str:
    """Return the name of a user's or team's only bot, or one for a first. Raises LadderError if there are several."""
    owner = get_user(connection, login)
    own = [bot.name for bot in bots_in_quota(connection, store.get_party(connection, owner))]
    if len(own) > 1:
        raise LadderError(
            f"the user has several bots: {', '.join(map(escape_control, own))}.\nSubmit this one alone, by its name."
        )
    return own[0] if own else "-".join(owner.pseudonym.split())


def _store_submission(
    connection: Connection, settings: LadderSettings, new: Submission, now: float
) -> AcceptedSubmission:
    """Store a submission as a version, unless it is a duplicate.

    Raises LadderError if the user may not submit under this name or now.
    """
    bundle, received = new.bundle, now if new.received_at is None else new.received_at
    acting = get_acting_user(connection, new.login)
    owner, party = acting.id, store.get_party(connection, acting)
    bots = [] if new.name else bots_in_quota(connection, party)
    name = new.name or (bots[0].name if len(bots) == 1 else normalize_bot_name(bundle.name))
    old_bot = find_bot_ignoring_case(connection, name)
    _require_own_name(connection, acting, name, old_bot, settings)
    versions = [] if old_bot is None else store.versions_of(connection, old_bot.id)
    same = _find_same(versions, new, received)
    if same is not None:
        return _accept_duplicate(connection, new, same, owner, now)
    remaining = None
    if new.received_at is None:
        remaining = _take_from_quota(connection, settings, new.login, party, now)
    stored_name, number = old_bot.name if old_bot else name, 1 + len(versions)
    bot = store.get_or_create_bot(connection, stored_name, owner, now)
    store.insert_archive(connection, bundle.digest, bundle.file, bundle.archive)
    version = store.add_version(
        connection,
        bot,
        bundle.digest,
        single_file_name=bundle.file,
        timestamp=now,
        received_at=received,
        submitted_by=new.submitted_by,
    )
    if new.received_at is not None:
        _note_received(connection, new, bot, version, owner, now)
    return AcceptedSubmission(
        version_ref=f"{stored_name}@{number}",
        name=stored_name,
        number=number,
        version=version,
        duplicate=False,
        late_for=find_grace_deadline(connection, settings, old_bot.owner_id if old_bot else owner, received),
        remaining=remaining,
        disabled_reason=store.disabled_versions(connection).get(version),
        received_at=received,
    )


def _take_from_quota(
    connection: Connection, settings: LadderSettings, login: str, party: Collection[int], now: float
) -> int:
    """Return how many versions a party may still submit today after this one. Raises LadderError if none is left."""
    max_versions = settings.quotas.max_submissions_per_day
    today = store.count_submissions_since(connection, party, now - now % DAY_S)
    if today >= max_versions:
        wait = time.strftime("%H:%M", time.gmtime(DAY_S - now % DAY_S))
        allowed = format_count(max_versions, "version")
        raise LadderError(
            f"{describe_party(login, party)} has submitted {today} of {allowed} allowed today.\nTry again in {wait} h."
        )
    return max_versions - today - 1


def _require_own_name(
    connection: Connection, user: store.User, name: str, bot: store.BotRecord | None, settings: LadderSettings
) -> None:
    """Raise LadderError unless a user may submit under a name. bot: that has the name, None for a new one."""
    viewer = replace(make_viewer(connection, user), staff=False)  # staff, too, names the owner
    if bot is not None and not viewer.can("bot:submit", bot.login):
        raise LadderError(f'the bot "{escape_control(name)}" belongs to another user.\n{_NAMING}')
    party = store.get_party(connection, user)
    if bot is not None:
        require_unsuspended(connection, bot)
    elif is_pseudonym(connection, name, party):
        raise LadderError(f'"{escape_control(name)}" is the pseudonym of another user.\n{_NAMING}')
    else:
        _check_bots(connection, party, settings)


def _accept_duplicate(
    connection: Connection, new: Submission, same: store.Version, owner: int, now: float
) -> AcceptedSubmission:
    """Return the version that has the same files, with the time that staff gives, if it is earlier or corrects one."""
    received = new.received_at
    if received is not None:
        corrected = same.received_at != same.submitted_at and received != same.received_at
        if received < same.received_at or corrected:
            store.set_received_at(connection, same.id, received)
            _note_received(connection, new, same.bot, same.id, owner, now)
            same = replace(same, received_at=received)
    return AcceptedSubmission(
        version_ref=same.version_ref,
        name=same.name,
        number=same.number,
        version=same.id,
        duplicate=True,
        late_for=None,
        remaining=None,
        received_at=same.received_at,
    )


def _find_same(versions: Sequence[store.Version], submission: Submission, received: float) -> store.Version | None:
    """Return the version with the same files: the current one at that time, the next, or one whose time staff set."""
    by_time = sorted(versions, key=lambda version: (version.received_at, version.number))
    before = [version for version in by_time if version.received_at <= received]
    after = by_time[len(before) :]
    corrected = [version for version in reversed(by_time) if version.received_at != version.submitted_at]
    files = (submission.bundle.digest, submission.bundle.file)
    for version in (*before[-1:], *after[:1], *corrected):
        if (version.digest, version.single_file_name) == files and not version.is_check_abandoned:
            return version
    return None


def _note_received(connection: Connection, new: Submission, bot: int, version: int, owner: int, now: float) -> None:
    assert new.received_at is not None
    reason = f"time of submission {format_local_time(new.received_at)}, set by {new.submitted_by}"
    store.log_action(
        connection, store.AuditEntry(new.submitted_by, "receive", reason, now, bot=bot, version=version, user_id=owner)
    )


def get_remaining_quota(ladder: Ladder, context: ViewContext, login: str | None = None) -> RemainingQuota:
    """Return what the viewer, or the user of a login, may still submit; teams share quotas."""
    connection, login, settings = context.connection, login or context.viewer.login, ladder.last_settings
    owner = None if login is None else store.find_user(connection, login)
    party = {} if owner is None else store.get_party(connection, owner)
    bots = bots_of_party(connection, party)
    day_begin = context.now - context.now % DAY_S
    today = store.count_submissions_since(connection, party, day_begin)
    is_out = owner is None or owner.suspended or owner.withdrawn  # no submission is accepted
    due = deadlines_of_user(connection, settings, None if owner is None else owner.id, is_out)
    if is_out:
        due = tuple(replace(deadline, late_until=None, late_days_left=None) for deadline in due)
    quotas = settings.quotas
    disablings = ((bot, find_disabling(connection, bot)) for bot in bots)
    quota = RemainingQuota(
        bots=tuple(bot.name for bot in bots),
        suggested_name="-".join(owner.pseudonym.split()) if owner and not bots else None,
        can_add_bot=len(bots_in_quota(connection, party)) < quotas.max_bots_per_user,
        remaining=max(0, quotas.max_submissions_per_day - today),
        limit=quotas.max_submissions_per_day,
        resets_at=day_begin + DAY_S,
        max_upload_mb=quotas.max_upload_mb,
        deadlines=due,
        disabled_bots=tuple((bot.name, entry.reason) for bot, entry in disablings if entry is not None),
        owners=_list_possible_owners(connection) if context.viewer.staff else (),
    )
    return hide_fields(quota, context.viewer, login)


def _list_possible_owners(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Return (login, name) of each user for whom staff may submit."""
    users = store.all_users(connection)
    return tuple(
        (user.login, user.name)
        for user in users
        if not (user.staff or user.suspended or user.withdrawn or user.waiting)
    )


def deadlines_of_bot(ladder: Ladder, context: ViewContext, name: str) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they apply to a bot's owner; none for a reference bot or a viewer without permission."""
    bot = store.find_bot(context.connection, name)
    if bot is None or bot.is_reference or not context.viewer.can_view(BotPage, "deadlines", bot.login):
        return ()
    dues = deadlines_of_user(context.connection, ladder.last_settings, bot.owner_id)

    def only_own(version_refs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(version_ref for version_ref in version_refs if version_ref.rpartition("@")[0] == name)

    only = (replace(due, counting=only_own(due.counting), unchecked=only_own(due.unchecked)) for due in dues)
    return tuple(hide_fields(due, context.viewer, bot.login) for due in only)


@dataclass(frozen=True, slots=True)
class ReferenceBot:
    """A reference bot, owned by staff, that was read from its files."""

    name: str
    bundle: BotArchive


def read_reference(argument: str) -> ReferenceBot:
    """Read the bot of an argument as for `arena run`.

    Raises BotError if it can't play, LadderError for an invalid name.
    """
    bot = load_bots([argument])[0][0]
    return ReferenceBot(normalize_bot_name(bot.name), read_submission_in_process(bot.path))


def save_reference(connection: Connection, reference: ReferenceBot, timestamp: float) -> AcceptedSubmission:
    """Store a reference bot as a new version, to be checked. Raises LadderError if a user's bot has the name."""
    owner = store.find_user(connection, STAFF_USER.login)
    assert owner is not None, "create makes the staff"
    name, bundle = reference.name, reference.bundle
    known = find_bot_ignoring_case(connection, name)
    if known is not None and not known.is_reference:
        raise LadderError(
            f'the bot "{escape_control(name)}" belongs to a user.\nGive the reference bot another name: NAME=BOT'
        )
    bot = store.get_or_create_bot(connection, name, owner.id, timestamp, is_reference=True)
    versions = store.versions_of(connection, bot)
    is_duplicate = bool(versions) and versions[-1].digest == bundle.digest and not versions[-1].is_check_abandoned
    if is_duplicate:
        version = versions[-1].id
    else:
        store.insert_archive(connection, bundle.digest, bundle.file, bundle.archive)
        version = store.add_version(connection, bot, bundle.digest, single_file_name=bundle.file, timestamp=timestamp)
    number = len(versions) + (not is_duplicate)
    return AcceptedSubmission(f"{name}@{number}", name, number, version, is_duplicate, late_for=None, remaining=None)


def submit_reference(ladder: Ladder, argument: str) -> AcceptedSubmission:
    """Submit a reference bot, named like any bot argument. Raises as `read_reference` and `save_reference` do."""
    reference, now = read_reference(argument), ladder.clock()
    return ladder.database.write(lambda connection: save_reference(connection, reference, now))


def normalize_bot_name(name: str) -> str:
    """Return a bot's name in NFC. Raises LadderError for a name that results or spreadsheets can't contain."""
    try:
        name = normal_name(name)
    except ValueError as error:
        raise LadderError(f"{error}.\n{_NAMING}") from None
    if "@" in name:
        raise LadderError(f'the name "{escape_control(name)}" contains "@", which marks a version.\n{_NAMING}')
    if escape_csv_cell(name) != name:
        raise LadderError(f'the name "{escape_control(name)}" begins like a formula of a spreadsheet.\n{_NAMING}')
    return name


def find_bot_ignoring_case(connection: Connection, name: str) -> store.BotRecord | None:
    """Return the bot of a name, None if it is unknown. Case is ignored, since users would confuse such names."""
    return next((bot for bot in store.all_bots(connection) if bot.name.casefold() == name.casefold()), None)


def describe_party(login: str, party: Collection[int]) -> str:
    """Return the owner of a quota as text: the user, or the user's team."""
    return escape_control(login) if len(party) == 1 else f"the team of {escape_control(login)}"


def _check_bots(connection: Connection, party: Collection[int], settings: LadderSettings) -> None:
    names = [bot.name for bot in bots_in_quota(connection, party)]
    most = settings.quotas.max_bots_per_user
    if len(names) >= most:
        raise LadderError(
            f"the quota of {format_count(most, 'bot')} for a user or team is used up: {', '.join(names)}.\n"
            "Submit a version of one of them, by its name."
        )
