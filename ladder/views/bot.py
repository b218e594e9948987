"""A bot: its versions and their examinations, where it stands, its faults, its last matches, and what was decided."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from arena.examine import StepView
from arena.run import Example, example
from ladder.access import visible
from ladder.rating import Estimate
from ladder.schedule import LATELY, SLOW, is_slow, mean_answer_us
from ladder.standings import Row, Standings, Trend
from ladder.store import KeptExchange
from ladder.store.database import (
    PLAYED,
    TABLES,
    Version,
    acts_of,
    all_bots,
    barred_versions,
    exchanges_of,
    find_bot,
    get_build_log,
    get_log,
    get_record,
    last_board,
    points_of_versions,
    spent_lately,
    versions_of,
)
from ladder.views.cursor import cut
from ladder.views.decision import Decision, decider_name, decisions
from ladder.views.duels import Against, against
from ladder.views.front import Due
from ladder.views.match import MatchLine, match_list, outside_finals
from ladder.views.reader import Reader
from ladder.views.seat import SeatShare, seat_shares
from ladder.views.standings import trend
from ladder.views.step import steps_of
from ladder.views.style import BotStyle, bot_style

faults, match_bots, matches, versions = (
    TABLES.tables[name] for name in ("faults", "match_bots", "matches", "versions")
)

_OF_OWNER = ("suspend", "unsuspend", "leave", "return")  # decisions about the owner that are told of the bot
_OWN_ACTS = ("challenge", "choose a version", "read a version's files")


@dataclass(frozen=True, slots=True)
class Sums:
    """What a version's matches add up to. `wins`: a draw among j is 1/j. Times are its own; a match has one peak."""

    matches: int = 0
    games: int = 0
    wins: float = 0.0
    forfeits: int = 0
    faults: int = 0
    requests: int = 0
    time_us: int = 0
    slowest_us: int = 0
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BotVersion:
    """A version. state: queued, examined (at the moment), fit, unfit, for a `reason`. Times: seconds since 1970.

    received: when the owner handed it in, as staff says where that isn't when it was submitted.
    rated, all: what its matches add up to, those that rate, and all that were played. faults: how many of each kind, in
    all that were played; those that follow from others too. barred: why its owner may not choose it.
    by: who submitted it.
    """

    number: int
    state: str
    active: bool
    submitted: float
    received: float | None
    rated: Sums
    all: Sums
    faults: dict[str, int] | None
    digest: str | None
    reason: str | None
    examined: float | None
    barred: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class Examination:
    """How the examination of a version went. build_log: whether its build printed anything."""

    version: int
    steps: tuple[StepView, ...]
    build_log: bool


@dataclass(frozen=True, slots=True)
class DayOfBot:
    """What the last table of a day said of the version that played: rating and adjusted share with their intervals."""

    day: str
    version: int
    rating: Estimate
    adjusted: Estimate | None


@dataclass(frozen=True, slots=True)
class Bot:
    """All that is told of a bot; its owner is told more than others.

    owner: the login. row: its place in the table, None if it isn't there; of: how many rows the table has. examination:
    of the version that was asked for, else of the newest. examples: faulty exchanges, of each kind the first, of that
    version and of the one that plays. last: its last matches, newest first. limit_ms: the time of a request. held:
    why it plays less than others, None if it doesn't. days: what each day's table said of it. against, seats: how the
    version that plays, else the one asked for, fared against others, and in each seat; style: what it does. due: the
    deadlines, with the version of it that counts. may: what the reader may do with it, of ACTS.
    """

    bot: str
    pseudonym: str
    owner: str | None
    reference: bool
    row: Row | None
    of: int
    fair: float | None
    trend: Trend
    limit_ms: int
    held: str | None
    versions: tuple[BotVersion, ...]
    examination: Examination | None
    examples: tuple[Example, ...] | None
    last: tuple[MatchLine, ...]
    days: tuple[DayOfBot, ...]
    against: tuple[Against, ...]
    seats: tuple[SeatShare, ...]
    style: BotStyle | None
    acts: tuple[Decision, ...] | None
    due: tuple[Due, ...] | None
    may: tuple[str, ...]
    change: int | None = None


@dataclass(frozen=True, slots=True)
class BuildLog:
    """What the build of a version printed."""

    version: int
    text: bytes


