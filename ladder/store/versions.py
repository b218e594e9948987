"""Store bots and their versions, whose status is queued, checking, accepted or rejected.

At most one version of a bot is active."""

import json
import math
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, ScalarSelect, Select, and_, case, delete, func, insert, or_, select, tuple_, update

from ladder.store import events
from ladder.store.retries import WAITING, AttemptCost, release_lease, retry_is_due
from ladder.store.schema_tables import archives, audit_log, bots, check_steps, users, versions
from ladder.store.users import IS_ACTIVE_USER, PARTY

QUEUED, CHECKING, ACCEPTED, REJECTED = WAITING, "checking", "accepted", "rejected"
LADDER_ACTOR = "ladder"  # the actor of automatic decisions


@dataclass(frozen=True, slots=True)
class BotRecord:
    """A bot, with its owner's login and pseudonym, and the id of the version that plays: none of a user that left."""

    id: int
    name: str
    owner_id: int
    login: str
    pseudonym: str
    is_reference: bool
    active_version_id: int | None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a bot. Times are Unix times.

    digest: of the submitted files. built_digest: of the files that are played, None before the build.
    command: starts the version; None until it was checked.
    status: QUEUED, CHECKING, ACCEPTED or REJECTED.
    attempts: failed attempts of its check.
    """

    id: int
    bot: int
    name: str
    number: int
    owner_id: int
    is_reference: bool
    digest: str
    single_file_name: str | None
    built_digest: str | None
    command: tuple[str, ...] | None
    language: str | None
    status: str
    attempts: int
    rejection_reason: str | None
    submitted_at: float
    received_at: float  # submitted_at, unless staff set another time
    submitted_by: str | None  # a login
    checked_at: float | None
    is_active: bool
    login: str
    pseudonym: str
    is_locked_out: bool  # the owner is suspended, withdrawn or not approved
    owner_name: str
    shows_name: bool  # whether the owner agreed to have the name on podiums
    party: int  # identifies the team or owner; versions of one party never meet

    @property
    def version_ref(self) -> str:
        """The version ref, such as "honest@3"."""
        return f"{self.name}@{self.number}"

    @property
    def is_check_abandoned(self) -> bool:
        """Return whether the version is rejected because its check was abandoned."""
        return self.status == REJECTED and self.checked_at is None


_BOT = select(
    bots.c.id, bots.c.name, bots.c.owner_id, users.c.login, users.c.pseudonym, bots.c.is_reference,
    case((IS_ACTIVE_USER, bots.c.active_version_id)),
).join(users, users.c.id == bots.c.owner_id)  # fmt: skip

_PLAYS = and_(bots.c.active_version_id == versions.c.id, IS_ACTIVE_USER)

_VERSION = select(
    versions.c.id, versions.c.bot, bots.c.name, versions.c.number, bots.c.owner_id, bots.c.is_reference,
    versions.c.digest, versions.c.single_file_name, versions.c.built_digest, versions.c.command, versions.c.language,
    versions.c.status, versions.c.attempts, versions.c.rejection_reason, versions.c.submitted_at,
    versions.c.received_at, versions.c.submitted_by, versions.c.checked_at,
    func.coalesce(_PLAYS, False).label("is_active"), users.c.login, users.c.pseudonym,
    (~IS_ACTIVE_USER).label("is_locked_out"), users.c.name.label("owner_name"), users.c.shows_name, PARTY,
).join(bots, bots.c.id == versions.c.bot).join(users, users.c.id == bots.c.owner_id)  # fmt: skip


def _read_versions(connection: Connection, query: Select[tuple[object, ...]]) -> list[Version]:
    """Return the versions of a query with the columns of Version, whose command is stored as JSON."""
    rows = []
    for row in connection.execute(query).mappings():
        command = None if row["command"] is None else tuple(json.loads(row["command"]))
        flags = {name: bool(row[name]) for name in ("is_active", "is_locked_out")}
        rows.append(Version(**{**row, **flags, "command": command}))
    return rows


# --- bots -------------------------------------------------------------------------------------------------------------


def get_or_create_bot(
    connection: Connection, name: str, owner_id: int, timestamp: float, is_reference: bool = False
) -> int:
    """Return the id of the bot with this name, which is created if it is new. The caller checks the owner."""
    bot = find_bot(connection, name)
    if bot is not None:
        return bot.id
    values = {"name": name, "owner_id": owner_id, "created_at": timestamp, "is_reference": is_reference}
    return int(connection.execute(insert(bots).values(values).returning(bots.c.id)).scalar_one())


def find_bot(connection: Connection, name: str) -> BotRecord | None:
    """Return the bot with this name, None if it doesn't exist."""
    row = connection.execute(_BOT.where(bots.c.name == name)).one_or_none()
    return None if row is None else BotRecord(*row)


