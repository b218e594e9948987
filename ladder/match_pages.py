"""Show matches, their replays, and the queue; take matches out of the ratings.

A match shows its players, results and the reason for its end. A replay is redacted for the viewer; the whole record
is for viewers with permission. The queue lists versions that wait for their check and matches that wait to be
played.
"""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection

from arena.escaping import quote_path
from arena.referee import GameResult, RecordError, read_record
from arena.replay import make_replay_object
from ladder import store
from ladder.audit_log import DecisionSummary, summarize_decisions
from ladder.ladder import Ladder, transaction
from ladder.permissions import hide_fields
from ladder.settings import LadderError
from ladder.view_context import ViewContext


@dataclass(frozen=True, slots=True)
class MatchList:
    """Matches in the order of their list. next_cursor: the value of `after` for the next page, None at the end."""

    items: tuple[store.MatchSummary, ...]
    next_cursor: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt at a match that gave no result because of its host. reason: None if the viewer may not see it."""

    failed_at: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class MatchPage(store.MatchSummary):
    """A match without its record and its bots' logs.

    results: one per game. audit_log: decisions about the match. has_record: whether its record is still stored.
    logs: version refs of the bots whose standard error is stored and visible to the viewer. cards: version refs of the
    bots whose cards the viewer may see. can_void: whether staff can now take the match out of the ratings, or put it
    back.
    """

    results: tuple[GameResult, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    audit_log: tuple[DecisionSummary, ...] = ()
    has_record: bool = False
    logs: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    can_void: bool | None = None
    revision: int | None = None


def list_matches(
    context: ViewContext,
    bot: int | None = None,
    kind: str | None = None,
    todo: bool = False,
    after: int | None = None,
    limit: int = 20,
) -> MatchList:
    """Return up to `limit` ended matches, newest first, after match `after`; only of a bot (id) or a kind if given.

    todo: the queued and leased matches are listed instead, in order of id. Matches of finals that the viewer may not
    see yet are left out.
    """
    matches = store.list_match_summaries(
        context.connection, limit + 1, sealed=context.sealed_finals, bot=bot, kind=kind, todo=todo, after=after
    )
    rows = tuple(hide_fields(match, context.viewer) for match in matches[:limit])
    return MatchList(rows, rows[-1].id if len(matches) > limit else None, None if todo else context.revision)


def view_match(context: ViewContext, id: int) -> MatchPage | None:
    """Return a match as the viewer may see it, None if it doesn't exist or the viewer may not see its final yet."""
    connection, viewer = context.connection, context.viewer
    match = store.find_match_summary(connection, id, context.sealed_finals)
    if match is None:
        return None
    logins = _list_logins(connection, match)
    log_slots = store.list_log_slots(connection, id)
    refs_with_log = [player.version_ref for slot, player in enumerate(match.players) if slot in log_slots]
    attempts = (FailedAttempt(failed_at, reason) for failed_at, reason in store.list_failed_attempts(connection, id))
    page = MatchPage(
        **{field.name: getattr(match, field.name) for field in fields(match)},
        results=store.match_results(connection, id) if match.outcome == store.PLAYED else (),
        failed_attempts=tuple(hide_fields(attempt, viewer) for attempt in attempts),
        audit_log=summarize_decisions(context, store.list_audit_entries(connection, match=id), {}),
        has_record=store.has_record(connection, id),
        logs=tuple(version_ref for version_ref in refs_with_log if viewer.can("log:read", logins[version_ref])),
        cards=tuple(version_ref for version_ref, login in logins.items() if viewer.can("cards:view", login)),
        can_void=_find_void_problem(connection, match) is None,
        revision=context.revision if match.status == store.ENDED else None,
    )
    return hide_fields(page, viewer)


def _list_logins(connection: Connection, match: store.MatchSummary) -> dict[str, str]:
    """Return the logins of the owners of a match's bots, by version ref."""
    return {player.version_ref: store.get_version_by_id(connection, player.version).login for player in match.players}


@dataclass(frozen=True, slots=True)
class MatchReplay:
    """The replay of a match, with the standard error that the viewer may read.

    replay: as made by `arena.replay.make_replay_object`, None if it is unavailable. unavailable_reason: "unended";
    "unplayed" (abandoned or cancelled); "not kept" or "unreadable" (the record).
    """

    summary: store.MatchSummary
    unavailable_reason: str | None
    replay: dict[str, Any] | None
    revision: int | None = None


def view_match_replay(context: ViewContext, id: int) -> MatchReplay | None:
    """Return the replay of a match, None if it doesn't exist or the viewer may not see its final yet.

    The public sees only information that all players had, owners also that of their bots; staff sees all cards.
    """
    match = store.find_match_summary(context.connection, id, context.sealed_finals)
    if match is None:
        return None
    reason, replay = _find_replay(context, match)
    revision = context.revision if match.status == store.ENDED else None
    return hide_fields(MatchReplay(hide_fields(match, context.viewer), reason, replay, revision), context.viewer)


