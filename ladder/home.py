"""Show a ladder's home page and a user's account, with the user's bots, deadlines and credentials."""

from dataclasses import dataclass

from ladder import store
from ladder.deadlines import DeadlineSummary
from ladder.grading import FinalState, summarize_final
from ladder.ladder import Ladder
from ladder.lost_games import LostGame, list_lost_games
from ladder.match_pages import list_matches
from ladder.permissions import hide_fields
from ladder.standings import StandingsPage, view_standings_page
from ladder.standings.computation import Standings, StandingsRow
from ladder.team_invitations import may_change_team
from ladder.users import CredentialSummary, UserSummary, list_credentials, list_teams, summarize_user
from ladder.view_context import ViewContext


@dataclass(frozen=True, slots=True)
class OwnBotSummary:
    """A bot of the user or of a teammate. owner: the teammate's name, None if the bot is the user's own.

    active_version: the number of the version that plays, None if no version does. status, reason: of the version
    numbered newest_version. disabled_reason: why the bot was disabled or auto-disabled, None if it wasn't.
    standing: of the version that plays. last_match: the newest match that was played, None if the last five weren't.
    lost_game: the newest lost game. next_round_s: seconds until a new version plays, None if unknown.
    """

    bot: str
    owner: str | None
    active_version: int | None
    newest_version: int
    status: str
    reason: str | None
    disabled_reason: str | None
    standing: StandingsRow | None = None
    last_match: store.MatchSummary | None = None
    lost_game: LostGame | None = None
    next_round_s: float | None = None


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A user's account. team: its current members including the user, empty without a team.

    credentials: the valid ones. session_id: the number of the credential by which the viewer signed in.
    deadlines: the user's personal deadlines. released_at: when grades were last released, as Unix time; None if never.
    may_change_team: whether the user is no staff, and in no team or alone in one that they formed. Where ladder.toml
    lets users form teams, they may then form or join one.
    """

    user: UserSummary
    team: tuple[store.Membership, ...]
    bots: tuple[OwnBotSummary, ...]
    credentials: tuple[CredentialSummary, ...]
    session_id: int | None
    deadlines: tuple[DeadlineSummary, ...] = ()
    revision: int | None = None
    released_at: float | None = None
    may_change_team: bool | None = None


_MATCHES_READ = 5  # the newest ones of a bot, of which the last played one is shown


def view_account(context: ViewContext, deadlines: tuple[DeadlineSummary, ...] = ()) -> AccountPage | None:
    """Return the viewer's account, None for the public. `deadlines`: the viewer's personal ones."""
    viewer, connection = context.viewer, context.connection
    owner = None if viewer.login is None else store.find_user(connection, viewer.login)
    if owner is None:
        return None
    party = viewer.mates | {owner.login}
    memberships = (row for row in list_teams(context).items if row.left_at is None and row.login in party)
    team = {membership.login: membership for membership in memberships}
    bots = [bot for bot in store.all_bots(connection) if bot.owner_id == owner.id or bot.login in team]
    bots.sort(key=lambda bot: bot.owner_id != owner.id)
    summaries = []
    for bot in bots:
        teammate = None if bot.owner_id == owner.id else team[bot.login].name
        summaries.append(hide_fields(_summarize_own_bot(context, bot, teammate), viewer, bot.login))
    page = AccountPage(
        user=summarize_user(connection, owner, viewer),
        team=tuple(team.values()),
        bots=tuple(summaries),
        credentials=tuple(row for row in list_credentials(context, owner.login).items if row.valid),
        session_id=viewer.session,
        deadlines=deadlines,
        revision=context.revision,
        released_at=store.last_release_at(connection),
        may_change_team=may_change_team(connection, owner),
    )
    return hide_fields(page, viewer, owner.login)


def _summarize_own_bot(context: ViewContext, bot: store.BotRecord, teammate: str | None) -> OwnBotSummary:
    """Return what the viewer's account says about a bot. teammate: its owner's name, None for the viewer's own bot."""
    connection = context.connection
    versions = store.versions_of(connection, bot.id)
    newest = versions[-1]
    decisions = store.list_audit_entries(connection, bot.id, actions=("activate", "auto_disable", "disable"))
    is_disabled = bool(decisions) and decisions[-1].action != "activate"
    snapshot = store.find_latest_snapshot(connection)
    row = None if snapshot is None else Standings.from_json(snapshot).find_row(bot.active_version_id)
    matches = list_matches(context, bot=bot.id, limit=_MATCHES_READ).items
    return OwnBotSummary(
        bot=bot.name,
        owner=teammate,
        active_version=next((version.number for version in versions if version.is_active), None),
        newest_version=newest.number,
        status=newest.status,
        reason=newest.rejection_reason,
        disabled_reason=decisions[-1].reason if is_disabled else None,
        standing=None if row is None else hide_fields(row, context.viewer),
        last_match=next((match for match in matches if match.outcome == store.PLAYED), None),
        lost_game=next(iter(list_lost_games(context, bot, 1, with_causes=False)), None),
        next_round_s=store.find_next_round_s(connection),
    )


TOP_ROWS = 10  # of the standings, on the home page


@dataclass(frozen=True, slots=True)
class LadderInfo:
    """A ladder's settings. commitment: the SHA-256 of the key of its deals, in hex. submissions_per_day: per user."""

    name: str
    rules: str
    seats: int
    match_games: int
    limit_ms: int
    isolated: bool
    commitment: str
    submissions_per_day: int
    deadlines: tuple[DeadlineSummary, ...]


@dataclass(frozen=True, slots=True)
class HomePage:
    """The home page: the ladder's settings and deadlines, the first TOP_ROWS of its standings, and finals.

    latest_match: the newest rated match that has ended, None without one or if it wasn't played to its end.
    account: the viewer's, None for the public and for staff.
    """

    info: LadderInfo
    standings: StandingsPage
    latest_match: store.MatchSummary | None
    finals: tuple[FinalState, ...]
    account: AccountPage | None = None
    revision: int | None = None


def view_home(context: ViewContext, info: LadderInfo, deadlines: tuple[DeadlineSummary, ...] = ()) -> HomePage:
    """Return the home page of a ladder with these settings. deadlines: the viewer's personal ones."""
    newest_matches = list_matches(context, kind=store.RATED, limit=1).items
    finals = store.all_finals(context.connection)
    return HomePage(
        info=info,
        standings=view_standings_page(context, rows=TOP_ROWS),
        latest_match=next((match for match in newest_matches if match.outcome == store.PLAYED), None),
        finals=tuple(summarize_final(context.connection, final, context.viewer) for final in finals),
        account=None if context.viewer.staff else view_account(context, deadlines),
        revision=context.revision,
    )


def describe_ladder(ladder: Ladder) -> LadderInfo:
    """Return a ladder's format, published commitments, and deadlines."""
    play, settings = ladder.play, ladder.last_settings
    return LadderInfo(
        name=ladder.name,
        rules=play.settings.rules.name,
        seats=play.seats,
        match_games=play.match_games,
        limit_ms=play.settings.timing.limit_ms,
        isolated=play.sandbox.isolates,
        commitment=ladder.commitment,
        submissions_per_day=settings.quotas.max_submissions_per_day,
        deadlines=tuple(
            DeadlineSummary(deadline.name, deadline.at.timestamp(), deadline.closes) for deadline in settings.deadlines
        ),
    )