def all_bots(connection: Connection) -> list[BotRecord]:
    """Return all bots, in order of name."""
    return [BotRecord(*row) for row in connection.execute(_BOT.order_by(bots.c.name))]


# --- versions ---------------------------------------------------------------------------------------------------------


def add_version(
    connection: Connection,
    bot: int,
    digest: str,
    *,
    single_file_name: str | None,
    timestamp: float,
    received_at: float | None = None,
    submitted_by: str | None = None,
) -> int:
    """Add a bot's next version, to be checked; return its id. The caller has stored its archive.

    received_at: the time of submission that counts, `timestamp` by default. submitted_by: a login.
    """
    last_number = connection.scalar(select(func.max(versions.c.number)).where(versions.c.bot == bot)) or 0
    values = {
        "bot": bot,
        "number": last_number + 1,
        "digest": digest,
        "single_file_name": single_file_name,
        "status": QUEUED,
        "attempts": 0,
        "submitted_at": timestamp,
        "received_at": timestamp if received_at is None else received_at,
        "submitted_by": submitted_by,
        "last_audit_id": connection.scalar(select(func.max(audit_log.c.id))) or 0,
    }
    id = int(connection.execute(insert(versions).values(values).returning(versions.c.id)).scalar_one())
    events.record_event(connection, events.SUBMITTED, timestamp, version=id)
    return id


def set_received_at(connection: Connection, version: int, received_at: float) -> None:
    """Change a version's time of submission that counts for deadlines. The caller writes the audit log."""
    connection.execute(update(versions).where(versions.c.id == version).values(received_at=received_at))


def get_version_by_id(connection: Connection, id: int) -> Version:
    """Return a version. Raises KeyError if no version has the id."""
    rows = _read_versions(connection, _VERSION.where(versions.c.id == id))
    if not rows:
        raise KeyError(id)
    return rows[0]


def get_versions_by_id(connection: Connection, ids: Sequence[int]) -> list[Version]:
    """Return the versions with these ids, in the given order. Raises KeyError for an unknown id."""
    by_id = {version.id: version for version in _read_versions(connection, _VERSION.where(versions.c.id.in_(ids)))}
    return [by_id[id] for id in ids]


def accepted_versions(connection: Connection) -> list[Version]:
    """Return all accepted versions, active or not, in order of id."""
    return _read_versions(connection, _VERSION.where(versions.c.status == ACCEPTED).order_by(versions.c.id))


def versions_of(connection: Connection, bot: int) -> list[Version]:
    """Return a bot's versions, in order of number."""
    return _read_versions(connection, _VERSION.where(versions.c.bot == bot).order_by(versions.c.number))


def active_versions(connection: Connection) -> list[Version]:
    """Return the active versions, in order of id."""
    return _read_versions(connection, _VERSION.where(_PLAYS).order_by(versions.c.id))


def unchecked_versions(connection: Connection, timestamp: float) -> list[Version]:
    """Return the versions received until a Unix time whose check isn't finished, in order of id.

    Versions of suspended, withdrawn and not approved users are left out.
    """
    conditions = (versions.c.status.in_((QUEUED, CHECKING)), versions.c.received_at <= timestamp, IS_ACTIVE_USER)
    return _read_versions(connection, _VERSION.where(*conditions).order_by(versions.c.id))


def version_refs_by_id(connection: Connection, ids: Sequence[int] | None = None) -> dict[int, str]:
    """Return the version refs by id, of all versions or of `ids`."""
    query = select(versions.c.id, bots.c.name, versions.c.number).join(bots, bots.c.id == versions.c.bot)
    rows = connection.execute(query if ids is None else query.where(versions.c.id.in_(ids)))
    return {id: f"{name}@{number}" for id, name, number in rows}


