"""Show the events of a ladder, from a given number on, and the dashboard for staff.

The dashboard shows frozen ladders, suspended users, the queue and the runners."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import select

from arena.checks import Finding
from ladder.permissions import hide_fields
from ladder.store.database import (
    CHECK_STEP,
    METADATA,
    SIGN_IN_FAILED,
    SIGNED_IN,
    USERS_CHANGED,
    Event,
    all_bots,
    all_users,
    count_ladder,
    events_after,
    find_freeze_entry,
    get_audit_entry,
    get_version_by_id,
)
from ladder.views.audit_log import AuditEntrySummary, DecisionSummary, list_audit_log, summarize_decisions
from ladder.views.bots import VersionCheckView
from ladder.views.context import ViewContext
from ladder.views.matches import RunnerSummary, list_runners
from ladder.views.users import UserSummary, summarize_user

bots, matches, users = (METADATA.tables[name] for name in ("bots", "matches", "users"))


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One event.

    type: submitted, check_started, check_step, check_finished, match_ended, decision, standings_updated, users_changed,
    table_changed, signed_in, sign_in_failed. version: the version ref. table: the id of its session. details: of a
    sign-in, the user and the method.
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
    happened = events_after(context.connection, after, limit)
    rows = tuple(line for line in (_summarize_event(context, event) for event in happened) if line is not None)
    return EventList(rows, happened[-1].id if happened else after)


def _summarize_event(context: ViewContext, event: Event) -> EventSummary | None:
    """Return an event as the viewer may see it, None if they may not see it."""
    connection = context.connection
    if event.type in (USERS_CHANGED, SIGNED_IN, SIGN_IN_FAILED) and not context.viewer.can("users:read"):
        return None
    if event.match is not None and context.unrevealed_finals:
        final = connection.scalar(select(matches.c.final).where(matches.c.id == event.match))
        if final in context.unrevealed_finals:
            return None
    version = None if event.version is None else get_version_by_id(connection, event.version)
    act = None if event.audit_id is None else get_audit_entry(connection, event.audit_id)
    owner = None if version is None else version.login
    if event.type == CHECK_STEP and not context.viewer.can_view(VersionCheckView, "steps", owner):
        return None
    if act is not None and version is None:
        of = select(users.c.login)
        if act.bot is not None:
            owner = connection.scalar(of.join(bots, bots.c.owner_id == users.c.id).where(bots.c.id == act.bot))
        elif act.user_id is not None:
            owner = connection.scalar(of.where(users.c.id == act.user_id))
    decision: DecisionSummary | None = None
    of_person = act is not None and act.user_id is not None and act.bot is None
    if act is not None and not (of_person and not context.viewer.can("user_decisions:read", owner)):
        number = {} if version is None else {version.id: version.number}
        [decision] = summarize_decisions(context, [act], number, owner)
    version_ref = None if version is None else version.version_ref
    line = EventSummary(
        event.id,
        event.occurred_at,
        event.type,
        version_ref,
        event.match,
        decision,
        event.table_session_id,
        event.details,
    )
    return hide_fields(line, context.viewer, owner)


MAX_RECENT_DECISIONS = 10
_HIDDEN_ACTIONS = ("issue",)  # too many: one for each user of a section


@dataclass(frozen=True, slots=True)
class QuotaSummary:
    """The quotas of each user, from ladder.toml."""

    max_bots_per_user: int
    max_submissions_per_day: int
    max_challenges_per_day: int
    max_upload_mb: int


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The state of a ladder, for staff. frozen: the decision that froze it, None if it isn't frozen.

    users: the number of users that take part. awaiting_approval: accounts to be approved. bots, active_bots: counts,
    with reference bots. versions: counts by status. matches: counts by outcome. findings: of a checkup, if any.
    """

    frozen: DecisionSummary | None
    suspended: tuple[UserSummary, ...]
    awaiting_approval: tuple[UserSummary, ...]
    users: int
    bots: int
    active_bots: int
    versions: dict[str, int]
    matches: dict[str, int]
    runners: tuple[RunnerSummary, ...] | None
    audit_log: tuple[AuditEntrySummary, ...]
    quotas: QuotaSummary | None
    findings: tuple[Finding, ...] | None
    revision: int | None = None


def view_dashboard(
    context: ViewContext, quotas: QuotaSummary, findings: tuple[Finding, ...] | None = None
) -> Dashboard:
    """Return a ladder's dashboard, with these quotas and findings of a checkup."""
    connection = context.connection
    counts = count_ladder(connection)
    became: Counter[str] = Counter()
    for (_, end), count in counts.matches.items():
        became[end] += count
    owners, bots = all_users(connection), all_bots(connection)
    act = find_freeze_entry(connection)
    whole = Dashboard(
        summarize_decisions(context, [act], {})[0] if act else None,
        tuple(summarize_user(connection, owner, context.viewer) for owner in owners if owner.suspended),
        tuple(summarize_user(connection, owner, context.viewer) for owner in owners if owner.waiting),
        sum(not (owner.staff or owner.withdrawn or owner.waiting) for owner in owners),
        len(bots),
        sum(bot.active_version_id is not None for bot in bots),
        counts.versions,
        dict(became),
        list_runners(context),
        list_audit_log(context, limit=MAX_RECENT_DECISIONS, without=_HIDDEN_ACTIONS).items,
        hide_fields(quotas, context.viewer),
        None if findings is None else tuple(hide_fields(finding, context.viewer) for finding in findings),
        context.revision,
    )
    return hide_fields(whole, context.viewer)
