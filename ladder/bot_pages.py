"""Show bots: versions, checks, ratings, play style, faults, recent matches, win rate by seat, and decisions.

A version's files (as an archive), logs and build log are for its owner. Play styles are shown next to the mean of the
active bots."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy import Connection

from arena.checks import CheckStep, CheckStepView, FaultReport, make_fault_report
from arena.rating import Estimate
from arena.referee import StoredFaultSample
from arena.review import CostlyDecision
from ladder import store
from ladder.activation import list_blocked_permissions
from ladder.audit_log import DecisionSummary, display_actor, summarize_decisions
from ladder.deadlines import DeadlineSummary
from ladder.lost_games import LostGame, find_readable_record, list_lost_games
from ladder.match_pages import list_matches
from ladder.permissions import hide_fields
from ladder.rounds import RECENT_MATCHES, SLOW_TIME_SHARE, is_slow, mean_response_us
from ladder.standings import OpponentRecord, compute_trends, list_opponents
from ladder.standings.computation import FieldStyle, Standings, StandingsRow, Trend, read_estimate
from ladder.view_context import ViewContext, paginate

_STEP, _DECISION = TypeAdapter(CheckStepView), TypeAdapter(CostlyDecision)


def serialize_step(step: CheckStep) -> tuple[str, bytes]:
    """Return a check step as JSON for the database, and its build log."""
    return _STEP.dump_json(step.view()).decode(), step.log


def list_check_steps(connection: Connection, version: int) -> tuple[CheckStepView, ...]:
    """Return the steps of a version's check, in order; while it runs, those so far."""
    return tuple(map(_STEP.validate_json, store.get_check_steps(connection, version)))


@dataclass(frozen=True, slots=True)
class StyleNumber:
    """A rate of `arena stats`, such as "challenged all": `count` of `total` cases. field_mean: over all active bots."""

    name: str
    count: int
    total: int
    field_mean: float | None


@dataclass(frozen=True, slots=True)
class HiddenNumber(StyleNumber):
    """A rate that depends on hidden cards, or on a reaction that had no effect."""


@dataclass(frozen=True, slots=True)
class BotStyle:
    """The play style of a bot in its newest rated matches. public: rates that all players can observe."""

    matches: int
    public: tuple[StyleNumber, ...]
    hidden: tuple[HiddenNumber, ...] | None


def view_bot_style(context: ViewContext, version: int, owner: str, field: FieldStyle | None) -> BotStyle | None:
    """Return a version's play style, None if no match was counted. owner: a login. field: the means of all bots."""
    style, viewer = store.get_play_style(context.connection, version), context.viewer
    if not style.matches:
        return None
    public_means: Mapping[str, float] = {} if field is None else field.public
    hidden_means: Mapping[str, float] = {} if field is None or field.hidden is None else field.hidden
    public = (StyleNumber(name, *counts, public_means.get(name)) for name, counts in style.public.items())
    hidden = (HiddenNumber(name, *counts, hidden_means.get(name)) for name, counts in style.hidden.items())
    bot_style = BotStyle(
        style.matches,
        tuple(hide_fields(number, viewer, owner) for number in public),
        tuple(hide_fields(number, viewer, owner) for number in hidden),
    )
    return hide_fields(bot_style, viewer, owner)


@dataclass(frozen=True, slots=True)
class SeatWinRate:
    """The rated games and wins in one seat, from 0; a draw among j players counts 1/j."""

    seat: int
    games: int
    wins: float


def seat_win_rates(context: ViewContext, version: int) -> tuple[SeatWinRate, ...]:
    """Return a version's results in each seat in which it has played, in order of seats."""
    games, wins = [0] * context.seats, [0.0] * context.seats
    for slot, seats, survivors, count in store.count_seat_results(context.connection, version, context.sealed_finals):
        seat = seats.index(str(slot))
        games[seat] += count
        if str(seat) in survivors:
            wins[seat] += count / len(survivors)
    return tuple(SeatWinRate(seat, games[seat], wins[seat]) for seat in range(context.seats) if games[seat])


MAX_LOST_GAMES = 8  # on a bot's page
_MAX_REVIEWS, _MAX_DECISIONS = 10, 5  # the newest reviews, and their most costly decisions on a bot's page
_OWNER_ACTIONS = ("suspend", "unsuspend", "leave", "return")  # about the owner, shown with the bot
_OWN_PERMISSIONS = ("bot:activate", "bot:challenge", "bot:choose_version", "bot:disable", "files:read")