def bot(reader: Reader, name: str, wanted: int | None = None, last: int = 10, due: tuple[Due, ...] = ()) -> Bot | None:
    """Return all that the reader may know of a bot, None if there is none of the name, or no version of the number.

    `last`: how many matches. due: the deadlines, as they are for the bot and the reader.
    """
    connection, viewer = reader.connection, reader.viewer
    known = find_bot(connection, name)
    versions = [] if known is None else versions_of(connection, known.id)
    asked = next((version for version in reversed(versions) if wanted in (None, version.number)), None)
    if known is None or asked is None:
        return None
    ids = [version.id for version in versions]
    number = {version.id: version.number for version in versions}
    barred = barred_versions(connection, known.id)
    rated, played = _sums(reader, ids, matches.c.rates), _sums(reader, ids)
    kinds = _faults(reader, ids)
    text = last_board(connection)
    table = None if text is None else Standings.from_json(text)
    row = None if table is None else next((row for row in table.rows if row.version == known.active), None)
    shares = {} if row is None or row.adjusted is None else {name: row.adjusted.value}
    acts = acts_of(connection, bot=known.id)
    if viewer.may("hear what was decided about a person", known.login):
        acts += acts_of(connection, owner=known.owner, what=_OF_OWNER)
    whole = Bot(
        bot=known.name,
        pseudonym=known.pseudonym,
        owner=known.login,
        reference=known.reference,
        row=None if row is None else visible(row, viewer, known.login),
        of=0 if table is None else len(table.rows),
        fair=None if table is None else table.fair,
        trend=(trend(connection, shares, reader.now) if shares else {}).get(name, Trend()),
        limit_ms=reader.limit_ms,
        held=None if known.reference else _held(reader, known.active),
        versions=tuple(
            visible(
                BotVersion(
                    number=version.number,
                    state=version.state,
                    active=version.active,
                    submitted=version.at,
                    received=version.received,
                    rated=rated[version.id],
                    all=played[version.id],
                    faults=kinds[version.id],
                    digest=version.digest,
                    reason=version.reason,
                    examined=version.examined_at,
                    barred=barred.get(version.id),
                    by=None if version.by is None else decider_name(reader, version.by),
                ),
                viewer,
                known.login,
            )
            for version in versions
        ),
        examination=Examination(
            asked.number, steps_of(connection, asked.id), get_build_log(connection, asked.id) != b""
        ),
        examples=_examples(reader, [version for version in versions if version.active or version is asked])
        if viewer.sees(Bot, "examples", known.login)
        else None,
        last=match_list(reader, bot=known.id, limit=last).rows if last else (),
        against=against(reader, known.active or asked.id),
        seats=seat_shares(reader, known.active or asked.id),
        style=bot_style(reader, known.active or asked.id, known.login, None if table is None else table.style),
        days=tuple(
            DayOfBot(
                day,
                number[point.version],
                Estimate(point.rating, point.rating_low, point.rating_high),
                None if point.adjusted is None else Estimate(point.adjusted, point.adjusted_low, point.adjusted_high),
            )
            for day, point in points_of_versions(connection, ids)
        ),
        acts=decisions(
            reader,
            sorted(acts, key=lambda act: act.id),
            number,
            known.login,
        ),
        due=due,
        may=tuple(act for act in _OWN_ACTS if viewer.may(act, known.login)),
        change=reader.change,
    )
    return visible(whole, viewer, known.login)


def _held(reader: Reader, version: int | None) -> str | None:
    """Return why the version that plays has fewer matches than others, None where it hasn't."""
    spent = [] if version is None else spent_lately(reader.connection, version, LATELY)
    if not is_slow(spent, reader.limit_ms):
        return None
    return (
        "it plays in every second round only, if others fill the tables without it: its mean answer took"
        f" {mean_answer_us(spent) / 1000:.0f} ms in its last {len(spent)} rated matches, more than {SLOW:.0%} of the"
        f" {reader.limit_ms} ms that are allowed"
    )


def why_none(page: Bot) -> str:
    """Return why no version of a bot plays, to its owner: what was decided last, or what examinations said."""
    for out, back, told in (("suspend", "unsuspend", "is suspended"), ("leave", "return", "left the course")):
        of_owner = [act for act in page.acts or () if act.what in (out, back)]
        if of_owner and of_owner[-1].what == out:
            return f"its owner {told}: {of_owner[-1].why}"
    decided = [act for act in page.acts or () if act.what in ("activate", "bench", "disable")]
    last = decided[-1] if decided else None
    if last is not None and last.what in ("bench", "disable"):
        word = "benched" if last.what == "bench" else "disabled"
        return f"it is {word}: {last.why}"
    newest = page.versions[-1]
    if newest.state == "unfit":
        return f"no version plays, since version {newest.number} is unfit: {newest.reason or ''}"
    if newest.state == "fit":  # what was decided about the owner is not the reader's to know
        return "no version plays now: ask the staff"
    return f"no version plays yet; version {newest.number} waits for its examination"


