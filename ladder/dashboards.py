"""Show the account page of a user, and to staff the dashboard, all users' accounts, and recent events.

The dashboard shows frozen ladders, suspended users, the queue and the runners.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from arena.checks import Finding
from arena.formatting import format_count
from ladder import store
from ladder.audit_log import DecisionSummary, list_audit_log, summarize_decisions
from ladder.bot_pages import BotSummary, VersionCheckView, list_bots
from ladder.bots import RemainingQuota
from ladder.grading import FinalState
from ladder.match_pages import RunnerSummary, list_runners
from ladder.permissions import hide_fields
from ladder.users import CredentialSummary, UserSummary, list_credentials, list_erasable, list_teams, summarize_user
from ladder.view_context import NO_RUNNER, ViewContext, paginate


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One event.

    type: submitted, check_started, check_step, check_finished, match_ended, decision, standings_updated, users_changed,
    table_changed, signed_in, sign_in_failed, review_finished. version: the version ref. table: the id of its session.
    details: of a sign-in, the user and the method.
    """

    id: int
    occurred_at: float
    type: str
    version: str | None
    match: int | None
    decision: DecisionSummary | None
    table: int | None
    details: str | None


@dataclass(frozen=True, slots=True)
class EventList:
    """Events in order. next_cursor: the value of `after` for later events, also for future ones."""

    items: tuple[EventSummary, ...]
    next_cursor: int


def list_events(context: ViewContext, after: int = 0, limit: int = 100) -> EventList:
    """Return up to `limit` events after event `after`, without those that the viewer may not see."""
    events = store.events_after(context.connection, after, limit)
    summaries = (_summarize_event(context, event) for event in events)
    rows = tuple(summary for summary in summaries if summary is not None)
    return EventList(rows, events[-1].id if events else after)


def _summarize_event(context: ViewContext, event: store.Event) -> EventSummary | None:
    """Return an event as the viewer may see it, None if they may not see it."""
    version = None if event.version is None else store.get_version_by_id(context.connection, event.version)
    if not _may_see_event(context, event, version):
        return None
    owner = None if version is None else version.login
    decision = None
    if event.audit_id is not None:
        owner, decision = _summarize_decision(context, event.audit_id, version)
    summary = EventSummary(
        id=event.id,
        occurred_at=event.occurred_at,
        type=event.type,
        version=None if version is None else version.version_ref,
        match=event.match,
        decision=decision,
        table=event.table_session_id,
        details=event.details,
    )
    return hide_fields(summary, context.viewer, owner)


def _may_see_event(context: ViewContext, event: store.Event, version: store.Version | None) -> bool:
    """Return whether the viewer may know that an event happened. version: that it is about, None without one."""
    viewer, sealed = context.viewer, context.sealed_finals
    if event.type in (store.USERS_CHANGED, store.SIGNED_IN, store.SIGN_IN_FAILED):
        return viewer.can("users:read")
    if event.type == store.CHECK_STEP:
        return viewer.can_view(VersionCheckView, "steps", None if version is None else version.login)
    if event.match is None or not sealed:
        return True
    return store.find_match_summary(context.connection, event.match, sealed) is not None


def _summarize_decision(
    context: ViewContext, audit_id: int, version: store.Version | None
) -> tuple[str | None, DecisionSummary | None]:
    """Return the login of the user or bot's owner that a decision is about, and the decision, None if it is hidden."""
    entry = store.get_audit_entry(context.connection, audit_id)
    owner = store.find_login(context.connection, entry.bot, entry.user_id) if version is None else version.login
    is_about_user = entry.user_id is not None and entry.bot is None
    if is_about_user and not context.viewer.can("user_decisions:read", owner):
        return owner, None
    numbers = {} if version is None else {version.id: version.number}
    [decision] = summarize_decisions(context, [entry], numbers, owner)
    return owner, decision


MAX_RECENT_DECISIONS = 10
_HIDDEN_ACTIONS = ("issue",)  # too many: one for each user of a section