@dataclass(frozen=True, slots=True)
class BotVersion:
    """A version. status: queued, checking, accepted, or rejected for a `reason`. Times: seconds since 1970.

    received_at: when the owner submitted it, if staff entered it later. faults: counts by code, in all played matches,
    including consequences of other faults. blocked_reason: why its owner may not choose it, None if they may.
    submitted_by: a login or pseudonym.
    """

    number: int
    status: str
    is_active: bool
    submitted_at: float
    received_at: float | None
    rated_matches: store.VersionTotals
    all_matches: store.VersionTotals
    faults: dict[str, int] | None
    digest: str | None
    reason: str | None
    checked_at: float | None
    blocked_reason: str | None
    submitted_by: str | None


@dataclass(frozen=True, slots=True)
class VersionCheckView:
    """The check of a version, by its number. has_build_log: whether its build printed anything."""

    version: int
    steps: tuple[CheckStepView, ...]
    has_build_log: bool


@dataclass(frozen=True, slots=True)
class DailyRating:
    """A bot's row in the last standings of a day: rating and adjusted win rate with their intervals."""

    day: str
    version: int
    rating: Estimate
    win_rate_adjusted: Estimate | None


@dataclass(frozen=True, slots=True)
class BotPage:
    """A bot's page; its owner sees more than others. The selected version is the requested one, else the newest.

    owner: a login. standing: the bot's row of the standings, None if it has none; ranked_total: the number of rows.
    checks: of the selected version. fault_reports: the first fault of each kind, of the selected and active versions.
    lost_games, recent_matches: newest first. costly_decisions: of the newest reviews, the costliest first. opponents:
    names and version refs to challenge. limit_ms: the time limit per request. throttle_reason: why the bot plays less
    often than others, None if it doesn't. rating_history: one point per day. head_to_head, wins_by_seat, play_style: of
    the active version, else of the selected one. deadlines: with the bot's version that counts at each. permissions:
    what the viewer may do with this bot now. next_round_s: until a new version plays, None if unknown.
    """

    bot: str
    pseudonym: str
    owner: str | None
    is_reference: bool
    standing: StandingsRow | None
    ranked_total: int
    fair_win_rate: float | None
    trend: Trend
    limit_ms: int
    throttle_reason: str | None
    versions: tuple[BotVersion, ...]
    checks: VersionCheckView | None
    fault_reports: tuple[FaultReport, ...] | None
    lost_games: tuple[LostGame, ...] | None
    costly_decisions: tuple[CostlyDecision, ...] | None
    opponents: tuple[str, ...] | None
    recent_matches: tuple[store.MatchSummary, ...]
    rating_history: tuple[DailyRating, ...]
    head_to_head: tuple[OpponentRecord, ...]
    wins_by_seat: tuple[SeatWinRate, ...]
    play_style: BotStyle | None
    audit_log: tuple[DecisionSummary, ...] | None
    deadlines: tuple[DeadlineSummary, ...] | None
    permissions: tuple[str, ...]
    next_round_s: float | None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class BuildLog:
    """The output of a version's build."""

    version: int
    text: bytes


def view_bot(
    context: ViewContext,
    name: str,
    number: int | None = None,
    max_matches: int = 10,
    deadlines: tuple[DeadlineSummary, ...] = (),
) -> BotPage | None:
    """Return a bot's page for the viewer, None if no bot has the name, or no version the number.

    number: of the selected version, None for the newest. max_matches: the maximum number of recent matches. deadlines:
    for this bot and viewer.
    """
    bot = store.find_bot(context.connection, name)
    if bot is None:
        return None
    versions = store.versions_of(context.connection, bot.id)
    selected = _find_version(versions, number)
    if selected is None:
        return None
    page = _make_page(context, bot, versions, selected, max_matches, deadlines)
    return hide_fields(page, context.viewer, bot.login)