def _find_replay(context: ViewContext, match: store.MatchSummary) -> tuple[str | None, dict[str, Any] | None]:
    """Return (unavailable_reason, replay) of a match, as `MatchReplay` has them."""
    if match.status != store.ENDED:
        return "unended", None
    if match.outcome != store.PLAYED:
        return "unplayed", None
    text = store.find_record(context.connection, match.id)
    if text is None:
        return "not kept", None
    try:
        return None, _make_replay(context, match, text)
    except RecordError:
        return "unreadable", None


def find_record_text(context: ViewContext, id: int) -> str | None:
    """Return the record of a match as text, with all cards and the key; None without one that the viewer may read."""
    if (
        not context.viewer.can("record:read")
        or store.find_match_summary(context.connection, id, context.sealed_finals) is None
    ):
        return None
    return store.find_record(context.connection, id)


def _make_replay(context: ViewContext, match: store.MatchSummary, text: str) -> dict[str, Any]:
    """Return the replay of a record, redacted for the viewer. Raises RecordError if the record can't be read."""
    record, viewer = read_record(text), context.viewer
    logins = _list_logins(context.connection, match)
    logs = {
        player.version_ref: [log for _, log in store.get_log(context.connection, match.id, player.version)]
        for player in match.players
        if viewer.can("log:read", logins[player.version_ref])
    }
    if viewer.can("record:read"):
        return make_replay_object(record, logs)
    bots = enumerate(record.header.bots)
    visible_slots = [slot for slot, version_ref in bots if viewer.can("cards:view", logins.get(version_ref))]
    return make_replay_object(record, logs, visible_slots)


@dataclass(frozen=True, slots=True)
class QueuedCheck:
    """A version whose check hasn't ended. status: queued or checking.

    done_at: Unix time when the check will have ended, at the pace of the last checks; None if unknown.
    """

    version_ref: str
    pseudonym: str
    status: str
    submitted_at: float
    done_at: float | None = None


@dataclass(frozen=True, slots=True)
class RunnerSummary:
    """A runner that hasn't reported its end. capacity: how many matches and checks it runs at once.

    leases: the number of matches and checks that it holds, including waiting ones. matches: the ids of those matches.
    is_dead: whether its process has ended; None if unknown, as on another machine.
    """

    id: str
    host: str
    pid: int
    capacity: int
    leases: int
    matches: tuple[int, ...]
    is_dead: bool | None


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Unfinished checks in order of submission, and queued or leased matches in order of id.

    next_cursor: the value of `after` for the next page of matches, None at the end.
    """

    checks: tuple[QueuedCheck, ...]
    matches: tuple[store.MatchSummary, ...]
    next_cursor: int | None = None
    runners: tuple[RunnerSummary, ...] | None = None


def view_queue(context: ViewContext, after: int | None = None, limit: int = 20) -> QueuePage:
    """Return the queue, with up to `limit` matches after match `after`."""
    matches = list_matches(context, todo=True, after=after, limit=limit)
    interval_s = store.find_check_interval(context.connection)
    checks = []
    for place, version in enumerate(store.unchecked_versions(context.connection, context.now), 1):
        done_at = None if interval_s is None else context.now + interval_s * place
        check = QueuedCheck(version.version_ref, version.pseudonym, version.status, version.submitted_at, done_at)
        checks.append(check)
    page = QueuePage(tuple(checks), matches.items, matches.next_cursor, list_runners(context))
    return hide_fields(page, context.viewer)


def list_runners(context: ViewContext) -> tuple[RunnerSummary, ...]:
    """Return the runners that haven't reported their end, in order of their start."""
    summaries = []
    for load in store.list_runner_loads(context.connection):
        runner, host = load.runner, load.runner.host.split()[0]
        summary = RunnerSummary(runner.id, host, runner.pid, runner.capacity, load.leases, load.matches, load.is_dead)
        summaries.append(hide_fields(summary, context.viewer))
    return tuple(summaries)


@transaction
def set_void(connection: Connection, ladder: Ladder, match: int, void: bool, actor: str, reason: str) -> bool:
    """Take a match out of the ratings, or put it back; return False if this applies already. Its results stay.

    Raises LadderError for a match that isn't rated, or for a change in a revealed final.
    """
    summary = store.find_match_summary(connection, match)
    if summary is None:
        raise LadderError(
            f"the ladder has no match {match}.\nList its matches: arena ladder matches {quote_path(ladder.path)}"
        )
    may_be_rated = summary.outcome == store.PLAYED and summary.kind in (store.RATED, store.FINAL)
    if may_be_rated and summary.voided == void:
        return False
    problem = _find_void_problem(connection, summary)
    if problem is not None:
        raise LadderError(problem)
    action = "void" if void else "unvoid"
    store.log_action(connection, store.AuditEntry(actor, action, reason, ladder.clock(), match=match))
    store.set_match_rated(connection, match, not void)
    return True


def _find_void_problem(connection: Connection, match: store.MatchSummary) -> str | None:
    """Return why a match can't become void, or count again; None if it can."""
    if match.outcome != store.PLAYED:
        return f"match {match.id} wasn't played, so it doesn't rate."
    if match.kind not in (store.RATED, store.FINAL):
        return f"match {match.id} is a {match.kind} match: it doesn't rate."
    final = None if match.final is None else store.find_final(connection, match.final)
    if final is None or not final.revealed:
        return None
    return f"the result of the final {final.name} is public, and doesn't change.\nTo replace it, create another final."