def count_submissions_since(connection: Connection, party: Collection[int], timestamp: float) -> int:
    """Count the versions of these owners' bots that were submitted since a Unix time.

    Versions of reference bots, and those whose time of submission was set by staff, don't count.
    """
    query = (
        select(func.count())
        .select_from(versions.join(bots, bots.c.id == versions.c.bot))
        .where(bots.c.owner_id.in_(party), bots.c.is_reference.is_(False))
        .where(versions.c.submitted_at >= timestamp, versions.c.received_at == versions.c.submitted_at)
    )
    return int(connection.scalar(query) or 0)


# --- files ------------------------------------------------------------------------------------------------------------


def insert_archive(connection: Connection, digest: str, single_file_name: str | None, archive: bytes) -> None:
    """Store the archive of a bot's files, unless it is already stored."""
    file_name = single_file_name or ""
    query = select(archives.c.digest).where(archives.c.digest == digest, archives.c.single_file_name == file_name)
    if connection.execute(query).first() is None:
        data = zlib.compress(archive)
        connection.execute(insert(archives).values(digest=digest, single_file_name=file_name, data=data))


def get_archive(connection: Connection, digest: str, single_file_name: str | None) -> bytes:
    """Return the archive of a bot's files. Raises KeyError if it isn't stored."""
    key = (archives.c.digest == digest, archives.c.single_file_name == (single_file_name or ""))
    data = connection.scalar(select(archives.c.data).where(*key))
    if data is None:
        raise KeyError(digest)
    return zlib.decompress(data)


def list_archives(connection: Connection) -> set[tuple[str, str]]:
    """Return (digest, file name or "") of the stored archives; those of erased users are missing."""
    return {
        (digest, file) for digest, file in connection.execute(select(archives.c.digest, archives.c.single_file_name))
    }


# --- checks -----------------------------------------------------------------------------------------------------------


def claim_check(connection: Connection, runner: str, held_ids: Sequence[int], timestamp: float) -> Version | None:
    """Lease the next version to be checked to a runner, None if no check is due.

    Reference bots come first. Then owners take turns, each with their oldest version. Versions of suspended, withdrawn
    and not approved users wait. Versions whose check failed on a host come last, after a pause.
    held_ids: the versions that the runner checks now; they aren't returned, even if others have leased them since. A
    version that is leased to the runner but not in `held_ids` is returned first: the reply to its lease was lost.
    """
    is_lost_lease = and_(versions.c.status == CHECKING, versions.c.runner == runner)
    is_due = and_(versions.c.status == QUEUED, retry_is_due(versions, timestamp))
    order = (versions.c.attempts, bots.c.is_reference.desc(), _count_earlier_versions(), versions.c.id)
    for condition in (is_lost_lease, is_due):
        query = _VERSION.where(condition, versions.c.id.not_in(held_ids), IS_ACTIVE_USER).order_by(*order).limit(1)
        for version in _read_versions(connection, query):
            lease = update(versions).where(versions.c.id == version.id).values(status=CHECKING, runner=runner)
            connection.execute(lease)
            _delete_steps(connection, version.id)  # of an earlier attempt
            events.record_event(connection, events.CHECK_STARTED, timestamp, version=version.id)
            return version
    return None


def _count_earlier_versions() -> ScalarSelect[int]:
    """Return, as a subquery, how many earlier versions of the same owner were unchecked at a version's submission."""
    earlier, earlier_bots = versions.alias(), bots.alias()
    return (
        select(func.count())
        .select_from(earlier.join(earlier_bots, earlier_bots.c.id == earlier.c.bot))
        .where(earlier_bots.c.owner_id == bots.c.owner_id, earlier.c.id < versions.c.id)
        .where(or_(earlier.c.checked_at.is_(None), earlier.c.checked_at >= versions.c.submitted_at))
        .correlate(versions, bots)
        .scalar_subquery()
    )