def _make_page(
    context: ViewContext,
    bot: store.BotRecord,
    versions: Sequence[store.Version],
    selected: store.Version,
    max_matches: int,
    deadlines: tuple[DeadlineSummary, ...],
) -> BotPage:
    """Return a bot's page with all its own fields; those of its parts are hidden. The others: as of `view_bot`."""
    connection = context.connection
    numbers = {version.id: version.number for version in versions}
    shown_id = bot.active_version_id or selected.id
    snapshot = store.find_latest_snapshot(connection)
    standings = None if snapshot is None else Standings.from_json(snapshot)
    row = None if standings is None else standings.find_row(bot.active_version_id)
    return BotPage(
        bot=bot.name,
        pseudonym=bot.pseudonym,
        owner=bot.login,
        is_reference=bot.is_reference,
        standing=None if row is None else hide_fields(row, context.viewer, bot.login),
        ranked_total=0 if standings is None else len(standings.items),
        fair_win_rate=None if standings is None else standings.fair_win_rate,
        trend=_compute_trend(context, bot.name, row),
        limit_ms=context.limit_ms,
        throttle_reason=None if bot.is_reference else _find_throttle_reason(context, bot.active_version_id),
        versions=_list_versions(context, bot, versions),
        checks=_view_check(connection, selected),
        fault_reports=_list_fault_reports(context, bot, versions, selected),
        lost_games=list_lost_games(context, bot, MAX_LOST_GAMES),
        costly_decisions=_list_costly_decisions(connection, list(numbers)),
        opponents=_list_opponents(context, bot, versions),
        recent_matches=list_matches(context, bot=bot.id, limit=max_matches).items if max_matches else (),
        head_to_head=list_opponents(context, shown_id),
        wins_by_seat=seat_win_rates(context, shown_id),
        play_style=view_bot_style(context, shown_id, bot.login, None if standings is None else standings.play_style),
        rating_history=_list_daily_ratings(connection, numbers),
        audit_log=_list_decisions(context, bot, numbers),
        deadlines=deadlines,
        permissions=_list_permissions(context, bot),
        next_round_s=store.find_next_round_s(connection),
        revision=context.revision,
    )


def _find_version(versions: Sequence[store.Version], number: int | None) -> store.Version | None:
    """Return the version with a number, for None the newest one; None if it doesn't exist. versions: oldest first."""
    return next((version for version in reversed(versions) if number in (None, version.number)), None)


def _list_permissions(context: ViewContext, bot: store.BotRecord) -> tuple[str, ...]:
    """Return those of _OWN_PERMISSIONS that the viewer has for a bot, and that the bot's state allows."""
    blocked = list_blocked_permissions(context.connection, bot)
    return tuple(name for name in _OWN_PERMISSIONS if context.viewer.can(name, bot.login) and name not in blocked)


def _compute_trend(context: ViewContext, name: str, row: StandingsRow | None) -> Trend:
    """Return the trend of a bot's adjusted win rate, an empty one without a rate. row: of the standings."""
    if row is None or row.win_rate_adjusted is None:
        return Trend()
    trends = compute_trends(context.connection, {name: row.win_rate_adjusted.value}, context.now)
    return trends.get(name, Trend())


def _view_check(connection: Connection, version: store.Version) -> VersionCheckView:
    has_build_log = store.get_build_log(connection, version.id) != b""
    return VersionCheckView(version.number, list_check_steps(connection, version.id), has_build_log)


def _list_daily_ratings(connection: Connection, numbers: Mapping[int, int]) -> tuple[DailyRating, ...]:
    """Return a point for each day on which one of these versions was rated. numbers: of versions, by id."""
    return tuple(
        DailyRating(
            row["day"], numbers[row["version"]], read_estimate(row, "rating"), read_estimate(row, "win_rate_adjusted")
        )
        for row in store.rating_history_of(connection, list(numbers))
    )


def _list_versions(
    context: ViewContext, bot: store.BotRecord, versions: Sequence[store.Version]
) -> tuple[BotVersion, ...]:
    """Return a bot's versions with their totals, in order of number."""
    connection, sealed = context.connection, context.sealed_finals
    ids = [version.id for version in versions]
    rated_totals = store.total_matches(connection, ids, sealed, rated=True)
    totals = store.total_matches(connection, ids, sealed, rated=False)
    faults = store.count_faults(connection, ids, sealed)
    blocked_reasons = store.barred_versions(connection, bot.id)
    rows = (
        BotVersion(
            number=version.number,
            status=version.status,
            is_active=version.is_active,
            submitted_at=version.submitted_at,
            received_at=version.received_at,
            rated_matches=rated_totals[version.id],
            all_matches=totals[version.id],
            faults=faults[version.id],
            digest=version.digest,
            reason=version.rejection_reason,
            checked_at=version.checked_at,
            blocked_reason=blocked_reasons.get(version.id),
            submitted_by=None if version.submitted_by is None else display_actor(context, version.submitted_by),
        )
        for version in versions
    )
    return tuple(hide_fields(row, context.viewer, bot.login) for row in rows)