@dataclass(frozen=True, slots=True)
class DashboardProblem:
    """A problem of a ladder. text: the cause, and what to do. path: the page to do it on, None on the machine."""

    text: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The state of a ladder, for staff. problems: most urgent first; without any, all is well.

    frozen: the decision that froze it, None if it isn't frozen.

    users: the number of users that take part. awaiting_approval: accounts to be approved. bots, active_bots: counts,
    with reference bots. versions: counts by status. matches: counts by outcome. findings: of a checkup, if any.
    """

    problems: tuple[DashboardProblem, ...]
    frozen: DecisionSummary | None
    suspended: tuple[UserSummary, ...]
    awaiting_approval: tuple[UserSummary, ...]
    users: int
    bots: int
    active_bots: int
    versions: dict[str, int]
    matches: dict[str, int]
    runners: tuple[RunnerSummary, ...] | None
    audit_log: tuple[store.AuditEntrySummary, ...]
    findings: tuple[Finding, ...] | None
    revision: int | None = None


def view_dashboard(
    context: ViewContext,
    findings: tuple[Finding, ...] | None = None,
    settings_problem: str | None = None,
    finals: Sequence[FinalState] = (),
) -> Dashboard:
    """Return a ladder's dashboard.

    findings: of a checkup, None if there was none. settings_problem: of ladder.toml, None without one. finals: of which
    to list problems.
    """
    connection = context.connection
    counts = store.count_ladder(connection)
    owners, bots = store.all_users(connection), store.all_bots(connection)
    freeze = store.find_freeze_entry(connection)
    runners = list_runners(context)
    problems = _list_problems(
        context,
        owners,
        runners=runners or (),
        freeze=freeze,
        findings=findings or (),
        settings_problem=settings_problem,
        finals=finals,
    )
    dashboard = Dashboard(
        problems=tuple(hide_fields(problem, context.viewer) for problem in problems),
        frozen=None if freeze is None else summarize_decisions(context, [freeze], {})[0],
        suspended=tuple(summarize_user(connection, owner, context.viewer) for owner in owners if owner.suspended),
        awaiting_approval=tuple(summarize_user(connection, owner, context.viewer) for owner in owners if owner.waiting),
        users=sum(not (owner.staff or owner.withdrawn or owner.waiting) for owner in owners),
        bots=len(bots),
        active_bots=sum(bot.active_version_id is not None for bot in bots),
        versions=counts.versions,
        matches=_count_outcomes(counts),
        runners=runners,
        audit_log=list_audit_log(context, limit=MAX_RECENT_DECISIONS, excluded_actions=_HIDDEN_ACTIONS).items,
        findings=None if findings is None else tuple(hide_fields(finding, context.viewer) for finding in findings),
        revision=context.revision,
    )
    return hide_fields(dashboard, context.viewer)


def _count_outcomes(counts: store.LadderCounts) -> dict[str, int]:
    """Return the numbers of matches of all kinds, by outcome or status."""
    matches: Counter[str] = Counter()
    for (_, outcome), count in counts.matches.items():
        matches[outcome] += count
    return dict(matches)


def _list_problems(
    context: ViewContext,
    owners: Sequence[store.User],
    *,
    runners: Sequence[RunnerSummary],
    freeze: store.AuditEntry | None,
    findings: Sequence[Finding],
    settings_problem: str | None,
    finals: Sequence[FinalState],
) -> Iterator[DashboardProblem]:
    """Yield what staff should act on, the most urgent first, each with the page or the part of the page to do it."""
    if settings_problem is not None:
        reason = settings_problem.partition("\n")[0]
        yield DashboardProblem(f"{reason} Until it is corrected, its last valid content applies.", None)
    if all(runner.is_dead for runner in runners):
        yield DashboardProblem(f"{NO_RUNNER} Start one on its machine: arena ladder run LADDER", None)
    for finding in findings:
        if finding.severity == "fail":
            yield DashboardProblem(f"{finding.check}: {finding.message}", "#health")
    if freeze is not None:
        yield DashboardProblem("The ladder is frozen, so no rated matches start. Unfreeze the ladder", "#freeze")
    yield from _list_user_problems(context, owners)
    for final in finals:
        if final.key is None and final.abandoned:
            count = format_count(len(final.abandoned), "abandoned match", "es")
            yield DashboardProblem(f"Final {final.name}: {count}. Play them again", f"/finals/{final.name}")
        elif final.state == "complete":
            text = f"Final {final.name}: all matches are played. Reveal the results"
            yield DashboardProblem(text, f"/finals/{final.name}")
    if all(owner.staff for owner in owners):
        yield DashboardProblem("No users take part yet. Import a roster", "/admin/users#roster")


def _list_user_problems(context: ViewContext, owners: Sequence[store.User]) -> Iterator[DashboardProblem]:
    """Yield that accounts await approval, and the users whose personal data can be erased now."""
    count = sum(owner.waiting for owner in owners)
    if count:
        yield DashboardProblem(f"{count} {'account awaits' if count == 1 else 'accounts await'} approval", "#approval")
    for login in list_erasable(context.connection):
        text = f"The matches of {login} have ended. Erase the personal data"
        yield DashboardProblem(text, f"/admin/users/{quote(login, safe='')}")


@dataclass(frozen=True, slots=True)
class UserAdminSummary:
    """A user, with the names of their team and of the bots of both.

    is_playing: whether a version of these bots is active. last_seen_at: None if the user never signed in.
    points: those of the grades so far, None without baselines or a grade.
    """

    user: UserSummary
    team: str | None
    bots: tuple[str, ...]
    is_playing: bool
    last_seen_at: float | None
    points: float | None


@dataclass(frozen=True, slots=True)
class UserAdminList:
    """Users, in order of login. total: the number of users that match. sections: those of all users, in order.

    counts: the numbers of all participants in each of USER_STATES.
    """

    items: tuple[UserAdminSummary, ...]
    total: int
    counts: dict[str, int]
    sections: tuple[str, ...]
    next_cursor: str | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class UserAdminPage:
    """A user as staff sees them. teams: the user's memberships, current ones last. team_names: of all teams.

    credentials: the valid ones, newest first. same_email: the logins of other users with the same email.
    """

    user: UserSummary
    bots: tuple[BotSummary, ...]
    teams: tuple[store.Membership, ...]
    team_names: tuple[str, ...]
    credentials: tuple[CredentialSummary, ...]
    audit_log: tuple[store.AuditEntrySummary, ...]
    remaining_quota: RemainingQuota | None
    revision: int | None = None
    same_email: tuple[str, ...] = ()


# What users on the list of users have in common, by the name in its query.
USER_STATES: dict[str, Callable[[UserAdminSummary], bool]] = {
    "never_signed_in": lambda user: user.last_seen_at is None,
    "not_submitted": lambda user: not user.bots,
    "not_playing": lambda user: bool(user.bots) and not user.is_playing,
}


def list_users_for_admin(
    context: ViewContext,
    search: str = "",
    *,
    after: str | None = None,
    limit: int = 50,
    section: str = "",
    state: str = "",
    points: Mapping[str | None, float] | None = None,
) -> UserAdminList:
    """Return up to `limit` users that match all words of `search`, after the user whose pseudonym is `after`.

    Words are looked for in logins, names, pseudonyms, sections, emails, student IDs, teams and bots. section, state:
    limit the list to a section, and to participants of one of USER_STATES. points: by login.
    """
    owners = store.all_users(context.connection)
    summaries = _summarize_users_for_admin(context, owners, points)
    words = search.casefold().split()
    counts, matching = dict.fromkeys(USER_STATES, 0), []
    for owner, summary in zip(owners, summaries, strict=True):
        user_states = _list_states(owner, summary)
        for name in user_states:
            counts[name] += 1
        is_in_list = section in ("", owner.section) and (not state or state in user_states)
        text = _make_search_text(owner, summary)
        if is_in_list and all(word in text for word in words):
            matching.append(summary)
    page, next_cursor = paginate(matching, lambda summary: summary.user.pseudonym, after, limit)
    users = UserAdminList(
        items=tuple(hide_fields(summary, context.viewer) for summary in page),
        total=len(matching),
        counts=counts,
        sections=tuple(sorted({owner.section for owner in owners if owner.section})),
        next_cursor=next_cursor,
        revision=context.revision,
    )
    return hide_fields(users, context.viewer)


def _summarize_users_for_admin(
    context: ViewContext, owners: Sequence[store.User], points: Mapping[str | None, float] | None
) -> list[UserAdminSummary]:
    """Return the summary of each of these users, in their order, with all fields. points: by login."""
    memberships = list_teams(context).items
    teams = {membership.login: membership.team for membership in memberships if membership.left_at is None}
    bots, playing_parties = _list_bots_of_parties(context, teams)
    last_seen = store.list_last_seen(context.connection)
    summaries = []
    for owner in owners:
        party = _find_party(teams, owner.login)
        summary = UserAdminSummary(
            summarize_user(context.connection, owner, context.viewer),
            teams.get(owner.login),
            tuple(bots.get(party, ())),
            is_playing=party in playing_parties,
            last_seen_at=last_seen.get(owner.id),
            points=None if points is None else points.get(owner.login),
        )
        summaries.append(summary)
    return summaries


_Party = tuple[str | None, str]  # (team, ""), or (None, login) of a user without one


def _find_party(teams: Mapping[str, str], login: str) -> _Party:
    """Return the party of a user. teams: by login."""
    return (teams[login], "") if login in teams else (None, login)


def _list_bots_of_parties(
    context: ViewContext, teams: Mapping[str, str]
) -> tuple[dict[_Party, list[str]], set[_Party]]:
    """Return the names of the bots of each party, and the parties that have a bot that plays. teams: by login."""
    bots, playing_parties = defaultdict[_Party, list[str]](list), set[_Party]()
    for bot in store.all_bots(context.connection):
        party = _find_party(teams, bot.login)
        bots[party].append(bot.name)
        if bot.active_version_id is not None:
            playing_parties.add(party)
    return bots, playing_parties


def _list_states(owner: store.User, summary: UserAdminSummary) -> list[str]:
    """Return the names of the USER_STATES of a user; none of one that doesn't take part."""
    if owner.staff or owner.suspended or owner.withdrawn or owner.waiting:
        return []
    return [name for name, applies in USER_STATES.items() if applies(summary)]