def release_check(
    connection: Connection,
    version: int,
    runner: str,
    reason: str,
    timestamp: float,
    cost: AttemptCost = AttemptCost.ATTEMPT,
) -> bool | None:
    """Queue a version's check again after a failed attempt; return whether it is abandoned, and the version rejected.

    reason: why the attempt failed. Return None, without any effect, if the check isn't leased to the runner any more.
    """
    is_abandoned = release_lease(connection, versions, version, runner, cost, timestamp)
    if is_abandoned is not None:
        _delete_steps(connection, version)
    if is_abandoned:
        values = {"status": REJECTED, "rejection_reason": f"the check couldn't be completed: {reason}"}
        connection.execute(update(versions).where(versions.c.id == version).values(**values))
        events.record_event(connection, events.CHECK_FINISHED, timestamp, version=version)
    return is_abandoned


def save_check_steps(
    connection: Connection, version: int, runner: str, rows: Sequence[tuple[int, str, bytes]], timestamp: float
) -> None:
    """Store steps, (number, data, build log), of a check that hasn't ended.

    A step replaces all stored ones with the same or a higher number, since a repeated check reports them again. Without
    effect if the check isn't leased to the runner any more.
    """
    lease = select(versions.c.id).where(versions.c.id == version, versions.c.runner == runner)
    if connection.execute(lease).first() is None:
        return
    for number, data, log in rows:
        _delete_steps(connection, version, number)
        connection.execute(insert(check_steps).values(version=version, step=number, data=data, build_log=log or None))
    events.record_event(connection, events.CHECK_STEP, timestamp, version=version)


def _delete_steps(connection: Connection, version: int, start: int = 0) -> None:
    connection.execute(delete(check_steps).where(check_steps.c.version == version, check_steps.c.step >= start))


def finish_check(
    connection: Connection,
    version: int,
    results: Sequence[tuple[str, bytes]],
    *,
    reason: str | None,
    command: Sequence[str] | None,
    built_digest: str | None,
    timestamp: float,
    language: str | None = None,
) -> bool:
    """Store the result of a check; return False, without any effect, if it has ended already.

    results: (data, build log) of all steps, which replace earlier ones. reason: why it is rejected; None: accepted.
    command: of the loaded bot, None if it couldn't be loaded. built_digest: of the built files, None without a build.
    Raises KeyError for an unknown version.
    """
    if get_version_by_id(connection, version).status not in (QUEUED, CHECKING):
        return False
    rows = [
        {"version": version, "step": number, "data": data, "build_log": log or None}
        for number, (data, log) in enumerate(results, 1)
    ]
    _delete_steps(connection, version)
    if rows:
        connection.execute(insert(check_steps), rows)
    values = {
        "status": ACCEPTED if reason is None else REJECTED,
        "runner": None,
        "rejection_reason": reason,
        "command": None if command is None else json.dumps(list(command)),
        "built_digest": built_digest,
        "language": language,
        "checked_at": timestamp,
    }
    connection.execute(update(versions).where(versions.c.id == version).values(values))
    events.record_event(connection, events.CHECK_FINISHED, timestamp, version=version)
    return True


def get_check_steps(connection: Connection, version: int) -> list[str]:
    """Return the steps of a version's check in order, each as JSON. While the check runs: the steps so far."""
    query = select(check_steps.c.data).where(check_steps.c.version == version).order_by(check_steps.c.step)
    return list(connection.scalars(query))


def get_build_log(connection: Connection, version: int) -> bytes:
    """Return the output of the version's build, b"" if it printed nothing."""
    has_one = and_(check_steps.c.version == version, check_steps.c.build_log.is_not(None))
    return b"".join(connection.scalars(select(check_steps.c.build_log).where(has_one).order_by(check_steps.c.step)))


# --- active versions --------------------------------------------------------------------------------------------------


def has_newer_version(connection: Connection, version: Version) -> bool:
    """Return whether a version of the same bot that was received later is accepted."""
    is_newer = tuple_(versions.c.received_at, versions.c.number) > tuple_(version.received_at, version.number)
    query = select(versions.c.id).where(versions.c.bot == version.bot, is_newer, versions.c.status == ACCEPTED)
    return connection.execute(query.limit(1)).first() is not None


def is_overruled(connection: Connection, version: Version) -> bool:
    """Return whether a user has activated or disabled a version of the bot since this one was submitted."""
    decisions = (
        select(audit_log.c.id)
        .join(versions, versions.c.id == version.id)
        .where(
            audit_log.c.bot == version.bot,
            audit_log.c.id > versions.c.last_audit_id,
            audit_log.c.actor != LADDER_ACTOR,
            audit_log.c.action.in_(("activate", "disable")),
        )
    )
    return connection.execute(decisions.limit(1)).first() is not None


