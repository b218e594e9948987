"""A submission: what somebody hands in becomes a bot's next version, or is refused with the reason."""

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import BotError, Bundle, cell, intake_apart, load, normal_name, shown
from ladder.access import visible
from ladder.service.due import due_of, late_for
from ladder.service.known import acting_owner, demand_unsuspended, known_owner, viewer_for
from ladder.service.ladder import STAFF, Ladder
from ladder.service.settings import LadderError, Settings
from ladder.store.database import (
    Act,
    KnownBot,
    Version,
    add_version,
    all_bots,
    all_owners,
    disabled_versions,
    find_owner,
    note_act,
    party_of,
    put_bot,
    put_file,
    set_received,
    submitted_since,
    versions_of,
)
from ladder.views import Allowance, Reader

DAY_S = 86_400  # of UTC

_NAMING = 'Name the bot otherwise: --name NAME, on a page "Name of the bot"'


@dataclass(frozen=True, slots=True)
class Taken:
    """A submission that was taken in. `late`: the deadline in whose grace it came, `left`: submissions of today.

    again: nothing was, since the files were there already. disabled: why it won't play although it be fit, until staff
    activates it; None if it may. received: when it was handed in, in seconds since 1970; None for a reference bot.
    """

    label: str
    name: str
    number: int
    version: int
    again: bool
    late: str | None
    left: int | None
    disabled: str | None = None
    received: float | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A bot's files, to be taken in under a name. by: who submits them.

    received: when they were handed in, as staff says, in seconds since 1970, in place of what staff said of the same
    files before; None: now, by the owner.
    """

    login: str
    name: str
    bundle: Bundle
    by: str
    received: float | None = None


def submit(
    ladder: Ladder,
    path: Path,
    login: str,
    name: str | None = None,
    received: float | None = None,
    by: str | None = None,
) -> Taken:
    """Take a file, a folder, a zip or a tar in as a new version of an owner's bot, or a teammate's, to be examined.

    The same files submitted twice in a row are one version. received, by: as of a Submission; where staff says when, no
    quota of a day holds. Raises BotError for what can't be a bot, LadderError for an unknown owner, another's bot, a
    quota, or a time to come.
    """
    settings = ladder.settings
    with ladder.database.read() as connection:
        acting_owner(connection, login)
    demand_past(ladder, received)
    bundle = intake_apart(path, most_upload=settings.quotas.upload_mb << 20)
    submission = Submission(login, bot_name(name or bundle.name), bundle, by or login, received)
    now = ladder.clock()
    return ladder.database.write(lambda connection: _put(connection, settings, submission, now))


@dataclass(frozen=True, slots=True)
class Collected:
    """What became of many people's files, by login: they were taken, or refused with the reason."""

    taken: dict[str, Taken]
    refused: dict[str, str]


def submit_all(ladder: Ladder, folder: Path, received: float | None, by: str) -> Collected:
    """Submit what each subfolder holds for the owner whose login is its name.

    It becomes a version of the person's only bot. A first bot is called by the pseudonym. Raises LadderError where
    there is no subfolder, OSError.
    """
    found = Collected({}, {})
    for each in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        held = [path for path in each.iterdir() if not path.name.startswith(".")]
        try:
            if any(path.is_symlink() for path in (each, *held)):
                raise LadderError("it is a link, or holds one.\nPut the files themselves there.")
            with ladder.database.read() as connection:
                name = _name_for(connection, each.name)
            path = held[0] if len(held) == 1 else each
            found.taken[each.name] = submit(ladder, path, each.name, name, received, by)
        except (BotError, LadderError) as problem:
            found.refused[each.name] = str(problem)
    if not (found.taken or found.refused):
        raise LadderError(
            f"{shown(folder)} has no subfolder.\nPut each person's files into one whose name is the login."
        )
    return found


def _name_for(connection: Connection, login: str) -> str:
    """Return the name of a person's only bot, or of a first one. Raises LadderError."""
    owner = known_owner(connection, login)
    own = [bot.name for bot in all_bots(connection) if bot.owner == owner.id]
    if len(own) > 1:
        raise LadderError(f"which of {', '.join(map(shown, own))} is it?\nSubmit it by itself, with --name.")
    return own[0] if own else "-".join(owner.pseudonym.split())