def _make_search_text(owner: store.User, summary: UserAdminSummary) -> str:
    """Return the texts of a user in which words are looked for, as one text without case."""
    names = (owner.login, owner.name, owner.pseudonym, owner.section, owner.email, owner.student_id)
    return " ".join(filter(None, (*names, summary.team, *summary.bots))).casefold()


def view_user_for_admin(
    context: ViewContext, login: str, allowance: RemainingQuota | None = None
) -> UserAdminPage | None:
    """Return a user's page, None if no user has the login. `allowance`: the user's remaining quota."""
    owner = store.find_user(context.connection, login)
    if owner is None:
        return None
    memberships = list_teams(context).items
    own_memberships = [membership for membership in memberships if membership.login == owner.login]
    own_memberships.sort(key=lambda membership: membership.left_at is None)
    credentials = reversed(list_credentials(context, owner.login).items)
    page = UserAdminPage(
        user=summarize_user(context.connection, owner, context.viewer),
        bots=tuple(bot for bot in list_bots(context, limit=None).items if bot.owner == owner.login),
        teams=tuple(own_memberships),
        team_names=tuple(dict.fromkeys(membership.team for membership in memberships)),
        credentials=tuple(credential for credential in credentials if credential.valid),
        audit_log=list_audit_log(context, login=owner.login).items,
        remaining_quota=allowance,
        revision=context.revision,
        same_email=_list_logins_of_email(context, owner),
    )
    return hide_fields(page, context.viewer)


def _list_logins_of_email(context: ViewContext, user: store.User) -> tuple[str, ...]:
    """Return the logins of the other users with a user's email, whatever its case; none without an email."""
    email = (user.email or "").casefold()
    if not email:
        return ()
    return tuple(
        owner.login
        for owner in store.all_users(context.connection)
        if owner.id != user.id and (owner.email or "").casefold() == email
    )
