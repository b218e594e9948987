"""Accept or reject submissions: one becomes the next version of a bot, or is rejected with the reason."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import BotArchive, BotError, load_bots, normal_name, read_submission_in_process
from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from ladder import store
from ladder.activation import find_disabling
from ladder.bot_pages import BotPage
from ladder.bot_quotas import bots_in_quota, bots_of_party
from ladder.clock import DAY_S, format_local_time, require_past
from ladder.deadlines import DeadlineSummary, deadlines_of_user, find_grace_deadline
from ladder.ladder import STAFF_USER, Ladder, get_acting_user, get_user, make_viewer, require_unsuspended
from ladder.permissions import hide_fields
from ladder.settings import LadderError, LadderSettings
from ladder.users import SIGNED_UP, TAKE_OVER_FIRST, fold_name, is_pseudonym, list_signed_up
from ladder.view_context import ViewContext

_NAMING = "Give the bot another name."


@dataclass(frozen=True, slots=True)
class AcceptedSubmission:
    """An accepted submission, and its version.

    duplicate: no version was added, because these files are a version already. late_for: the deadline in whose grace
    period a new version came. remaining: further submissions for today; None if this one isn't counted.
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
    received_at: float | None = None,
    submitted_by: str | None = None,
    uses_pseudonym: bool = False,
) -> AcceptedSubmission:
    """Submit a file, folder, zip or tar as a new version of a bot of the user or a teammate, to be checked.

    name: of the bot; None: that of the owner's only bot, else the name in the files. uses_pseudonym: instead of these,
    the user's pseudonym names a first bot, since names are public and files that staff has may contain the user's.
    received_at, submitted_by: as of `Submission`; None: now, and the user. No daily quota applies to a given time.

    The same files submitted twice in a row are one version. Raises BotError if the files aren't a bot, LadderError for
    an unknown user, another user's bot, an exceeded quota, or a time in the future.
    """
    settings = ladder.settings
    with ladder.database.read() as connection:
        get_acting_user(connection, login)
        bot_name = _get_only_bot_name(connection, login) if uses_pseudonym and not name else name
    require_past(received_at, ladder.clock())
    bundle = read_submission_in_process(path, max_bytes=settings.quotas.max_upload_mb << 20)
    normalized_name = normalize_bot_name(bot_name) if bot_name else None
    submission = Submission(login, normalized_name, bundle, submitted_by or login, received_at)
    now = ladder.clock()
    return ladder.database.write(lambda connection: _store_submission(connection, settings, submission, now))


@dataclass(frozen=True, slots=True)
class BulkSubmission:
    """The result of many users' submissions, by login: accepted, or rejected with the reason."""

    accepted: dict[str, AcceptedSubmission]
    rejected: dict[str, str]