def _list_costly_decisions(connection: Connection, versions: Sequence[int]) -> tuple[CostlyDecision, ...]:
    """Return the _MAX_DECISIONS costliest decisions of the newest reviews of versions (ids)."""
    decisions = map(_DECISION.validate_python, store.list_reviewed_decisions(connection, versions, _MAX_REVIEWS))
    return tuple(sorted(decisions, key=lambda decision: -decision.cost.value)[:_MAX_DECISIONS])


def _list_decisions(
    context: ViewContext, bot: store.BotRecord, numbers: Mapping[int, int]
) -> tuple[DecisionSummary, ...]:
    """Return the decisions about a bot and, if visible, about its owner. numbers: of versions, by id."""
    entries = store.list_audit_entries(context.connection, bot=bot.id)
    if context.viewer.can("user_decisions:read", bot.login):
        entries += store.list_audit_entries(context.connection, user_id=bot.owner_id, actions=_OWNER_ACTIONS)
    return summarize_decisions(context, sorted(entries, key=lambda entry: entry.id), numbers, bot.login)


def _list_opponents(context: ViewContext, bot: store.BotRecord, versions: Sequence[store.Version]) -> tuple[str, ...]:
    """Return the names of the active bots, then the version refs of a bot's own other accepted versions."""
    if not context.viewer.can("bot:challenge", bot.login):
        return ()
    bots = store.all_bots(context.connection)
    names = (opponent.name for opponent in bots if opponent.active_version_id and opponent.id != bot.id)
    accepted = (version for version in reversed(versions) if version.status == store.ACCEPTED)
    return (*names, *(version.version_ref for version in accepted if not version.is_active))


def _find_throttle_reason(context: ViewContext, version: int | None) -> str | None:
    """Return why an active version plays less often than others, None if it doesn't."""
    usage = [] if version is None else store.recent_usage(context.connection, version, RECENT_MATCHES)
    if not is_slow(usage, context.limit_ms):
        return None
    time = f"{mean_response_us(usage) / 1000:.0f} ms a move on average in its last {len(usage)} rated matches"
    return (
        f"the bot plays only in every second round, because it is slow: it took {time}, "
        f"more than {SLOW_TIME_SHARE:.0%} of the time per move ({context.limit_ms} ms)"
    )


def _find_newest_decision(page: BotPage, *actions: str) -> DecisionSummary | None:
    return next((entry for entry in reversed(page.audit_log or ()) if entry.action in actions), None)


def inactive_reason(page: BotPage) -> str:
    """Return, for its owner, why no version of a bot plays: by the first decision in force, else by the newest check.

    Decisions about the owner come before those about the bot.
    """
    for action, ended_by, text in (
        ("suspend", ("unsuspend",), "the owner is suspended"),
        ("leave", ("return",), "the owner left the course"),
        ("auto_disable", ("activate", "disable"), "the bot is auto-disabled"),
        ("disable", ("activate", "auto_disable"), "the bot is disabled"),
    ):
        newest_decision = _find_newest_decision(page, action, *ended_by)
        if newest_decision is not None and newest_decision.action == action:
            return f"{text}: {newest_decision.reason}"
    newest = page.versions[-1]
    if newest.status == "rejected":
        return f"no active version: version {newest.number} is rejected: {newest.reason or ''}"
    if newest.status == "accepted":  # a decision about the owner, which the viewer may not see
        return "no active version: ask the staff"
    return f"no active version yet: version {newest.number} isn't checked yet"


@dataclass(frozen=True, slots=True)
class BotSummary:
    """A bot in a list. active_version: the number of the version that plays, None without one. versions: a count."""

    bot: str
    pseudonym: str
    owner: str | None
    is_reference: bool
    active_version: int | None
    versions: int