def disabled_versions(connection: Connection) -> dict[int, str]:
    """Return the ids of versions that a user has disabled, with the reasons.

    Disabling a bot disables its existing versions, and new ones until a user activates one. Each version stays disabled
    until a user activates it.
    """
    return {version: reason for version, (reason, _) in _list_disabled(connection).items()}


def disabling_times(connection: Connection) -> dict[int, float]:
    """Return the ids of disabled versions, with the Unix time from which they don't count at deadlines.

    A decision of staff applies to all deadlines: -inf. A bot that its owner disabled, by joining a team, keeps what
    counted before.
    """
    return {version: disabled_at for version, (_, disabled_at) in _list_disabled(connection).items()}


def _list_disabled(connection: Connection, bot: int | None = None) -> dict[int, tuple[str, float]]:
    """Return the versions that people disabled: (reason, time as of `disabling_times`) by id; only of a bot, if given.

    A later activation of the version, or of the bot before the version was submitted, ends it.
    """
    query = (
        select(
            versions.c.id.label("version"), versions.c.last_audit_id, audit_log.c.id.label("audit_id"),
            audit_log.c.action, audit_log.c.version.label("activated"), audit_log.c.reason, audit_log.c.created_at,
            (audit_log.c.actor == users.c.login).label("by_owner"),
        )
        .join(audit_log, audit_log.c.bot == versions.c.bot)
        .join(bots, bots.c.id == versions.c.bot)
        .outerjoin(users, users.c.id == bots.c.owner_id)
        .where(audit_log.c.actor != LADDER_ACTOR, audit_log.c.action.in_(("activate", "disable")))
        .order_by(audit_log.c.id)
    )  # fmt: skip
    if bot is not None:
        query = query.where(versions.c.bot == bot)
    disabled: dict[int, tuple[str, float]] = {}
    for row in connection.execute(query):
        is_after_submission = row.audit_id > row.last_audit_id
        if row.action == "disable":
            disabled[row.version] = row.reason, row.created_at if row.by_owner and is_after_submission else -math.inf
        elif row.activated == row.version or not is_after_submission:
            disabled.pop(row.version, None)
    return disabled


def barred_versions(connection: Connection, bot: int) -> dict[int, str]:
    """Return the ids of a bot's disabled and auto-disabled versions, which only staff can activate, with reasons."""
    barred: dict[int, str] = {}
    for entry in events.list_audit_entries(connection, bot, actions=("activate", "auto_disable")):
        if entry.version is not None and entry.action == "auto_disable":
            barred[entry.version] = f"auto-disabled: {entry.reason}"
        else:
            barred.pop(entry.version or 0, None)
    disabled = _list_disabled(connection, bot)
    return barred | {version: f"disabled: {reason}" for version, (reason, _) in disabled.items()}


def chosen_versions(connection: Connection) -> list[tuple[int, float]]:
    """Return (version id, Unix time) of all activations by users, in order of time."""
    by_people = and_(audit_log.c.actor != LADDER_ACTOR, audit_log.c.action == "activate")
    query = select(audit_log.c.version, audit_log.c.created_at).where(by_people)
    rows = connection.execute(query.order_by(audit_log.c.created_at, audit_log.c.id))
    return [(version, activated_at) for version, activated_at in rows]


def set_active_version(connection: Connection, version: Version, actor: str, reason: str, timestamp: float) -> None:
    """Make an accepted version its bot's active one, and write the audit log."""
    entry = events.AuditEntry(actor, "activate", reason, timestamp, bot=version.bot, version=version.id)
    events.log_action(connection, entry)
    connection.execute(update(bots).where(bots.c.id == version.bot).values(active_version_id=version.id))


def deactivate_bot(connection: Connection, bot: int, action: str, actor: str, reason: str, timestamp: float) -> None:
    """Leave a bot without an active version, and write the audit log; `action` is disable or auto_disable."""
    active_id = connection.scalar(select(bots.c.active_version_id).where(bots.c.id == bot))
    events.log_action(connection, events.AuditEntry(actor, action, reason, timestamp, bot=bot, version=active_id))
    connection.execute(update(bots).where(bots.c.id == bot).values(active_version_id=None))