def submit_folder(ladder: Ladder, folder: Path, received_at: float | None, submitted_by: str) -> BulkSubmission:
    """Submit the contents of each subfolder for the user whose login is its name.

    The contents become a version of the user's only bot; a first bot is named after the pseudonym. One rejection stops
    no other submission. received_at: Unix time; None: now. submitted_by: a login. Raises LadderError without
    subfolders, OSError if the folder can't be read.
    """
    with ladder.database.read() as connection:
        owners = store.all_users(connection)
        ids = list_signed_up(connection, owners)
        signed_up = {user.login for user in owners if user.id in ids}
    result = BulkSubmission({}, {})
    for subfolder in _list_visible(folder):
        if not subfolder.is_dir():
            continue
        login = escape_control(subfolder.name)  # a name that this changes is no login
        try:
            path = _find_submitted_path(subfolder)
            if login in signed_up:
                raise LadderError(f"{login} {SIGNED_UP}.\nInstead, {TAKE_OVER_FIRST}.")
            result.accepted[login] = submit_bot(
                ladder, path, login, received_at=received_at, submitted_by=submitted_by, uses_pseudonym=True
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
    """Return the only file or folder in a user's subfolder, else the subfolder.

    Raises LadderError for a symlink, or if the subfolder can't be read.
    """
    try:
        contents = _list_visible(subfolder)
        has_link = any(path.is_symlink() for path in (subfolder, *contents))
    except OSError as error:
        raise LadderError(f"the folder can't be read: {error.strerror}.\nCorrect its permissions.") from None
    if has_link:
        raise LadderError("the folder is or contains a symbolic link.\nCopy the files there.")
    return contents[0] if len(contents) == 1 else subfolder


def _list_visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _get_only_bot_name(connection: Connection, login: str) -> str:
    """Return the name of a user's or team's only bot, or one for a first. Raises LadderError if there are several."""
    owner = get_user(connection, login)
    names = [bot.name for bot in bots_in_quota(connection, store.get_party(connection, owner))]
    if len(names) > 1:
        raise LadderError(
            f"the user has several bots: {', '.join(map(escape_control, names))}.\nSubmit this one alone, by its name."
        )
    return names[0] if names else _name_first_bot(owner)


def _name_first_bot(owner: store.User) -> str:
    return "-".join(owner.pseudonym.split())


def _store_submission(
    connection: Connection, settings: LadderSettings, submission: Submission, now: float
) -> AcceptedSubmission:
    """Store a submission as a version, unless it is a duplicate.

    Raises LadderError if the user may not submit under this name or now.
    """
    user = get_acting_user(connection, submission.login)
    party = store.get_party(connection, user)
    name = submission.name or _choose_name(connection, party, submission.bundle)
    bot = find_similar_bot(connection, name)
    _require_own_name(connection, user, name, bot, settings)
    versions = [] if bot is None else store.versions_of(connection, bot.id)
    received_at = now if submission.received_at is None else submission.received_at
    duplicate = _find_duplicate(versions, submission, received_at)
    if duplicate is not None:
        received_at = _correct_submission_time(connection, submission, duplicate, user.id, now)
        return _describe_acceptance(connection, duplicate.id, duplicate=True, received_at=received_at)
    remaining = None
    if submission.received_at is None:
        remaining = _require_quota(connection, settings, submission.login, party, now)
    version = _insert_version(connection, submission, name if bot is None else bot.name, user.id, now)
    owner = user.id if bot is None else bot.owner_id
    accepted = _describe_acceptance(connection, version, duplicate=False, received_at=received_at)
    late_for = find_grace_deadline(connection, settings, owner, received_at)
    return replace(accepted, late_for=late_for, remaining=remaining)


def _describe_acceptance(
    connection: Connection, id: int, *, duplicate: bool, received_at: float | None
) -> AcceptedSubmission:
    """Return the accepted submission of a stored version, given its id, without `late_for` and `remaining`."""
    version = store.get_version_by_id(connection, id)
    return AcceptedSubmission(
        version_ref=version.version_ref,
        name=version.name,
        number=version.number,
        version=id,
        duplicate=duplicate,
        late_for=None,
        remaining=None,
        disabled_reason=store.disabled_versions(connection).get(id),
        received_at=received_at,
    )


def _choose_name(connection: Connection, party: Collection[int], bundle: BotArchive) -> str:
    """Return the name of a party's only bot, else the one in the files. Raises LadderError if that isn't valid."""
    bots = bots_in_quota(connection, party)
    return bots[0].name if len(bots) == 1 else normalize_bot_name(bundle.name)


def _insert_version(connection: Connection, submission: Submission, name: str, owner: int, now: float) -> int:
    """Store a submission as the next version of the bot of a name, which it may create; return the version's id.

    owner: the id of the user who submits, and who owns a new bot.
    """
    bundle = submission.bundle
    bot = store.get_or_create_bot(connection, name, owner, now)
    store.insert_archive(connection, bundle.digest, bundle.file, bundle.archive)
    version = store.add_version(
        connection,
        bot,
        bundle.digest,
        single_file_name=bundle.file,
        timestamp=now,
        received_at=now if submission.received_at is None else submission.received_at,
        submitted_by=submission.submitted_by,
    )
    if submission.received_at is not None:
        _log_submission_time(connection, submission, bot, version, owner, now)
    return version


def _require_quota(
    connection: Connection, settings: LadderSettings, login: str, party: Collection[int], now: float
) -> int:
    """Return how many versions a party may still submit today after this one. Raises LadderError if none is left."""
    max_versions = settings.quotas.max_submissions_per_day
    count = store.count_submissions_since(connection, party, now - now % DAY_S)
    if count >= max_versions:
        versions = format_count(max_versions, "version")
        raise LadderError(
            f"{describe_party(login, party)} has submitted {count} of {versions} allowed today.\n"
            "Try again after midnight UTC."
        )
    return max_versions - count - 1


def _require_own_name(
    connection: Connection, user: store.User, name: str, bot: store.BotRecord | None, settings: LadderSettings
) -> None:
    """Raise LadderError unless a user may submit under a name. bot: that has the name, None for a new one."""
    if bot is not None:
        viewer = replace(make_viewer(connection, user), staff=False)  # staff, too, names the owner
        if not viewer.can("bot:submit", bot.login):
            raise LadderError(f'the bot "{escape_control(name)}" belongs to another user.\n{_NAMING}')
        require_unsuspended(connection, bot)
        return
    party = store.get_party(connection, user)
    if is_pseudonym(connection, name, party):
        raise LadderError(f'"{escape_control(name)}" is the pseudonym of another user.\n{_NAMING}')
    _require_bot_quota(connection, party, settings)


def _correct_submission_time(
    connection: Connection, submission: Submission, version: store.Version, owner: int, now: float
) -> float:
    """Return the time of submission of the version with the same files, after a correction by staff.

    The time that staff gives applies if it is earlier, or the version's time was set by staff, too. owner: the id of
    the user for whom it is submitted.
    """
    given, stored = submission.received_at, version.received_at
    is_set_by_staff = stored != version.submitted_at
    if given is None or given == stored or (given > stored and not is_set_by_staff):
        return stored
    store.set_received_at(connection, version.id, given)
    _log_submission_time(connection, submission, version.bot, version.id, owner, now)
    return given


def _find_duplicate(
    versions: Sequence[store.Version], submission: Submission, received_at: float
) -> store.Version | None:
    """Return the version with the same files: the current one at that time, the next, or one whose time staff set."""
    by_time = sorted(versions, key=lambda version: (version.received_at, version.number))
    older = [version for version in by_time if version.received_at <= received_at]
    newer = by_time[len(older) :]
    corrected = [version for version in reversed(by_time) if version.received_at != version.submitted_at]
    files = (submission.bundle.digest, submission.bundle.file)
    candidates = (version for version in (*older[-1:], *newer[:1], *corrected) if not version.is_check_abandoned)
    return next((version for version in candidates if (version.digest, version.single_file_name) == files), None)


def _log_submission_time(
    connection: Connection, submission: Submission, bot: int, version: int, owner: int, now: float
) -> None:
    """Log that staff set the time of submission of a version. bot, version, owner: their ids."""
    assert submission.received_at is not None
    actor, time = submission.submitted_by, format_local_time(submission.received_at)
    reason = f"time of submission {time}, set by {actor}"
    entry = store.AuditEntry(actor, "receive", reason, now, bot=bot, version=version, user_id=owner)
    store.log_action(connection, entry)


@dataclass(frozen=True, slots=True)
class RemainingQuota:
    """The remaining quota of a user. bots: the names of their bots. can_add_bot: whether one more is allowed.

    remaining: submissions left today. suggested_name: a name for a first bot.
    limit: submissions per day; the day ends at resets_at, in seconds since 1970.
    max_upload_mb: the maximum size of one submission. disabled_bots: (name, reason) of bots that don't play until staff
    activates a version. owners: (login, name) of the users for whom staff may submit.
    """

    bots: tuple[str, ...]
    suggested_name: str | None
    can_add_bot: bool
    remaining: int
    limit: int
    resets_at: float
    max_upload_mb: int
    deadlines: tuple[DeadlineSummary, ...]
    disabled_bots: tuple[tuple[str, str], ...]
    owners: tuple[tuple[str, str], ...] | None


def get_remaining_quota(ladder: Ladder, context: ViewContext, login: str | None = None) -> RemainingQuota:
    """Return what the viewer, or the user of a login, may still submit; teams share quotas."""
    connection, quotas = context.connection, ladder.last_settings.quotas
    owner_login = login or context.viewer.login
    owner = None if owner_login is None else store.find_user(connection, owner_login)
    party = {} if owner is None else store.get_party(connection, owner)
    bots = bots_of_party(connection, party)
    day_begin = context.now - context.now % DAY_S
    submissions = store.count_submissions_since(connection, party, day_begin)
    disablings = ((bot, find_disabling(connection, bot)) for bot in bots)
    quota = RemainingQuota(
        bots=tuple(bot.name for bot in bots),
        suggested_name=None if owner is None or bots else _name_first_bot(owner),
        can_add_bot=len(bots_in_quota(connection, party)) < quotas.max_bots_per_user,
        remaining=max(0, quotas.max_submissions_per_day - submissions),
        limit=quotas.max_submissions_per_day,
        resets_at=day_begin + DAY_S,
        max_upload_mb=quotas.max_upload_mb,
        deadlines=_list_deadlines(connection, ladder.last_settings, owner),
        disabled_bots=tuple((bot.name, entry.reason) for bot, entry in disablings if entry is not None),
        owners=_list_possible_owners(connection) if context.viewer.staff else (),
    )
    return hide_fields(quota, context.viewer, owner_login)


def _list_deadlines(
    connection: Connection, settings: LadderSettings, owner: store.User | None
) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they apply to a user, without late days if no submission of the user is accepted."""
    if owner is not None and not (owner.suspended or owner.withdrawn):
        return deadlines_of_user(connection, settings, owner.id)
    deadlines = deadlines_of_user(connection, settings, None if owner is None else owner.id, is_out=True)
    return tuple(replace(deadline, late_until=None, late_days_left=None) for deadline in deadlines)


def _list_possible_owners(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Return (login, name) of each user for whom staff may submit."""
    users = store.all_users(connection)
    return tuple(
        (user.login, user.name)
        for user in users
        if not (user.staff or user.suspended or user.withdrawn or user.waiting)
    )


def deadlines_of_bot(ladder: Ladder, context: ViewContext, name: str) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they apply to a bot's owner, with versions of this bot alone.

    Return none for a reference bot or a viewer without permission.
    """
    bot = store.find_bot(context.connection, name)
    if bot is None or bot.is_reference or not context.viewer.can_view(BotPage, "deadlines", bot.login):
        return ()

    def filter_refs(version_refs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(version_ref for version_ref in version_refs if version_ref.rpartition("@")[0] == name)

    deadlines = (
        replace(deadline, counting=filter_refs(deadline.counting), unchecked=filter_refs(deadline.unchecked))
        for deadline in deadlines_of_user(context.connection, ladder.last_settings, bot.owner_id)
    )
    return tuple(hide_fields(deadline, context.viewer, bot.login) for deadline in deadlines)


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
    """Store a reference bot as a new version, to be checked, unless its newest version has the same files.

    Raises LadderError if a user's bot has the name.
    """
    owner = store.find_user(connection, STAFF_USER.login)
    assert owner is not None, "create_ladder adds the staff"
    bundle = reference.bundle
    namesake = find_similar_bot(connection, reference.name)
    if namesake is not None and not namesake.is_reference:
        raise LadderError(
            f'the bot "{escape_control(namesake.name)}" belongs to a user.\n'
            "Give the reference bot another name: NAME=BOT"
        )
    name = reference.name if namesake is None else namesake.name
    bot = store.get_or_create_bot(connection, name, owner.id, timestamp, is_reference=True)
    for newest in store.versions_of(connection, bot)[-1:]:
        has_same_files = (newest.digest, newest.single_file_name) == (bundle.digest, bundle.file)
        if has_same_files and not newest.is_check_abandoned:
            return _describe_acceptance(connection, newest.id, duplicate=True, received_at=None)
    store.insert_archive(connection, bundle.digest, bundle.file, bundle.archive)
    version = store.add_version(connection, bot, bundle.digest, single_file_name=bundle.file, timestamp=timestamp)
    return _describe_acceptance(connection, version, duplicate=False, received_at=None)


def submit_reference(ladder: Ladder, argument: str) -> AcceptedSubmission:
    """Submit a reference bot, named like any bot argument. Raises as `read_reference` and `save_reference` do."""
    reference, now = read_reference(argument), ladder.clock()
    return ladder.database.write(lambda connection: save_reference(connection, reference, now))


def normalize_bot_name(name: str) -> str:
    """Return a bot's name in NFC. Raises LadderError for a name that results or spreadsheets can't contain."""
    try:
        normalized = normal_name(name)
    except ValueError as error:
        raise LadderError(f"{error}.\n{_NAMING}") from None
    if "@" in normalized:
        raise LadderError(f'the name "{escape_control(normalized)}" contains "@", which marks a version.\n{_NAMING}')
    if escape_csv_cell(normalized) != normalized:
        raise LadderError(f'the name "{escape_control(normalized)}" begins like a formula of a spreadsheet.\n{_NAMING}')
    return normalized


def find_similar_bot(connection: Connection, name: str) -> store.BotRecord | None:
    """Return the bot of a name, else one whose name looks alike by `fold_name`; None without one."""
    bots = [bot for bot in store.all_bots(connection) if fold_name(bot.name) == fold_name(name)]
    return min(bots, key=lambda bot: (bot.name != name, bot.name.casefold() != name.casefold()), default=None)


def describe_party(login: str, party: Collection[int]) -> str:
    """Return the owner of a quota as text: the user, or the user's team."""
    return escape_control(login) if len(party) == 1 else f"the team of {escape_control(login)}"


def _require_bot_quota(connection: Connection, party: Collection[int], settings: LadderSettings) -> None:
    """Raise LadderError if a party may not have one more bot."""
    names = [bot.name for bot in bots_in_quota(connection, party)]
    max_bots = settings.quotas.max_bots_per_user
    if len(names) >= max_bots:
        raise LadderError(
            f"the quota of {format_count(max_bots, 'bot')} for a user or team is used up: {', '.join(names)}.\n"
            "Submit a version of one of them, by its name."
        )