def _put(connection: Connection, settings: Settings, new: Submission, now: float) -> Taken:
    """Take a submission in. Raises LadderError."""
    login, bundle, received = new.login, new.bundle, now if new.received is None else new.received
    acting = acting_owner(connection, login)
    owner, party = acting.id, party_of(connection, acting)
    known = find_bot(connection, new.name)
    viewer = replace(viewer_for(connection, acting), staff=False)  # staff, too, names the owner
    if known is not None and not viewer.may("submit", known.login):
        raise LadderError(f'the bot "{shown(new.name)}" is another\'s.\n{_NAMING}')
    if known is None:
        _check_bots(connection, party, settings)
    else:
        demand_unsuspended(connection, known)
    versions = [] if known is None else versions_of(connection, known.id)
    same = _same(versions, new, received)
    if same is not None:
        corrected = same.received != same.at and received != same.received
        if new.received is not None and (received < same.received or corrected):
            set_received(connection, same.id, received)
            _note_received(connection, new, same.bot, same.id, owner, now)
            same = replace(same, received=received)
        return Taken(same.label, same.name, same.number, same.id, True, None, None, received=same.received)
    today = submitted_since(connection, party, now - now % DAY_S)
    most = settings.quotas.submissions_per_day
    if new.received is None and today >= most:
        wait = time.strftime("%H:%M", time.gmtime(DAY_S - now % DAY_S))
        raise LadderError(
            f"{team_or(login, party)} has submitted {today} versions today, and {most} are allowed.\nNext in {wait} h."
        )
    called, number = known.name if known else new.name, 1 + len(versions)
    bot = put_bot(connection, called, owner, now)
    put_file(connection, bundle.digest, bundle.file, bundle.archive)
    version = add_version(connection, bot, bundle.digest, bundle.file, now, received, new.by)
    if new.received is not None:
        _note_received(connection, new, bot, version, owner, now)
    return Taken(
        label=f"{called}@{number}",
        name=called,
        number=number,
        version=version,
        again=False,
        late=late_for(connection, settings, known.owner if known else owner, received),
        left=most - today - 1 if new.received is None else None,
        disabled=disabled_versions(connection).get(version),
        received=received,
    )


def _same(versions: Sequence[Version], submission: Submission, received: float) -> Version | None:
    """Return the version that the files are already: the one that stood then, or the next one to be handed in.

    Where staff corrects a time, also one whose time staff said.
    """
    order = sorted(versions, key=lambda version: (version.received, version.number))
    before = [version for version in order if version.received <= received]
    near = [*before[-1:], *order[len(before) :][:1]]
    late = [version for version in reversed(order) if version.received != version.at]
    files = (submission.bundle.digest, submission.bundle.file)
    return next((each for each in (*near, *late) if (each.digest, each.file) == files and not each.unexamined), None)


def _note_received(connection: Connection, new: Submission, bot: int, version: int, owner: int, now: float) -> None:
    assert new.received is not None
    why = f"received at {local_time(new.received)}, as {new.by} says"
    note_act(connection, Act(new.by, "receive", why, now, bot=bot, version=version, owner=owner))


def read_time(ladder: Ladder, text: str, deadline: str | None = None) -> float:
    """Return a time in seconds since 1970. Raises LadderError, also for a day alone.

    Without a zone it is in the deadline's, or in that of all deadlines if it is one, else in this machine's.
    """
    settings = ladder.settings
    due = settings.deadlines if deadline is None else (settings.deadline(deadline),)
    zone = due[0].at.tzinfo if len({each.at.utcoffset() for each in due}) == 1 else None
    try:
        at = datetime.fromisoformat(text.strip())
        if not re.search(r"\d[Tt ]\d", text):
            raise ValueError("a day alone")
        return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise LadderError(
            f'"{shown(text)}" is no time of a day.\nWrite it like 2026-12-01T23:50, or with its zone: '
            "2026-12-01T23:50+01:00"
        ) from None


def local_time(at: float | None) -> str:
    """Return a time, in seconds since 1970, as text with this machine's zone; None is a dash."""
    return "-" if at is None else datetime.fromtimestamp(at).astimezone().isoformat(" ", "minutes")


def demand_past(ladder: Ladder, received: float | None) -> None:
    """Raise LadderError where something would have been received at a time to come."""
    if received is not None and received > ladder.clock():
        raise LadderError(f"{local_time(received)} is still to come.\nGive a time that is over.")