@dataclass(frozen=True, slots=True)
class BotList:
    """Bots, in order of name. next_cursor: the value of `after` for the next page, None at the end."""

    items: tuple[BotSummary, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_bots(context: ViewContext, search: str = "", after: str | None = None, limit: int | None = 50) -> BotList:
    """Return up to `limit` bots after bot `after` whose name, pseudonym or visible owner contains `search`.

    Case is ignored. limit: None for all.
    """
    version_counts: Counter[str] = Counter()  # by bot
    numbers: dict[int, int] = {}  # by the id of a version
    for id, version_ref in store.version_refs_by_id(context.connection).items():
        name, _, number = version_ref.rpartition("@")
        version_counts[name] += 1
        numbers[id] = int(number)
    text = search.casefold().strip()
    matching = []
    for bot in store.all_bots(context.connection):
        active_version = None if bot.active_version_id is None else numbers[bot.active_version_id]
        row = BotSummary(bot.name, bot.pseudonym, bot.login, bot.is_reference, active_version, version_counts[bot.name])
        visible_row = hide_fields(row, context.viewer, bot.login)
        if text in f"{visible_row.bot} {visible_row.pseudonym} {visible_row.owner or ''}".casefold():
            matching.append(visible_row)
    page, next_cursor = paginate(matching, lambda row: row.bot, after, limit)
    return BotList(tuple(page), next_cursor, context.revision)


def view_build_log(context: ViewContext, name: str, number: int | None = None) -> BuildLog | None:
    """Return a version's build log, of the newest without a `number`; None if it doesn't exist or isn't permitted."""
    version = _find_permitted_version(context, name, number, "build_log:read")
    return None if version is None else BuildLog(version.number, store.get_build_log(context.connection, version.id))


def _find_permitted_version(
    context: ViewContext, name: str, number: int | None, permission: str
) -> store.Version | None:
    """Return a bot's version, the newest without a number; None if it doesn't exist or the viewer isn't permitted."""
    bot = store.find_bot(context.connection, name)
    if bot is None or not context.viewer.can(permission, bot.login):
        return None
    return _find_version(store.versions_of(context.connection, bot.id), number)


def _list_fault_reports(
    context: ViewContext, bot: store.BotRecord, versions: Sequence[store.Version], selected: store.Version
) -> tuple[FaultReport, ...] | None:
    """Return reports of the stored fault samples of the active and the selected version of a bot.

    None for a viewer who may not see them. Matches of unrevealed finals are left out.
    """
    if not context.viewer.can_view(BotPage, "fault_reports", bot.login):
        return None  # without reading the records
    return tuple(
        _make_fault_report(context, version, sample)
        for version in versions
        if version.is_active or version is selected
        for sample in store.list_fault_samples(context.connection, version.id, context.sealed_finals)
    )


def _make_fault_report(context: ViewContext, version: store.Version, sample: StoredFaultSample) -> FaultReport:
    """Return a report, with fewer details if the match's record or logs have been removed, or can't be read."""
    logs = [
        (f"process {number} of match {sample.match}", data)
        for number, data in store.get_log(context.connection, sample.match, version.id)
    ]
    record = find_readable_record(context, sample.match)
    is_single_file = version.single_file_name is not None
    return make_fault_report(sample, record, logs, context.sandbox, version.command or (), is_single_file)


@dataclass(frozen=True, slots=True)
class ProcessLog:
    """The standard error of one process. version: a version ref. process: numbered from 0 in the match."""

    version: str
    process: int
    text: bytes


@dataclass(frozen=True, slots=True)
class BotLogs:
    """The standard error of a bot's processes in a match, in order."""

    items: tuple[ProcessLog, ...]


def view_logs(context: ViewContext, match: store.MatchSummary, bot: str) -> BotLogs | None:
    """Return the standard error of a bot (honest) or a version (honest@3) in a match, None if it didn't play in it.

    Logs that the viewer may not read are left out.
    """
    players = [player for player in match.players if bot in (player.version_ref, player.version_ref.rpartition("@")[0])]
    logs = tuple(
        ProcessLog(player.version_ref, number, text)
        for player in players
        if context.viewer.can("log:read", store.get_version_by_id(context.connection, player.version).login)
        for number, text in store.get_log(context.connection, match.id, player.version)
    )
    return BotLogs(logs) if players else None


def find_version_archive(context: ViewContext, name: str, number: int) -> bytes | None:
    """Return a version's files as a tar archive, None if they don't exist or the viewer may not read them."""
    version = _find_permitted_version(context, name, number, "files:read")
    if version is None:
        return None
    try:
        return store.get_archive(context.connection, version.digest, version.single_file_name)
    except KeyError:  # erased with the owner's data
        return None