@dataclass(frozen=True, slots=True)
class BotLine:
    """A bot in one line. playing: the number of the version that plays, None if none does."""

    bot: str
    pseudonym: str
    owner: str | None
    reference: bool
    playing: int | None
    versions: int


@dataclass(frozen=True, slots=True)
class BotList:
    """Bots, in order of name. next: what to give as `after` for those that follow, None if there are none."""

    rows: tuple[BotLine, ...]
    next: str | None = None
    change: int | None = None


def bot_list(reader: Reader, search: str = "", after: str | None = None, limit: int | None = 50) -> BotList:
    """Return bots whose name, or owner as the reader knows him, holds the words; so many after the one `after`."""
    count: Counter[int] = Counter()
    number: dict[int, int] = {}
    for id, of, which in reader.connection.execute(select(versions.c.id, versions.c.bot, versions.c.number)):
        count[of] += 1
        number[id] = which
    lines = [
        visible(
            BotLine(
                known.name,
                known.pseudonym,
                known.login,
                known.reference,
                number.get(known.active or 0),
                count[known.id],
            ),
            reader.viewer,
            known.login,
        )
        for known in all_bots(reader.connection)
    ]
    word = search.casefold().strip()
    matching = [line for line in lines if word in f"{line.bot} {line.pseudonym} {line.owner or ''}".casefold()]
    part, more = cut(matching, lambda line: line.bot, after, limit)
    return BotList(tuple(part), more, reader.change)


def build_log(reader: Reader, name: str, number: int | None = None) -> BuildLog | None:
    """Return what a version's build printed, None if there is no such version, or it isn't the reader's to read."""
    known = find_bot(reader.connection, name)
    if known is None or not reader.viewer.may("read a build's log", known.login):
        return None
    versions = versions_of(reader.connection, known.id)
    asked = next((version for version in reversed(versions) if number in (None, version.number)), None)
    if asked is None:
        return None
    return BuildLog(asked.number, get_build_log(reader.connection, asked.id))


def _examples(reader: Reader, versions: Sequence[Version]) -> tuple[Example, ...]:
    """Return what the kept exchanges of versions tell their owner, but for matches that are sealed to the reader.

    The record and the logs of a match are kept for a time only: without them, an example says less.
    """

    def tell(kept: KeptExchange, version: Version) -> Example:
        logs = [
            (f"process {number} of match {kept.match}", data)
            for number, data in get_log(reader.connection, kept.match, version.id)
        ]
        record = get_record(reader.connection, kept.match)
        return example(kept, record, logs, reader.sandbox, version.words or (), version.file is not None)

    sealed = set(reader.connection.scalars(select(matches.c.id).where(matches.c.final.in_(reader.sealed))))
    return tuple(
        tell(kept, version)
        for version in versions
        for kept in exchanges_of(reader.connection, version.id)
        if kept.match not in sealed
    )


def _sums(reader: Reader, ids: list[int], *which: Any) -> defaultdict[int, Sums]:
    """Return what the versions' matches that were played add up to: all, or those of these conditions."""
    table = match_bots.c
    query = (
        select(
            table.version, func.count(), func.sum(table.games), func.sum(table.wins), func.sum(table.forfeits),
            func.sum(table.faults), func.sum(table.requests), func.sum(table.time_us), func.max(table.slowest_us),
            func.max(table.peak_bytes),
        )
        .join(matches, matches.c.id == table.match)
        .where(table.version.in_(ids), matches.c.cause == PLAYED, outside_finals(reader.sealed), *which)
        .group_by(table.version)
    )  # fmt: skip
    sums: defaultdict[int, Sums] = defaultdict(Sums)
    for version, count, games, wins, *whole, slowest, peak in reader.connection.execute(query):
        lost, faulty, requests, time_us = map(int, whole)
        sums[version] = Sums(count, int(games), float(wins), lost, faulty, requests, time_us, slowest, peak)
    return sums


def _faults(reader: Reader, ids: list[int]) -> dict[int, dict[str, int]]:
    """Return the versions' faults by kind, in order of name."""
    query = (
        select(faults.c.version, faults.c.code, func.sum(faults.c.count))
        .join(matches, matches.c.id == faults.c.match)
        .where(faults.c.version.in_(ids), outside_finals(reader.sealed))
        .group_by(faults.c.version, faults.c.code)
        .order_by(faults.c.version, faults.c.code)
    )
    kinds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for version, code, count in reader.connection.execute(query):
        kinds[version][code] = int(count)
    return kinds