def allowance(ladder: Ladder, reader: Reader, login: str | None = None) -> Allowance:
    """Return what a person, the reader unless another is named, may submit now; in a team, what the team may."""
    connection, login, settings = reader.connection, login or reader.viewer.login, ladder.last_settings
    owner = None if login is None else find_owner(connection, login)
    party = {} if owner is None else party_of(connection, owner)
    bots = _bots_of(connection, party)
    out = owner is None or owner.suspended or owner.gone
    begins = reader.now - reader.now % DAY_S
    today = submitted_since(connection, party, begins)
    quotas = settings.quotas
    result = Allowance(
        bots=tuple(bot.name for bot in bots),
        another=len(bots) < quotas.bots_per_owner,
        left=max(0, quotas.submissions_per_day - today),
        most=quotas.submissions_per_day,
        renewed=begins + DAY_S,
        upload_mb=quotas.upload_mb,
        due=due_of(connection, settings, None if owner is None else owner.id, () if out else bots),
    )
    return visible(result, reader.viewer, login)


@dataclass(frozen=True, slots=True)
class Reference:
    """A bot of the staff's that fixes the scale, as it was read."""

    name: str
    bundle: Bundle


def read_reference(argument: str) -> Reference:
    """Read what a user calls a bot. Raises BotError, LadderError."""
    bot = load([argument])[0][0]
    return Reference(bot_name(bot.name), intake_apart(bot.path))


def put_reference(connection: Connection, reference: Reference, at: float) -> Taken:
    """Take a reference bot in as a new version, to be examined. Raises LadderError if the name is an owner's bot's."""
    owner = find_owner(connection, STAFF.login)
    assert owner is not None, "create makes the staff"
    name, bundle = reference.name, reference.bundle
    known = find_bot(connection, name)
    if known is not None and not known.reference:
        raise LadderError(f'the bot "{shown(name)}" is an owner\'s.\nName the reference otherwise: NAME=BOT')
    bot = put_bot(connection, name, owner.id, at, reference=True)
    versions = versions_of(connection, bot)
    if versions and versions[-1].digest == bundle.digest and not versions[-1].unexamined:
        last = versions[-1]
        return Taken(last.label, name, last.number, last.id, True, None, None)
    put_file(connection, bundle.digest, bundle.file, bundle.archive)
    version = add_version(connection, bot, bundle.digest, bundle.file, at)
    return Taken(f"{name}@{1 + len(versions)}", name, 1 + len(versions), version, False, None, None)


def submit_reference(ladder: Ladder, argument: str) -> Taken:
    """Take in a bot of the staff's, by what a user calls a bot. Raises as `read_reference` and `put_reference` do."""
    reference, now = read_reference(argument), ladder.clock()
    return ladder.database.write(lambda connection: put_reference(connection, reference, now))


def bot_name(name: str) -> str:
    """Return a bot's name as it is kept. Raises LadderError for one that results or a spreadsheet can't hold."""
    try:
        name = normal_name(name)
    except ValueError as problem:
        raise LadderError(f"{problem}.\n{_NAMING}") from None
    if "@" in name:
        raise LadderError(f'the name "{shown(name)}" has an "@", which stands before a version\'s number.\n{_NAMING}')
    if cell(name) != name:
        raise LadderError(f'the name "{shown(name)}" begins as a formula of a spreadsheet does.\n{_NAMING}')
    return name


def find_bot(connection: Connection, name: str) -> KnownBot | None:
    """Return the bot of a name, whatever its case: names that look alike are one bot's."""
    return next((bot for bot in all_bots(connection) if bot.name.casefold() == name.casefold()), None)


def team_or(login: str, party: Collection[int]) -> str:
    """Return whose a quota is, in words."""
    return shown(login) if len(party) == 1 else f"the team of {shown(login)}"


def _check_bots(connection: Connection, party: Collection[int], settings: Settings) -> None:
    names = [bot.name for bot in _bots_of(connection, party)]
    most = settings.quotas.bots_per_owner
    if len(names) >= most:
        raise LadderError(
            f"{most} bots of an owner or a team are allowed (ladder.toml), and there are {', '.join(names)}.\n"
            f'Submit a version of one, by its name (--name {names[0]}, on a page "Name of the bot")'
        )


def _bots_of(connection: Connection, party: Collection[int]) -> list[KnownBot]:
    """Return the bots of those of a party who take part."""
    out = {owner.id for owner in all_owners(connection) if owner.suspended or owner.gone}
    return [bot for bot in all_bots(connection) if bot.owner in party and not (bot.reference or bot.owner in out)]
